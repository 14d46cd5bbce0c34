"""What one executor can carry, as the evaluations of a run show it."""

from __future__ import annotations

from headgate.core.decision import Tick
from headgate.core.evaluation import OperatorEvaluation


def executor_capacity(tick: Tick, *, cores: int) -> float | None:
    """Source records per second that one executor can carry through all operators.

    A record costs an operator its service time in core-seconds, which is also its instances ÷ its true
    processing rate. Weighted by how many records each operator takes in, that adds up to the cost of
    a source record. With one operator this is its true processing rate ÷ the executors that its
    instances fill.
    """
    evaluation = tick.evaluation
    if evaluation is None or not evaluation.operators:
        return None
    slots = sum(executor.cores for executor in evaluation.working_executors)
    source_rate = work = 0.0
    for operator in evaluation.operators:
        rate = 1.0 if len(evaluation.operators) == 1 else operator.input_rate
        cost_s = _cost_s(operator, slots=slots)
        if rate is None or cost_s is None:
            return None
        work += rate * cost_s
        source_rate += 0.0 if operator.upstream else rate
    return cores * source_rate / work if work > 0 and source_rate > 0 else None


def _cost_s(operator: OperatorEvaluation, *, slots: int) -> float | None:
    if operator.service_time_s:
        return operator.service_time_s
    instances = operator.parallelism or slots
    if not operator.true_processing_rate or not instances:
        return None
    # More instances than slots cannot be at work at once.
    return (min(instances, slots) if slots else instances) / operator.true_processing_rate
