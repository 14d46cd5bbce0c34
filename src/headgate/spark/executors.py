"""The actuator: one absolute target, towards which every step goes a little.

``plan_step`` is pure: what is there, what is wanted, out come instructions. ``Reconciler`` carries
them out through the gateway and keeps the roster's records.

Spark is told a total in which executors on their way out count as long as they live, because every
cluster manager counts them. So while something is missing the total is the target plus those that
are leaving, and otherwise just the target: then an executor that is ended, or dies while leaving, is
not replaced, and one that dies in service is.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace

from headgate.errors import Temporary
from headgate.spark.facts import ExecutorFact, Gateway
from headgate.spark.roster import Roster

_CACHE_STEP_BYTES = 1 << 20
"""Differences below this are broadcasts and noise, not cached data."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Member:
    """One registered executor, as the actuator sees it."""

    id: str
    since_s: float
    tasks_running: int = 0
    stored_bytes: int = 0
    leaving_since_s: float | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class ReconcileState:
    now_s: float
    target: int
    members: tuple[Member, ...]
    requested_total: int | None = None
    """What Spark was last told; ``None`` before the first time."""
    requested_s: float = 0.0
    drain_limit_s: float = 60.0
    """How long an executor on its way out may go on with its tasks."""
    repeat_after_s: float = 30.0
    """When to say a total again that has not been reached."""


@dataclass(frozen=True, slots=True)
class RequestTotal:
    total: int


@dataclass(frozen=True, slots=True)
class Decommission:
    executor: str


@dataclass(frozen=True, slots=True)
class Remove:
    executor: str
    force: bool = False


Instruction = RequestTotal | Decommission | Remove


def plan_step(state: ReconcileState) -> list[Instruction]:
    """What to do now to come nearer to the target.

    >>> plan_step(ReconcileState(now_s=0, target=2, members=(Member(id="0", since_s=0),)))
    [RequestTotal(total=2)]
    """
    staying = [member for member in state.members if member.leaving_since_s is None]
    leaving = [member for member in state.members if member.leaving_since_s is not None]
    sent_off = sorted(staying, key=cost_of_losing)[: max(0, len(staying) - state.target)]
    removals = [_removal(member, state) for member in leaving]
    ended = sum(removal is not None for removal in removals)

    missing = len(staying) < state.target
    total = state.target + (len(leaving) - ended if missing else 0)
    steps: list[Instruction] = []
    if total != state.requested_total or (missing and state.now_s - state.requested_s >= state.repeat_after_s):
        steps.append(RequestTotal(total))
    steps.extend(Decommission(member.id) for member in sent_off)
    steps.extend(removal for removal in removals if removal is not None)
    return steps


def cost_of_losing(member: Member) -> tuple[int, int, float]:
    """Order in which executors are let go: running least, then holding least cached data, then youngest.

    Running tasks delay the end; cached data has to be made again; an old executor has compiled its
    code, started its Python processes and loaded its state.
    """
    return (member.tasks_running, member.stored_bytes // _CACHE_STEP_BYTES, -member.since_s)


def _removal(member: Member, state: ReconcileState) -> Remove | None:
    waited_s = state.now_s - (member.leaving_since_s or 0.0)
    if waited_s >= state.drain_limit_s:
        return Remove(member.id, force=True)
    return Remove(member.id) if member.tasks_running == 0 and waited_s > 0 else None


class Reconciler:
    """Keeps the app at a target size; does nothing but watch until it is given one."""

    def __init__(
        self,
        gateway: Gateway,
        *,
        now_s: Callable[[], float],
        roster: Roster,
        drain_limit_s: float = 60.0,
    ) -> None:
        self._gateway = gateway
        self._now_s = now_s
        self._roster = roster
        self._looking = threading.Lock()
        self._leaving: dict[str, float] = {}
        self._state = ReconcileState(now_s=now_s(), target=0, members=(), drain_limit_s=drain_limit_s)
        self.target: int | None = None
        self.present = 0
        """Executors that were in service at the last look."""

    @property
    def leaving(self) -> frozenset[str]:
        return frozenset(self._leaving)

    def reconcile(self) -> None:
        """Look, record, and take one step; raises what the gateway raises. For one thread only."""
        target = self.target
        registered = self.look()
        facts = {fact.id: fact for fact in self._gateway.executors()}
        now_s = self._now_s()
        self._roster.worked(now_s, facts.values())
        if target is None:
            return
        self._state = replace(
            self._state,
            now_s=now_s,
            target=target,
            members=tuple(
                _member(executor, since_s, facts.get(executor), self._leaving.get(executor))
                for executor, since_s in registered.items()
            ),
        )
        for step in plan_step(self._state):
            self._carry_out(step, now_s)

    def look(self) -> Mapping[str, float]:
        """See who is there and record who came and went; one look at a time, so that none is out of date."""
        with self._looking:
            registered = dict(self._gateway.registered())
            decommissioning = self._gateway.decommissioning()
            now_s = self._now_s()
            for executor in decommissioning & registered.keys():
                # Sent off by the cluster itself, or by an agent before this one.
                self._leaving.setdefault(executor, now_s)
            for executor in self._leaving.keys() - registered.keys():
                del self._leaving[executor]
            self.present = len(registered.keys() - self._leaving.keys())
            self._roster.observe(now_s, registered, leaving=self.leaving, target=self.target)
            return registered

    def _carry_out(self, step: Instruction, now_s: float) -> None:
        match step:
            case RequestTotal(total):
                if not self._gateway.request_total(total):
                    raise Temporary(f"the cluster manager did not accept a total of {total} executors; trying again")
                self._state = replace(self._state, requested_total=total, requested_s=now_s)
                self._roster.requested(now_s, target=self._state.target, present=self.present)
            case Decommission(executor):
                # Not held while the cluster manager is asked, which may take long: measuring must go on.
                if self._gateway.decommission(executor):
                    with self._looking:
                        if executor not in self._leaving:
                            self._leaving[executor] = now_s
                            self.present -= 1
                            self._roster.sent_off(now_s, executor)
            case Remove(executor, force):
                self._gateway.remove(executor, force=force)


def _member(executor: str, since_s: float, fact: ExecutorFact | None, leaving_since_s: float | None) -> Member:
    return Member(
        id=executor,
        since_s=since_s,
        tasks_running=fact.tasks_running if fact is not None else 0,
        stored_bytes=fact.stored_bytes if fact is not None else 0,
        leaving_since_s=leaving_since_s,
    )
