"""Journals in memory, written by hand, for the tests of scoring."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

from headgate.core.allocation import Allocation, Bounds
from headgate.core.decision import Decision, Outcome, Tick
from headgate.core.evaluation import Evaluation
from headgate.core.knowledge import AppDescription, Engine
from headgate.core.ports import JournalHeader
from headgate.core.sample import ArrivalPoint, Batch, ExecutorSample, ExecutorState, OperatorSample, Sample


@dataclass
class RecordedRun:
    """The least that can be read as a journal."""

    run_samples: Sequence[Sample] = ()
    run_ticks: Sequence[Tick] = ()
    engine: Engine = Engine.MICRO_BATCH
    bounds: Bounds = field(default_factory=lambda: Bounds(1, 4))
    started_s: float = 0.0
    sampling_interval_s: float = 5.0
    extra: dict[str, Any] = field(default_factory=dict)
    cores: int = 1

    def header(self) -> JournalHeader:
        description = AppDescription(
            app="orders", engine=self.engine, bounds=self.bounds, cores_per_executor=self.cores
        )
        return JournalHeader(
            app="orders",
            policy="hpa:target=0.7",
            description=description,
            started_s=self.started_s,
            sampling_interval_s=self.sampling_interval_s,
            extra=self.extra,
        )

    def samples(self, *, since_s: float | None = None) -> Iterator[Sample]:
        return (sample for sample in self.run_samples if since_s is None or sample.time_s >= since_s)

    def ticks(self, *, since_s: float | None = None) -> Iterator[Tick]:
        return (tick for tick in self.run_ticks if since_s is None or tick.time_s >= since_s)

    def last_tick(self) -> Tick | None:
        return self.run_ticks[-1] if self.run_ticks else None


def batch(first: float, end: float, started_s: float, finished_s: float) -> Batch:
    return Batch(id=0, started_s=started_s, finished_s=finished_s, first_record=first, end_record=end)


def operator(
    points: Sequence[tuple[float, float]],
    batches: Sequence[Batch] = (),
    *,
    done: float | None = None,
    name: str = "count",
    upstream: tuple[str, ...] = (),
) -> OperatorSample:
    return OperatorSample(
        name=name,
        upstream=upstream,
        arrivals=tuple(ArrivalPoint(time_s, records) for time_s, records in points),
        batches=tuple(batches),
        done_records=(batches[-1].end_record if batches else 0.0) if done is None else done,
    )


def executors(*, active: int, starting: int = 0, leaving: int = 0) -> tuple[ExecutorSample, ...]:
    states = [ExecutorState.ACTIVE] * active + [ExecutorState.STARTING] * starting + [ExecutorState.LEAVING] * leaving
    return tuple(
        ExecutorSample(id=str(number), node="n", cores=1, age_s=1, busy_s=None, records=None, state=state)
        for number, state in enumerate(states)
    )


def tick(
    time_s: float,
    *,
    before: int = 2,
    wanted: int = 2,
    outcome: Outcome = Outcome.UNCHANGED,
    evaluation: Evaluation | None = None,
) -> Tick:
    decision = Decision(
        time_s=time_s,
        current=Allocation(executors=before),
        wanted=Allocation(executors=wanted),
        granted=Allocation(executors=wanted),
    )
    return Tick(index=0, time_s=time_s, epoch=1, outcome=outcome, evaluation=evaluation, decision=decision)


def steady_run(**changes: Any) -> RecordedRun:
    """Ten records a second for 20 s; every 5 s a batch takes what has come and needs 2 s.

    So a record waits up to 5 s for its batch and 2 s in it: 2 to 7 s, evenly. The last 50 of 200
    records are not finished. Executors there: 2, 2, 3, 3 in the four quarters, the third of them starting
    first and leaving at the end.
    """
    shift_s = changes.get("started_s", 0.0)
    cast = [
        (5, None, executors(active=2), 2),
        (10, batch(0, 50, 5 + shift_s, 7 + shift_s), executors(active=2, starting=1), 3),
        (15, batch(50, 100, 10 + shift_s, 12 + shift_s), executors(active=3), 3),
        (20, batch(100, 150, 15 + shift_s, 17 + shift_s), executors(active=2, leaving=1), None),
    ]
    samples = tuple(
        Sample(
            time_s=time_s + shift_s,
            operators=(operator([(time_s + shift_s, 10 * time_s)], [finished] if finished else []),),
            executors=there,
            target_executors=target,
        )
        for time_s, finished, there, target in cast
    )
    return RecordedRun(run_samples=samples, **changes)
