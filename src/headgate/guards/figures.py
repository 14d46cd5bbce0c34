"""The few figures of an evaluation by which a step is judged afterwards.

Sums over the operators that read from outside; unknown as soon as one of them is unknown, because a
part of a sum would look like a loss.
"""

from __future__ import annotations

from collections.abc import Iterable

from headgate.core.evaluation import Evaluation


def arrival_rate(evaluation: Evaluation) -> float | None:
    return _sum(operator.arrival_rate for operator in evaluation.sources)


def processed_rate(evaluation: Evaluation) -> float | None:
    return _sum(operator.input_rate for operator in evaluation.sources)


def true_rate(evaluation: Evaluation) -> float | None:
    return _sum(operator.true_processing_rate for operator in evaluation.sources)


def lag_records(evaluation: Evaluation) -> float | None:
    return _sum(operator.lag_records for operator in evaluation.operators)


def latency_p95_s(evaluation: Evaluation) -> float | None:
    """That of the slowest operator."""
    return max((operator.latency_s.p95 for operator in evaluation.operators if operator.latency_s), default=None)


def lag_s(evaluation: Evaluation) -> float | None:
    """How long the backlog takes at the present pace; unknown while nothing is processed."""
    lag, rate = lag_records(evaluation), processed_rate(evaluation)
    return None if lag is None or not rate or rate < 0 else lag / rate


def _sum(values: Iterable[float | None]) -> float | None:
    total, some = 0.0, False
    for value in values:
        if value is None:
            return None
        total, some = total + value, True
    return total if some else None
