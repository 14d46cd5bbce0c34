"""Samples to evaluations: the A of MAPE-K, the same for every engine.

Rates are differences of cumulative counters between the newest sample and the one at the start of
the window, so that a missed sample costs resolution and no volume. Useful time is task time: the
true processing rate of an operator is what its instances finish per second of it, times the number
of instances that can work at once (slots, but no more than there are tasks).
"""

from __future__ import annotations

from collections import deque
from collections.abc import Sequence
from itertools import pairwise

from headgate.control.latency import LatencyTrack
from headgate.core.evaluation import (
    BatchEvaluation,
    Evaluation,
    ExecutorEvaluation,
    NodeEvaluation,
    OperatorEvaluation,
)
from headgate.core.knowledge import Engine
from headgate.core.sample import AgentEvent, Batch, ExecutorSample, ExecutorState, OperatorSample, Sample
from headgate.errors import NotReady

_LATENCY_MEMORY_S = 900.0


class Evaluator:
    """Keeps the samples of a window and says what follows from them."""

    def __init__(self, *, keep_s: float, engine: Engine) -> None:
        self._keep_s = keep_s
        self._at_batch_end = engine is Engine.MICRO_BATCH
        self._samples: deque[Sample] = deque()
        self._latency: dict[str, LatencyTrack] = {}
        self._progress_s: float | None = None

    def learn(self, sample: Sample) -> None:
        samples = self._samples
        if samples and sample.time_s <= samples[-1].time_s:
            return
        samples.append(sample)
        oldest_s = sample.time_s - self._keep_s
        while len(samples) > 2 and samples[1].time_s <= oldest_s:
            samples.popleft()
        for operator in sample.operators:
            track = self._latency.get(operator.name)
            if track is None:
                track = LatencyTrack(keep_s=min(self._keep_s, _LATENCY_MEMORY_S), at_batch_end=self._at_batch_end)
                self._latency[operator.name] = track
            track.learn(operator.arrivals, operator.batches)
            if operator.arrivals:
                self._progress_s = max(self._progress_s or 0.0, operator.arrivals[-1].time_s)
            if operator.batches:
                self._progress_s = max(self._progress_s or 0.0, operator.batches[-1].finished_s)

    @property
    def newest(self) -> Sample | None:
        return self._samples[-1] if self._samples else None

    def evaluate(self, *, now_s: float, window_s: float, events_since_s: float | None = None) -> Evaluation:
        """The last ``window_s`` seconds; ``NotReady`` until there are two samples to compare."""
        if len(self._samples) < 2:
            raise NotReady("fewer than two samples so far: rates need two moments to compare")
        newest = self._samples[-1]
        window = [newest]
        for sample in reversed(self._samples):
            if sample is not newest:
                window.append(sample)
                if sample.time_s <= newest.time_s - window_s:
                    break
        window.reverse()
        slots = sum(executor.cores for executor in newest.executors if executor.state is not ExecutorState.LEAVING)
        events: tuple[AgentEvent, ...] = ()
        if events_since_s is not None:
            events = tuple(
                event for sample in self._samples if sample.time_s > events_since_s for event in sample.events
            )
        return Evaluation(
            time_s=newest.time_s,
            operators=tuple(self._operator(operator, window, slots) for operator in newest.operators),
            executors=_executors(window),
            nodes=tuple(NodeEvaluation(name=n.name, free=n.free, latency_s=n.latency_s) for n in newest.nodes),
            pending_executors=newest.pending_executors,
            window_s=newest.time_s - window[0].time_s,
            age_s=None if self._progress_s is None else max(0.0, now_s - self._progress_s),
            events=events,
        )

    def _operator(self, newest: OperatorSample, window: list[Sample], slots: int) -> OperatorEvaluation:
        parts = [part for sample in window for part in sample.operators if part.name == newest.name]
        first = parts[0]
        elapsed_s = window[-1].time_s - window[len(window) - len(parts)].time_s
        if len(parts) < 2:
            return OperatorEvaluation(
                name=newest.name,
                upstream=newest.upstream,
                scalable=newest.scalable,
                parallelism=newest.parallelism,
                max_parallelism=newest.max_parallelism,
                partitions=newest.partitions,
            )
        done = max(0.0, newest.done_records - first.done_records)
        batches = [batch for part in parts[1:] for batch in part.batches]
        arrived_rate, arrived = _arrivals(parts)
        tasks = _mean([batch.tasks for batch in batches])
        instances = newest.parallelism if newest.parallelism is not None else slots
        if slots:
            instances = min(instances, slots)
        if tasks is not None:
            instances = min(instances, max(1, round(tasks)))
        busy_s = None
        if newest.busy_s is not None and first.busy_s is not None:
            busy_s = max(0.0, newest.busy_s - first.busy_s)
        service_s = busy_s / done if busy_s and done > 0 else None
        output = None
        if newest.output_records is not None and first.output_records is not None:
            output = max(0.0, newest.output_records - first.output_records)
        return OperatorEvaluation(
            name=newest.name,
            upstream=newest.upstream,
            scalable=newest.scalable,
            parallelism=newest.parallelism,
            max_parallelism=newest.max_parallelism,
            arrival_rate=arrived_rate,
            input_rate=done / elapsed_s,
            output_rate=None if output is None else output / elapsed_s,
            true_processing_rate=instances / service_s if service_s and instances else None,
            selectivity=output / done if output is not None and done > 0 else None,
            lag_records=None if arrived is None else max(0.0, arrived - newest.done_records),
            busy=min(1.0, busy_s / (instances * elapsed_s)) if busy_s is not None and instances else None,
            back_pressure=newest.back_pressure,
            service_time_s=service_s,
            batch_delay_s=_batch_delay_s(batches) if self._at_batch_end else None,
            partitions=newest.partitions,
            latency_s=self._latency[newest.name].spread(since_s=window[0].time_s),
            batch=_typical_batch(batches, newest.records_limit) if self._at_batch_end else None,
        )


