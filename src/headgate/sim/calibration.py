"""A scenario from a recorded run: what the app's executors could do, as its samples show it.

The time in which executors worked on a batch is taken as a line in the records of its fullest slot,
``run_s = tasks of that slot x task overhead + its records / capacity``; the rest of a batch is the
driver's. Batches beside a change of executors are left out, outliers are dropped. What a run does
not show is said in the scenario's notes.
"""

from __future__ import annotations

import statistics
from collections.abc import Iterable, Sequence
from typing import NamedTuple

import numpy as np

from headgate.core.sample import AgentEvent, Batch, EventKind, ExecutorState, Sample
from headgate.errors import UserMistake
from headgate.sim.cluster import Executor
from headgate.sim.placement import spread
from headgate.sim.scenario import OperatorScenario, Scenario, scenario_from
from headgate.sim.warming import warming

_LEAST_BATCHES = 10
_SETTLING_BATCHES = 2
"""Batches after a change of executors that say nothing about capacity."""
_COLD_S = 60.0
"""An app whose executors are younger than this when recording begins has only just started."""
_EVEN = 1.1
"""Up to this ratio of longest to mean task the partitions count as even."""


class _Seen(NamedTuple):
    """A batch with the executors that it ran on."""

    batch: Batch
    executors: int
    youngest_s: float
    """Age of the executor that joined last."""


class _Line(NamedTuple):
    task_overhead_s: float
    capacity: float
    noise: float
    steady: bool
    """Whether the load varied too little to tell fixed from proportional time."""


def calibrate(samples: Iterable[Sample], *, name: str) -> Scenario:
    """The ``spark`` scenario that a recorded run suggests."""
    recorded = list(samples)
    if not recorded or not recorded[0].operators:
        raise UserMistake("there are no samples to calibrate from; give a journal of a run that processed records")
    cores = max((executor.cores for sample in recorded for executor in sample.executors), default=1)
    events = [event for sample in recorded for event in sample.events]
    notes: list[str] = []
    names = [operator.name for operator in recorded[0].operators]
    seen = {operator: _settled_batches(recorded, operator) for operator in names}
    first = seen[names[0]]
    if len(first) < _LEAST_BATCHES:
        raise UserMistake(
            f"only {len(first)} undisturbed batches were recorded, and calibrating needs {_LEAST_BATCHES}; "
            "record a longer run"
        )
    partitions = round(statistics.median(item.batch.tasks or item.executors * cores for item in first))
    skew = _skew([item.batch for item in first], partitions)
    lines = {
        operator: _fit(batches, partitions=partitions, cores=cores, skew=skew)
        for operator, batches in seen.items()
        if len(batches) >= _LEAST_BATCHES
    }
    line = lines[names[0]]
    warm_up = warming(recorded, task_overhead_s=line.task_overhead_s, capacity=line.capacity)
    if warm_up is not None:
        lines = {
            operator: _fit(warm, partitions=partitions, cores=cores, skew=skew)
            for operator, batches in seen.items()
            if len(warm := [item for item in batches if item.youngest_s >= warm_up.warm_up_s]) >= _LEAST_BATCHES
        } or lines
        line = lines.get(names[0], line)
    counts = sorted({item.executors for item in first})
    if len(counts) == 1:
        notes.append(
            f"only {counts[0]} executors were seen, so how capacity grows with executors is assumed, not measured"
        )
    if line.steady:
        notes.append("the load hardly varied, so fixed and proportional time could not be told apart")
    if len(names) > 1:
        notes.append("the operators shared the executors, so their capacities are lower bounds")
    trigger_s = _trigger_s([item.batch for item in first])
    if trigger_s is None:
        notes.append("no batch waited for its trigger, so the trigger is taken as 0")
    return scenario_from(
        {
            "name": name,
            "description": f"calibrated from {sum(map(len, seen.values()))} recorded batches",
            "operators": [_operator(recorded, operator, lines.get(operator, line).capacity) for operator in names],
            "trigger_s": trigger_s or 0.0,
            "overhead_s": max(0.001, round(statistics.median(_driver_s(item.batch) for item in first), 4)),
            "task_overhead_s": round(line.task_overhead_s, 5),
            "partitions": partitions,
            "skew": skew,
            "noise": min(2.0, round(line.noise, 4)),
            "executors": max(1, first[0].executors),
            "cores": cores,
            "starts_cold": recorded[0].executors != () and min(item.age_s for item in recorded[0].executors) < _COLD_S,
            **({} if warm_up is None else {"warm_up_s": warm_up.warm_up_s, "warm_up_speed": warm_up.speed}),
            **_limits(recorded, names[0]),
            **_lifetimes(events, notes),
            "notes": notes,
        },
        where="calibration",
    )


