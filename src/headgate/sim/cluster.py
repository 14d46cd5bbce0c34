"""The life of simulated executors: requested, starting, active, leaving, gone.

The cluster holds one absolute target and reconciles towards it, as a real agent does: whatever
fails is replaced. It knows moments, not batches: the engine tells it when an executor's work ends.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from headgate.core.allocation import Allocation
from headgate.core.sample import AgentEvent, EventKind, ExecutorSample, ExecutorState, NodeSample
from headgate.errors import UserMistake, nearest
from headgate.sim.randomness import Chance, generator
from headgate.sim.scenario import Scenario

_NEVER = math.inf
_NO_WORK = (0.0, 0.0)


@dataclass(slots=True, eq=False)
class Executor:
    """One executor with its counters and the moments that await it."""

    id: str
    node: str
    cores: int
    requested_s: float
    joins_s: float
    state: ExecutorState = ExecutorState.STARTING
    warm_s: float = _NEVER
    fails_s: float = _NEVER
    gone_s: float = _NEVER
    busy_s: float = 0.0
    records: float = 0.0
    tasks_done: int = 0
    tasks_failed: int = 0

    @property
    def next_s(self) -> float:
        joins_s = self.joins_s if self.state is ExecutorState.STARTING else _NEVER
        return min(joins_s, self.warm_s, self.fails_s, self.gone_s)


class Cluster:
    """All executors of one app, on their nodes."""

    def __init__(self, scenario: Scenario, *, executors: int, seed: int, events: list[AgentEvent]) -> None:
        self._scenario = scenario
        self.seed = seed
        self._events = events
        self._made = 0
        self._latency_s = _latencies(scenario)
        self._node_names = tuple(node.name for node in scenario.nodes)
        self.executors: list[Executor] = []
        self.target = executors
        self.target_nodes: tuple[str, ...] = ()
        self.next_event_s = _NEVER
        for _ in range(self.room_for(executors)):
            executor = self._make(self._emptiest_node(), 0.0, joins_s=0.0)
            self._activate(executor)
            if not scenario.starts_cold:
                executor.warm_s = _NEVER
        self._plan_next()

    @property
    def active(self) -> list[Executor]:
        """Those that get new tasks."""
        return [executor for executor in self.executors if executor.state is ExecutorState.ACTIVE]

    @property
    def pending(self) -> int:
        """Asked for and not there yet."""
        return max(0, self.target - len(self.active))

    def speed(self, executor: Executor, now_s: float) -> float:
        return self._scenario.warm_up_speed if now_s < executor.warm_s < _NEVER else 1.0

    def longest_round_trip_s(self, executors: Iterable[Executor]) -> float:
        """The largest latency between any two nodes in use."""
        if not self._latency_s:
            return 0.0
        nodes = sorted({executor.node for executor in executors})
        return max((self._latency_s.get((a, b), 0.0) for a in nodes for b in nodes), default=0.0)

    def check(self, allocation: Allocation) -> None:
        """Refuse what names a node that there is not."""
        for name in allocation.nodes:
            if name not in self._node_names:
                known = nearest(name, self._node_names)
                raise UserMistake(f"the allocation names node '{name}', which there is not{known}")

    def room_for(self, executors: int) -> int:
        """How many of them the cluster can give."""
        limit = self._scenario.limit
        return executors if limit is None else min(limit, executors)

    def aim(
        self, allocation: Allocation, now_s: float, *, idle_at_s: float, joins_s: float | None = None, stop_s: float
    ) -> None:
        """Take a new target.

        Executors that must go end ``stop_s`` after ``idle_at_s``; new ones join at ``joins_s``, or
        after a start-up time of their own.
        """
        self.target = allocation.executors
        self.target_nodes = allocation.nodes
        room = self.room_for(self.target)
        if room < self.target:
            self._say(
                now_s,
                EventKind.SHORT,
                f"{self.target} executors were asked for, but the cluster has room for {room}",
                figures={"asked": float(self.target), "available": float(room)},
            )
        self._dismiss(now_s, gone_s=idle_at_s + stop_s)
        self._request(now_s, joins_s)
        self._plan_next()

    def lose(self, executor_id: str, now_s: float, *, joins_s: float | None = None) -> Executor:
        """An executor dies; its replacement is asked for at once."""
        for executor in self.executors:
            if executor.id == executor_id:
                break
        else:
            known = nearest(executor_id, [executor.id for executor in self.executors])
            raise UserMistake(f"executor '{executor_id}' does not exist{known}")
        self.executors.remove(executor)
        self._say(now_s, EventKind.LOST, f"executor {executor.id} was lost", executor=executor)
        self._request(now_s, joins_s)
        self._plan_next()
        return executor

    def settle(
        self, now_s: float, *, replacement_joins_s: float | None = None
    ) -> tuple[list[Executor], list[Executor]]:
        """Let everything happen that is due; the executors that joined and those that were lost."""
        joined: list[Executor] = []
        failed: list[Executor] = []
        for executor in list(self.executors):
            if executor.gone_s <= now_s:
                self.executors.remove(executor)
                self._say(now_s, EventKind.REMOVED, f"executor {executor.id} has ended", executor=executor)
            elif executor.state is ExecutorState.STARTING and executor.joins_s <= now_s:
                self._activate(executor)
                joined.append(executor)
                waited_s = now_s - executor.requested_s
                self._say(
                    now_s,
                    EventKind.JOINED,
                    f"executor {executor.id} joined after {waited_s:.1f} s",
                    executor=executor,
                    figures={"join_s": waited_s},
                )
            elif executor.fails_s <= now_s:
                failed.append(executor)
            if executor.warm_s <= now_s:
                warm_s = now_s - executor.joins_s
                executor.warm_s = _NEVER
                self._say(
                    now_s,
                    EventKind.WARM,
                    f"executor {executor.id} is warm",
                    executor=executor,
                    figures={"warm_s": warm_s},
                )
        for executor in failed:
            self.lose(executor.id, now_s, joins_s=replacement_joins_s)
        self._plan_next()
        return joined, failed

    def samples(
        self, now_s: float, *, running: Mapping[str, tuple[float, float]] | None = None
    ) -> tuple[ExecutorSample, ...]:
        """Those that are there, as a driver sees them; what is still starting is pending, and nothing else.

        ``running`` adds, by executor, task time and records of what has not ended yet.
        """
        new, starting, samples = tuple.__new__, ExecutorState.STARTING, []
        for executor in self.executors:
            if executor.state is starting:
                continue
            busy_s, records = running.get(executor.id, _NO_WORK) if running else _NO_WORK
            samples.append(
                new(
                    ExecutorSample,
                    (
                        executor.id,
                        executor.node,
                        executor.cores,
                        now_s - executor.joins_s,
                        executor.busy_s + busy_s,
                        executor.records + records,
                        executor.state,
                        executor.tasks_done,
                        executor.tasks_failed,
                    ),
                )
            )
        return tuple(samples)

    def node_samples(self) -> tuple[NodeSample, ...]:
        used = {executor.node for executor in self.executors}
        return tuple(
            NodeSample(
                name,
                name not in used,
                {other: self._latency_s[name, other] for other in self._node_names if (name, other) in self._latency_s},
            )
            for name in self._node_names
        )

    def _dismiss(self, now_s: float, *, gone_s: float) -> None:
        wanted = [executor for executor in self.executors if executor.state is not ExecutorState.LEAVING]
        if self.target_nodes:
            surplus = [executor for executor in wanted if executor.node not in self.target_nodes]
        else:
            # Those that have not started cost nothing to lose, and of the others the newest cost least.
            by_cost = sorted(wanted, key=lambda executor: executor.state is ExecutorState.STARTING)
            surplus = by_cost[self.room_for(self.target) :]
        for executor in surplus:
            if executor.state is ExecutorState.STARTING:
                self.executors.remove(executor)
                message = f"executor {executor.id} was called off before it had started"
                self._say(now_s, EventKind.REMOVED, message, executor=executor)
                continue
            executor.state = ExecutorState.LEAVING
            executor.gone_s = max(now_s, gone_s)
            executor.warm_s = _NEVER
            executor.fails_s = _NEVER
            self._say(now_s, EventKind.LEAVING, f"executor {executor.id} gets no new tasks", executor=executor)

    def _request(self, now_s: float, joins_s: float | None) -> None:
        staying = [executor for executor in self.executors if executor.state is not ExecutorState.LEAVING]
        room = self.room_for(self.target)
        if self.target_nodes:
            taken = {executor.node for executor in staying}
            places = [name for name in self.target_nodes if name not in taken][: max(0, room - len(staying))]
            for place in places:
                self._make(place, now_s, joins_s=joins_s)
            count = len(places)
        else:
            count = max(0, room - len(staying))
            for _ in range(count):
                self._make(self._emptiest_node(), now_s, joins_s=joins_s)
        if count:
            self._say(
                now_s,
                EventKind.REQUESTED,
                f"asked for {count} more, for {self.target} executors in all",
                figures={"requested": float(count), "target": float(self.target)},
            )

    def _make(self, node: str, now_s: float, *, joins_s: float | None) -> Executor:
        number = self._made
        self._made += 1
        if joins_s is None:
            drawn = generator(self.seed, Chance.STARTUP, number).normal(
                self._scenario.startup_s, self._scenario.startup_sd_s
            )
            # A start-up cannot take less than a good part of what it usually takes.
            joins_s = now_s + max(float(drawn), 0.3 * self._scenario.startup_s)
        executor = Executor(str(number), node, self._scenario.cores, now_s, joins_s)
        self.executors.append(executor)
        return executor

    def _activate(self, executor: Executor) -> None:
        executor.state = ExecutorState.ACTIVE
        executor.warm_s = executor.joins_s + self._scenario.warm_up_s
        mean_life_s = self._scenario.failure_interval_s
        if mean_life_s is not None:
            life_s = generator(self.seed, Chance.FAILURE, int(executor.id)).exponential(mean_life_s)
            executor.fails_s = executor.joins_s + max(float(life_s), 0.001)

    def _emptiest_node(self) -> str:
        if not self._node_names:
            return f"node-{self._made}"
        used = [executor.node for executor in self.executors]
        return min(self._node_names, key=used.count)

    def _plan_next(self) -> None:
        self.next_event_s = min((executor.next_s for executor in self.executors), default=_NEVER)

    def _say(
        self,
        now_s: float,
        kind: EventKind,
        message: str,
        *,
        executor: Executor | None = None,
        figures: dict[str, float] | None = None,
    ) -> None:
        self._events.append(
            AgentEvent(
                time_s=now_s,
                kind=kind,
                message=message,
                executor=executor.id if executor else None,
                figures=figures or {},
            )
        )


def _latencies(scenario: Scenario) -> dict[tuple[str, str], float]:
    latencies: dict[tuple[str, str], float] = {}
    for node in scenario.nodes:
        for other, latency_s in node.latency_s.items():
            latencies[node.name, other] = latency_s
            latencies.setdefault((other, node.name), latency_s)
    # What a node says itself goes before what is mirrored from its peer.
    latencies.update({(node.name, other): value for node in scenario.nodes for other, value in node.latency_s.items()})
    return latencies
