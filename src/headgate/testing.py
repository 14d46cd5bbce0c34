"""Builders of evaluations, knowledge and ticks for tests of policies and guards.

Public, so that a policy of another package is tested with the same few words. What is not given is
either healthy and plain or, where a test should not depend on it, unknown.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from headgate.core.allocation import Allocation, Bounds
from headgate.core.decision import Decision, Levers, Outcome, Reason, Tick
from headgate.core.evaluation import Evaluation, ExecutorEvaluation, OperatorEvaluation, Spread
from headgate.core.graph import Graph
from headgate.core.knowledge import AppDescription, Engine, Knowledge

__all__ = ["evaluation", "executors", "knowledge", "operator", "spread", "tick"]


def executors(
    busy: float | Sequence[float | None] | None = 0.5,
    *,
    count: int | None = None,
    cores: int = 1,
    age_s: float | Sequence[float | None] | None = 3600.0,
    leaving: int = 0,
) -> tuple[ExecutorEvaluation, ...]:
    """Executors with these busy shares and ages; the last ``leaving`` of them are on their way out.

    >>> [executor.busy for executor in executors([0.2, None])]
    [0.2, None]
    """
    shares = list(busy) if isinstance(busy, Sequence) else [busy] * (1 if count is None else count)
    ages = list(age_s) if isinstance(age_s, Sequence) else [age_s] * len(shares)
    stay = len(shares) - leaving
    return tuple(
        ExecutorEvaluation(id=str(number), cores=cores, busy=share, age_s=age, leaving=number >= stay)
        for number, (share, age) in enumerate(zip(shares, ages, strict=True))
    )


def spread(value: float) -> Spread:
    """A latency distribution around one value."""
    return Spread(mean=value, p50=value, p95=value, p99=value, max=value)


def operator(name: str = "app", *, latency_s: float | Spread | None = None, **fields: Any) -> OperatorEvaluation:
    """An operator; a single latency stands for the whole distribution."""
    latency = spread(latency_s) if isinstance(latency_s, int | float) else latency_s
    return OperatorEvaluation(name=name, latency_s=latency, **fields)


def evaluation(
    *,
    time_s: float = 1000.0,
    busy: float | Sequence[float | None] | None = 0.5,
    count: int | None = None,
    pending_executors: int = 0,
    age_s: float | None = None,
    executors: Iterable[ExecutorEvaluation] | None = None,
    operators: Iterable[OperatorEvaluation] | None = None,
    **operator_fields: Any,
) -> Evaluation:
    """What a policy sees: executors with these busy shares and one operator with the other fields.

    >>> evaluation(busy=0.9, count=3, lag_records=50).operators[0].lag_records
    50
    """
    seen = _executors(busy, count=3 if count is None else count) if executors is None else tuple(executors)
    return Evaluation(
        time_s=time_s,
        executors=seen,
        operators=(operator(**operator_fields),) if operators is None else tuple(operators),
        pending_executors=pending_executors,
        age_s=age_s,
    )


_executors = executors


def knowledge(
    *,
    executors: int = 3,
    bounds: tuple[int, int] = (1, 12),
    current: Allocation | None = None,
    memory: Mapping[str, Any] | None = None,
    history: Iterable[Tick] = (),
    levers: Levers | None = None,
    started_s: float = 0.0,
    graph: Graph | None = None,
    **description: Any,
) -> Knowledge:
    """What the loop knows of an app with this many executors."""
    return Knowledge(
        description=AppDescription(
            app="test",
            engine=Engine.MICRO_BATCH,
            bounds=Bounds(*bounds),
            graph=Graph(()) if graph is None else graph,
            **description,
        ),
        current=Allocation(executors=executors) if current is None else current,
        memory={} if memory is None else memory,
        history=tuple(history),
        levers=Levers() if levers is None else levers,
        started_s=started_s,
    )


def tick(
    *,
    time_s: float,
    current: int,
    wanted: int | None = None,
    granted: int | None = None,
    evaluation: Evaluation | None = None,
    outcome: Outcome | None = None,
    reasons: Iterable[Reason] = (),
    index: int = 0,
) -> Tick:
    """A tick of the past; without a size wanted or granted nothing changed.

    >>> tick(time_s=60, current=2, wanted=5).outcome
    <Outcome.APPLIED: 'applied'>
    """
    wanted_size = current if wanted is None else wanted
    granted_size = wanted_size if granted is None else granted
    plain = Outcome.UNCHANGED if granted_size == current else Outcome.APPLIED
    return Tick(
        index=index,
        time_s=time_s,
        epoch=1,
        outcome=plain if outcome is None else outcome,
        evaluation=evaluation,
        decision=Decision(
            time_s=time_s,
            current=Allocation(executors=current),
            wanted=Allocation(executors=wanted_size),
            granted=Allocation(executors=granted_size),
            reasons=tuple(reasons),
        ),
    )
