"""What went on within a window, for policies that learn: curves of cumulative counters, cut into steps.

A policy that decides every minute sees each minute once, so the steps of successive windows make up the whole history.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import pairwise

import numpy as np

from headgate.core.evaluation import CoursePoint
from headgate.core.sample import Sample

EXECUTOR_STEP_S = 10.0
"""Least length of a step of an executor's course."""


def per_second(curve: Sequence[tuple[float, float]], window: Sequence[Sample]) -> tuple[float, ...]:
    """Growth of a cumulative curve in each whole second of the window, the newest last."""
    if len(curve) < 2:
        return ()
    begin_s, end_s = window[0].time_s, window[-1].time_s
    seconds = int(round(end_s - begin_s, 6))
    times, values = zip(*curve, strict=True)
    if seconds < 1 or times[-1] <= times[0]:
        return ()
    at = np.interp(end_s - np.arange(seconds, -1, -1.0), times, values)
    return tuple(np.maximum(0.0, np.diff(at)).tolist())


def executor_courses(
    samples: Sequence[Sample], *, since_s: float, at_batch_end: bool
) -> Mapping[str, tuple[CoursePoint, ...]]:
    """What each executor did, step by step, as far as it is known, in the steps that ended after a moment.

    Task time grows while a task runs, but its records are counted when its micro-batch has ended. So with micro-batches
    (``at_batch_end``) steps go from the end of a batch to the end of a later one: any other cut would have the time of
    a batch in one step and its records in the next. A batch under a load that is too high may be longer than a window,
    so a step may have begun before it.
    """
    courses: dict[str, list[CoursePoint]] = {}
    for begin, end in pairwise(_cuts(samples, at_batch_end=at_batch_end)):
        first, last = samples[begin], samples[end]
        if last.time_s <= since_s:
            continue
        step_s = last.time_s - first.time_s
        batches_per_s, working = _batches(samples[begin + 1 : end + 1], step_s) if at_batch_end else (None, None)
        before = {executor.id: executor for executor in first.executors}
        for now in last.executors:
            then = before.get(now.id)
            if then is None or None in (now.busy_s, now.records, then.busy_s, then.records) or now.cores < 1:
                continue
            # Not cut off at 1: what is measured as a task's time may belong to the moment before.
            busy = max(0.0, (now.busy_s or 0.0) - (then.busy_s or 0.0)) / (now.cores * step_s)
            rate = max(0.0, (now.records or 0.0) - (then.records or 0.0)) / step_s
            courses.setdefault(now.id, []).append(CoursePoint(busy, rate, batches_per_s, working))
    return {executor: tuple(course) for executor, course in courses.items()}


def _cuts(window: Sequence[Sample], *, at_batch_end: bool) -> list[int]:
    """Numbers of the samples between which steps lie."""
    cuts: list[int] = []
    for index, sample in enumerate(window):
        ended = not at_batch_end or any(operator.batches for operator in sample.operators if not operator.upstream)
        if ended and (not cuts or sample.time_s - window[cuts[-1]].time_s >= EXECUTOR_STEP_S):
            cuts.append(index)
    return cuts


def _batches(step: Sequence[Sample], step_s: float) -> tuple[float, float | None]:
    """How many batches ended per second, and the share of the time in which their tasks ran."""
    names = {operator.name for sample in step for operator in sample.operators}
    batches = [batch for sample in step for operator in sample.operators for batch in operator.batches]
    runs_s = [batch.run_s for batch in batches if batch.run_s is not None]
    working = min(1.0, sum(runs_s) / step_s) if len(names) == 1 and len(runs_s) == len(batches) else None
    return len(batches) / step_s, working
