"""Every guard by name, and the order in which they review a decision.

The order is not the user's, because most orders are wrong. First those that judge the wish itself
(is it worth a change, was it wanted for long, did the last one help), then those that pace it (step,
cooldown), then safety, which may not be paced (undo harm, old figures), then what people have said
(schedule, levers), then the bounds, which nothing may leave, and at the very end the slots that are left for operators.
"""

from __future__ import annotations

from collections.abc import Iterable

from headgate.core.ports import Guard
from headgate.guards.bounds import Bounds
from headgate.guards.cooldown import Cooldown
from headgate.guards.delayed_scale_down import DelayedScaleDown
from headgate.guards.ineffective_scaling import IneffectiveScaling
from headgate.guards.levers import Levers
from headgate.guards.revert import Revert
from headgate.guards.schedule import Schedule
from headgate.guards.slots import Slots
from headgate.guards.stale_metrics import StaleMetrics
from headgate.guards.step_limit import StepLimit
from headgate.guards.tolerance import Tolerance

__all__ = [
    "GUARDS",
    "ORDER",
    "Bounds",
    "Cooldown",
    "DelayedScaleDown",
    "IneffectiveScaling",
    "Levers",
    "Revert",
    "Schedule",
    "Slots",
    "StaleMetrics",
    "StepLimit",
    "Tolerance",
    "in_order",
]

GUARDS: dict[str, type[Guard]] = {
    "bounds": Bounds,
    "cooldown": Cooldown,
    "delayed-scale-down": DelayedScaleDown,
    "ineffective-scaling": IneffectiveScaling,
    "levers": Levers,
    "revert": Revert,
    "schedule": Schedule,
    "slots": Slots,
    "stale-metrics": StaleMetrics,
    "step-limit": StepLimit,
    "tolerance": Tolerance,
}

ORDER: tuple[str, ...] = (
    "tolerance",
    "delayed-scale-down",
    "ineffective-scaling",
    "step-limit",
    "cooldown",
    "revert",
    "stale-metrics",
    "schedule",
    "levers",
    "bounds",
    "slots",
)


def in_order(guards: Iterable[Guard]) -> tuple[Guard, ...]:
    """The guards as they review; one that is not in ``ORDER`` comes before what people have said.

    >>> [guard.name for guard in in_order([Bounds(), Cooldown(), Tolerance()])]
    ['tolerance', 'cooldown', 'bounds']
    """
    unlisted = ORDER.index("schedule") - 0.5
    return tuple(sorted(guards, key=lambda guard: ORDER.index(guard.name) if guard.name in ORDER else unlisted))
