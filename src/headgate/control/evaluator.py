"""Samples to evaluations: the A of MAPE-K, the same for every engine.

Rates are differences of cumulative counters between the newest sample and the one at the start of
the window, so that a missed sample costs resolution and no volume. Useful time is task time: the
true processing rate of an operator is what its instances finish per second of it, times the number
of instances that can work at once (slots, but no more than there are tasks).
"""

from __future__ import annotations

from collections import deque
from collections.abc import Mapping, Sequence
from dataclasses import replace
from operator import sub

from headgate.control.courses import executor_courses, per_second
from headgate.control.latency import LatencyTrack
from headgate.control.slots import waiting_instances
from headgate.control.variation import arrival_scv, service_scv
from headgate.core.evaluation import (
    BatchEvaluation,
    CoursePoint,
    Evaluation,
    ExecutorEvaluation,
    NodeEvaluation,
    OperatorEvaluation,
)
from headgate.core.knowledge import Engine
from headgate.core.ports import Policy
from headgate.core.sample import AgentEvent, Batch, ExecutorSample, ExecutorState, OperatorSample, Sample
from headgate.errors import NotReady

_LATENCY_MEMORY_S = 900.0
_LONGEST_BATCH_S = 120.0
"""How much longer than a window samples are kept, so that long batches have a beginning."""
_ON_DEMAND = frozenset({"arrivals_per_s", "finished_per_s", "course", "arrival_scv", "service_scv"})
"""What takes time to find out, and only some policies look at."""


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
        oldest_s = sample.time_s - self._keep_s - (_LONGEST_BATCH_S if self._at_batch_end else 0.0)
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

    def evaluate(
        self,
        *,
        now_s: float,
        window_s: float,
        events_since_s: float | None = None,
        fields: frozenset[str] = frozenset(),
    ) -> Evaluation:
        """The last ``window_s`` seconds, with those of the fields on demand that are asked for.

        ``NotReady`` before there are two samples.
        """
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
        waiting = waiting_instances(newest.operators, slots)
        events: tuple[AgentEvent, ...] = ()
        if events_since_s is not None:
            events = tuple(
                event for sample in self._samples if sample.time_s > events_since_s for event in sample.events
            )
        return Evaluation(
            time_s=newest.time_s,
            operators=tuple(
                replace(self._operator(operator, window, slots, fields), waiting_instances=waiting.get(operator.name))
                for operator in newest.operators
            ),
            executors=_executors(window, self._courses(window[0].time_s) if "course" in fields else {}),
            nodes=tuple(NodeEvaluation(name=n.name, free=n.free, latency_s=n.latency_s) for n in newest.nodes),
            pending_executors=newest.pending_executors,
            window_s=newest.time_s - window[0].time_s,
            age_s=None if self._progress_s is None else max(0.0, now_s - self._progress_s),
            events=events,
        )

    def _courses(self, since_s: float) -> Mapping[str, tuple[CoursePoint, ...]]:
        # Only where batches are: elsewhere a step begins and ends with the window.
        kept = [each for each in self._samples if self._at_batch_end or each.time_s >= since_s]
        return executor_courses(kept, since_s=since_s, at_batch_end=self._at_batch_end)

    def _operator(
        self, newest: OperatorSample, window: list[Sample], slots: int, fields: frozenset[str]
    ) -> OperatorEvaluation:
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
        typical = _typical_batch(batches, newest.records_limit) if self._at_batch_end else None
        tasks = _mean([batch.tasks for batch in batches]) if typical is None else typical.tasks
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
            arrival_scv=arrival_scv(_arrival_curve(parts)) if "arrival_scv" in fields else None,
            service_scv=service_scv(batches) if "service_scv" in fields else None,
            batch_delay_s=_batch_delay_s(batches) if self._at_batch_end else None,
            partitions=newest.partitions,
            arrivals_per_s=per_second(_arrival_curve(parts), window) if "arrivals_per_s" in fields else (),
            finished_per_s=per_second(_done_curve(newest.name, window), window) if "finished_per_s" in fields else (),
            latency_s=self._latency[newest.name].spread(since_s=window[0].time_s),
            batch=typical,
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


def fields_for(policy: Policy) -> frozenset[str]:
    """The fields on demand that a policy looks at: those that it needs, and those that it would like to know."""
    asked = [*policy.needs, *getattr(policy, "uses", ())]
    return _ON_DEMAND.intersection(field.rpartition(".")[2] for field in asked)


def _arrival_curve(parts: list[OperatorSample]) -> list[tuple[float, float]]:
    return [(point.time_s, point.records) for part in parts for point in part.arrivals]


def _done_curve(name: str, window: list[Sample]) -> list[tuple[float, float]]:
    return [(sample.time_s, part.done_records) for sample in window for part in sample.operators if part.name == name]


def _executors(window: list[Sample], courses: Mapping[str, tuple[CoursePoint, ...]]) -> tuple[ExecutorEvaluation, ...]:
    newest = window[-1]
    first_seen: dict[str, tuple[float, ExecutorSample]] = {}
    for sample in reversed(window[:-1]):
        first_seen |= {executor.id: (sample.time_s, executor) for executor in sample.executors}
    return tuple(
        [
            _executor(executor, newest.time_s, first_seen.get(executor.id), courses.get(executor.id, ()))
            for executor in newest.executors
        ]
    )


def _executor(
    now: ExecutorSample,
    now_s: float,
    before: tuple[float, ExecutorSample] | None,
    course: tuple[CoursePoint, ...],
) -> ExecutorEvaluation:
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
        course=course,
        leaving=now.state is ExecutorState.LEAVING,
    )


def _batch_delay_s(batches: list[Batch]) -> float | None:
    """Records come evenly between two batch starts, so they wait half of that time on average."""
    starts_s = [batch.started_s for batch in batches]
    gaps = list(map(sub, starts_s[1:], starts_s))
    return sum(gaps) / len(gaps) / 2 if gaps else None


def _typical_batch(batches: list[Batch], records_limit: float | None) -> BatchEvaluation | None:
    if not batches:
        return None
    columns = zip(*batches, strict=True)
    _, started_s, finished_s, first, end, tasks, run_s, longest_task_s, mean_task_s, sink_s, _ = columns
    count, taken = len(batches), list(map(sub, end, first))
    return BatchEvaluation(
        count=count,
        duration_s=sum(map(sub, finished_s, started_s)) / count,
        records=sum(taken) / count,
        largest_records=max(0.0, *taken),
        tasks=_mean(tasks),
        run_s=_mean(run_s),
        longest_task_s=_mean(longest_task_s),
        mean_task_s=_mean(mean_task_s),
        sink_s=_mean(sink_s),
        records_limit=records_limit,
    )


def _mean(values: Sequence[float | None]) -> float | None:
    known = [value for value in values if value is not None]
    return sum(known) / len(known) if known else None
