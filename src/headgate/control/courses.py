"""What went on within a window, for policies that learn: curves of cumulative counters, cut into steps.

A policy that decides every minute sees each minute once, so the steps of successive windows make up the whole history.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import pairwise

import numpy as np

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


def executor_courses(window: Sequence[Sample], *, at_batch_end: bool) -> Mapping[str, tuple[tuple[float, float], ...]]:
    """Busy share and input rate of each executor, step by step, as far as they are known.

    Task time grows while a task runs, but its records are counted when its micro-batch has ended. So with micro-batches
    (``at_batch_end``) steps go from the end of a batch to the end of a later one: any other cut would have the time of
    a batch in one step and its records in the next.
    """
    points: dict[str, list[tuple[float, int, float, float]]] = {}
    for sample in _cuts(window, at_batch_end=at_batch_end):
        for seen in sample.executors:
            if seen.busy_s is not None and seen.records is not None:
                points.setdefault(seen.id, []).append((sample.time_s, seen.cores, seen.busy_s, seen.records))
    return {executor: _course(known) for executor, known in points.items()}


def _cuts(window: Sequence[Sample], *, at_batch_end: bool) -> list[Sample]:
    """Samples between which steps lie."""
    cuts: list[Sample] = []
    for sample in window:
        ended = not at_batch_end or any(operator.batches for operator in sample.operators if not operator.upstream)
        if ended and (not cuts or sample.time_s - cuts[-1].time_s >= EXECUTOR_STEP_S):
            cuts.append(sample)
    return cuts


def _course(points: Sequence[tuple[float, int, float, float]]) -> tuple[tuple[float, float], ...]:
    course = []
    for (begin_s, _, busy_before_s, before), (end_s, cores, busy_s, records) in pairwise(points):
        if cores > 0:
            step_s = end_s - begin_s
            # Not cut off at 1: what is measured as a task's time may belong to the moment before.
            course.append((max(0.0, busy_s - busy_before_s) / (cores * step_s), max(0.0, records - before) / step_s))
    return tuple(course)
