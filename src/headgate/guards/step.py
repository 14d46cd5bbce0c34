"""What every guard has to know of the step it reviews: from which size, to which, and when.

A guard may be asked without an evaluation; the time is known all the same.
"""

from __future__ import annotations

from dataclasses import replace

from headgate.core.allocation import Allocation
from headgate.core.decision import Outcome, Ruling, Tick
from headgate.core.evaluation import Evaluation
from headgate.core.knowledge import Knowledge


def present_s(evaluation: Evaluation | None, knowledge: Knowledge) -> float:
    """Now, as well as it can be known.

    Without an evaluation and without being told it is one tick after the last one, at the pace of
    the last two.
    """
    if evaluation is not None:
        return evaluation.time_s
    if knowledge.now_s is not None:
        return knowledge.now_s
    history = knowledge.history
    if not history:
        return knowledge.started_s
    pace_s = max(0.0, history[-1].time_s - history[-2].time_s) if len(history) > 1 else 0.0
    return history[-1].time_s + pace_s


def resized(ruling: Ruling, executors: int, knowledge: Knowledge) -> Allocation:
    """What is on its way through the guards, with another number of executors and all else kept."""
    allocation, size = ruling.allocation, max(0, executors)
    if size == allocation.executors:
        return allocation
    current = knowledge.current
    if allocation.nodes and size == current.executors and current.nodes:
        # Back to the present size means the present nodes, not the first few of the wanted ones.
        return replace(allocation, executors=size, nodes=current.nodes)
    return allocation.with_executors(size)


def last_applied(knowledge: Knowledge) -> Tick | None:
    """The newest tick that was carried out and changed the number of executors."""
    for tick in reversed(knowledge.history):
        decision = tick.decision
        if tick.outcome is Outcome.APPLIED and decision.granted.executors != decision.current.executors:
            return tick
    return None