def _settled_batches(samples: Sequence[Sample], operator: str) -> list[_Seen]:
    """Batches that ran wholly on an unchanged set of executors, some time after the last change."""
    seen: list[_Seen] = []
    before: frozenset[str] = frozenset()
    unsettled = _SETTLING_BATCHES
    for sample in samples:
        present = frozenset(item.id for item in sample.executors if item.state is ExecutorState.ACTIVE)
        changed = present != before
        if changed:
            unsettled = _SETTLING_BATCHES
        for item in sample.operators:
            if item.name != operator:
                continue
            for batch in item.batches:
                if changed:
                    continue
                if unsettled:
                    unsettled -= 1
                elif batch.records > 0 and batch.duration_s > 0 and present:
                    youngest_s = min(item.age_s for item in sample.executors if item.id in present)
                    seen.append(_Seen(batch, len(present), youngest_s))
        before = present
    return seen


def _driver_s(batch: Batch) -> float:
    return 0.0 if batch.run_s is None else max(0.0, batch.duration_s - batch.run_s)


def _run_s(batch: Batch) -> float:
    return batch.duration_s if batch.run_s is None else batch.run_s


def _fit(seen: Sequence[_Seen], *, partitions: int, cores: int, skew: float) -> _Line:
    """Least squares over the batches, twice: the second time without outliers."""
    fullest = {count: _fullest_slot(count, cores, partitions, skew) for count in {item.executors for item in seen}}
    tasks = np.array([fullest[item.executors][0] for item in seen])
    records = np.array([fullest[item.executors][1] * item.batch.records for item in seen])
    run_s = np.array([_run_s(item.batch) for item in seen])
    steady = bool(np.std(records) < 0.02 * np.mean(records))
    kept = np.ones(len(seen), dtype=bool)
    fixed_s, slope = 0.0, 0.0
    for _ in range(2):
        fixed_s, slope = _line(tasks[kept], records[kept], run_s[kept], steady=steady)
        error = run_s / np.maximum(fixed_s * tasks + slope * records, 1e-9) - 1.0
        spread_of_error = 1.4826 * float(np.median(np.abs(error - np.median(error))))
        kept = np.abs(error - np.median(error)) <= max(4.0 * spread_of_error, 0.02)
    return _Line(fixed_s, 1.0 / slope, spread_of_error, steady)


def _line(
    tasks: np.ndarray[tuple[int], np.dtype[np.float64]],
    records: np.ndarray[tuple[int], np.dtype[np.float64]],
    run_s: np.ndarray[tuple[int], np.dtype[np.float64]],
    *,
    steady: bool,
) -> tuple[float, float]:
    """Seconds per task and per record, neither negative; errors count relative to the time itself."""
    weight = 1.0 / np.maximum(run_s, 1e-6)
    through_origin = float(np.sum(records * run_s * weight**2) / np.sum((records * weight) ** 2))
    if steady:
        return 0.0, through_origin
    solution = np.linalg.lstsq(np.stack([tasks * weight, records * weight], axis=1), run_s * weight, rcond=None)[0]
    fixed_s, slope = float(solution[0]), float(solution[1])
    return (fixed_s, slope) if fixed_s > 0 and slope > 0 else (0.0, through_origin)


