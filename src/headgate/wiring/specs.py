"""Texts to policies, guards and bounds, and those to a loop."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

from headgate.control.loop import Loop
from headgate.core.allocation import Bounds
from headgate.core.decision import Tick
from headgate.core.options import check_files
from headgate.core.ports import Agent, Clock, Guard, Journal, Policy, Training
from headgate.errors import UserMistake
from headgate.grammar import parse_spec, spell
from headgate.guards import GUARDS, in_order
from headgate.guards import Bounds as BoundsGuard
from headgate.guards import Levers as LeversGuard
from headgate.guards import Slots as SlotsGuard
from headgate.policies import known_policies


def make_policy(policy: str | Policy) -> Policy:
    """A policy from its spec; a policy object as it is."""
    if isinstance(policy, str):
        policy = parse_spec(policy, known_policies(), kind="policy")
    if isinstance(policy, type) or not isinstance(policy, Policy):
        raise UserMistake(f"policy={policy!r} is neither a name nor a policy; give one as 'hpa:target=0.8'")
    if dataclasses.is_dataclass(policy):
        check_files(f"policy '{policy.name}'", policy)
    return policy


def make_guards(guards: Sequence[str | Guard]) -> tuple[Guard, ...]:
    """The guards asked for, with those that are always on, in the order that makes sense."""
    made: list[Guard] = [
        parse_spec(guard, GUARDS, kind="guard") if isinstance(guard, str) else guard for guard in guards
    ]
    for guard in made:
        if isinstance(guard, type) or not isinstance(guard, Guard):
            raise UserMistake(f"guards has {guard!r}, which is neither a name nor a guard; give one as 'cooldown'")
    for always in (BoundsGuard(), LeversGuard(), SlotsGuard()):
        if all(guard.name != always.name for guard in made):
            made.append(always)
    return in_order(made)


def make_bounds(executors: Sequence[int]) -> Bounds:
    if (
        not isinstance(executors, Sequence)
        or len(executors) != 2
        or not all(isinstance(count, int) for count in executors)
    ):
        raise UserMistake(f"executors={executors!r} is not a pair of whole numbers; give (least, most) as in (1, 12)")
    return Bounds(*executors)


def make_loop(
    agent: Agent,
    *,
    policy: Policy,
    guards: Sequence[Guard],
    journal: Journal,
    clock: Clock,
    training: Training,
    sampling_interval_s: float = 1.0,
    dry_run: bool = False,
    extra: Mapping[str, Any] | None = None,
    on_tick: Callable[[Tick], None] | None = None,
    epoch: int | None = None,
) -> Loop:
    return Loop(
        agent=agent,
        policy=policy,
        policy_spec=spell(policy),
        guards=guards,
        guard_specs=tuple(spell(guard) for guard in guards),
        journal=journal,
        clock=clock,
        training=training,
        sampling_interval_s=sampling_interval_s,
        dry_run=dry_run,
        extra=extra,
        on_tick=on_tick,
        epoch=epoch,
    )


def check_writable(path: Path, *, what: str) -> Path:
    """Refuse an output path before the work for it is done."""
    if path.is_dir():
        raise UserMistake(f"{what} {path} is a folder; give the name of a file")
    if not path.resolve().parent.is_dir():
        raise UserMistake(f"{what} {path}: its folder does not exist; make it first")
    return path