def _arrivals(parts: list[OperatorSample]) -> tuple[float | None, float | None]:
    """Rate over the window, and the newest position."""
    points = [part.arrivals[-1] for part in parts if part.arrivals]
    if not points:
        return None, None
    first, last = points[0], points[-1]
    if last.time_s <= first.time_s:
        first = next((part.arrivals[0] for part in parts if part.arrivals), last)
    if last.time_s <= first.time_s:
        return None, last.records
    return max(0.0, last.records - first.records) / (last.time_s - first.time_s), last.records


def _executors(window: list[Sample]) -> tuple[ExecutorEvaluation, ...]:
    newest = window[-1]
    first_seen: dict[str, tuple[float, ExecutorSample]] = {}
    for sample in window[:-1]:
        for executor in sample.executors:
            first_seen.setdefault(executor[0], (sample.time_s, executor))
    return tuple(_executor(executor, newest.time_s, first_seen.get(executor[0])) for executor in newest.executors)


def _executor(now: ExecutorSample, now_s: float, before: tuple[float, ExecutorSample] | None) -> ExecutorEvaluation:
    elapsed_s = now.age_s if before is None else now_s - before[0]
    busy = input_rate = None
    if elapsed_s > 0 and now.cores > 0:
        if now.busy_s is not None:
            busy_s = now.busy_s - (before[1].busy_s or 0.0 if before is not None else 0.0)
            busy = min(1.0, max(0.0, busy_s / (now.cores * elapsed_s)))
        if now.records is not None:
            input_rate = max(0.0, now.records - (before[1].records or 0.0 if before is not None else 0.0)) / elapsed_s
    return ExecutorEvaluation(
        id=now.id,
        node=now.node,
        cores=now.cores,
        busy=busy,
        input_rate=input_rate,
        age_s=now.age_s,
        leaving=now.state is ExecutorState.LEAVING,
    )


def _batch_delay_s(batches: list[Batch]) -> float | None:
    """Records come evenly between two batch starts, so they wait half of that time on average."""
    gaps = [later.started_s - earlier.started_s for earlier, later in pairwise(batches)]
    return sum(gaps) / len(gaps) / 2 if gaps else None


def _typical_batch(batches: list[Batch], records_limit: float | None) -> BatchEvaluation | None:
    if not batches:
        return None
    count = len(batches)
    duration_s = records = largest = 0.0
    for batch in batches:
        duration_s += batch.finished_s - batch.started_s
        taken = batch.end_record - batch.first_record
        records += taken
        if taken > largest:
            largest = taken
    return BatchEvaluation(
        count=count,
        duration_s=duration_s / count,
        records=records / count,
        largest_records=largest,
        tasks=_mean([batch.tasks for batch in batches]),
        run_s=_mean([batch.run_s for batch in batches]),
        longest_task_s=_mean([batch.longest_task_s for batch in batches]),
        mean_task_s=_mean([batch.mean_task_s for batch in batches]),
        sink_s=_mean([batch.sink_s for batch in batches]),
        records_limit=records_limit,
    )


def _mean(values: Sequence[float | None]) -> float | None:
    known = [value for value in values if value is not None]
    return sum(known) / len(known) if known else None