def _fullest_slot(executors: int, cores: int, partitions: int, skew: float) -> tuple[float, float]:
    """Tasks and share of the records in the slot that finishes last."""
    sizes = [(task + 1) ** -skew for task in range(partitions)]
    on = [Executor(str(number), "", cores, 0.0, 0.0) for number in range(executors)]
    plan = spread(on, [1.0] * executors, [size / sum(sizes) for size in sizes], task_overhead_s=1.0)
    return max(plan.lines, key=lambda line: line[1])


def _skew(batches: Sequence[Batch], partitions: int) -> float:
    """The Zipf exponent that explains how much longer the longest task is than the mean."""
    ratios = [
        batch.longest_task_s / batch.mean_task_s
        for batch in batches
        if batch.longest_task_s is not None and batch.mean_task_s
    ]
    if not ratios or partitions < 2 or (ratio := statistics.median(ratios)) <= _EVEN:
        return 0.0
    low, high = 0.0, 10.0
    for _ in range(40):
        middle = (low + high) / 2
        share = 1.0 / sum((task + 1) ** -middle for task in range(partitions))
        low, high = (middle, high) if share * partitions < ratio else (low, middle)
    return round(low, 3)


def _trigger_s(batches: Sequence[Batch]) -> float | None:
    """From the starts of batches that waited, each following another one that had waited."""
    gaps = [
        last.started_s - middle.started_s
        for first, middle, last in zip(batches, batches[1:], batches[2:], strict=False)
        if middle.started_s > first.finished_s + 0.005 and last.started_s > middle.finished_s + 0.005
    ]
    # A trigger without data runs no batch, so longer gaps are multiples.
    return round(float(np.quantile(gaps, 0.25)), 2) if gaps else None


def _operator(samples: Sequence[Sample], name: str, capacity: float) -> OperatorScenario:
    found = [operator for sample in samples for operator in sample.operators if operator.name == name]
    last = found[-1]
    selectivity = 1.0
    if last.output_records is not None and last.done_records > 0:
        selectivity = round(last.output_records / last.done_records, 6)
    return OperatorScenario(
        name=name,
        upstream=last.upstream,
        capacity=float(f"{capacity:.6g}"),
        selectivity=selectivity,
        scalable=last.scalable,
        parallelism=last.parallelism if last.scalable else None,
        max_parallelism=last.max_parallelism,
    )


def _limits(samples: Sequence[Sample], name: str) -> dict[str, float]:
    limits = [operator.records_limit for sample in samples for operator in sample.operators if operator.name == name]
    return {} if limits[-1] is None else {"records_per_trigger": limits[-1]}


def _lifetimes(events: Sequence[AgentEvent], notes: list[str]) -> dict[str, float]:
    """Start-up, slow batch and stop, as far as the run shows them."""
    found: dict[str, float] = {}
    joins = [
        event.figures["join_s"] for event in events if event.kind is EventKind.JOINED and "join_s" in event.figures
    ]
    if joins:
        found["startup_s"] = round(statistics.fmean(joins), 3)
        found["startup_sd_s"] = round(statistics.stdev(joins), 3) if len(joins) > 1 else 0.0
    else:
        notes.append("no executor joined, so the start-up time is the default")
    slow = [
        event.figures["extra_s"]
        for event in events
        if event.kind is EventKind.SLOW_BATCH and "extra_s" in event.figures
    ]
    if slow:
        found["slow_batch_s"] = round(statistics.fmean(slow), 3)
    leaving: dict[str, float] = {}
    stops: list[float] = []
    for event in events:
        if event.executor is None:
            continue
        if event.kind is EventKind.LEAVING:
            leaving[event.executor] = event.time_s
        elif event.kind is EventKind.REMOVED and event.executor in leaving:
            stops.append(event.time_s - leaving.pop(event.executor))
    if stops:
        found["stop_s"] = round(statistics.fmean(stops), 3)
    else:
        notes.append("no executor left, so the stop time is the default")
    return found
