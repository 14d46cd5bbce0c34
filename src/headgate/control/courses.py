"""What went on within a window, for policies that learn: curves of cumulative counters, cut into steps.

A policy that decides every minute sees each minute once, so the steps of successive windows make up the whole history.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from headgate.core.sample import Sample

EXECUTOR_STEP_S = 10.0
"""Length of a step of an executor's course. Task time and records of a task are known when it ends, so shorter
steps would see whole micro-batches in one step and nothing in the next."""


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


def executor_course(executor: str, window: Sequence[Sample]) -> tuple[tuple[float, float], ...]:
    """Busy share and input rate of an executor, step by step, as far as it is known."""
    points = [
        (sample.time_s, seen.cores, seen.busy_s, seen.records)
        for sample in window
        for seen in sample.executors
        if seen.id == executor and seen.busy_s is not None and seen.records is not None
    ]
    if len(points) < 2:
        return ()
    times, cores, busy, records = (np.array(column, dtype=np.float64) for column in zip(*points, strict=True))
    span_s = float(times[-1] - times[0])
    steps = max(1, int(span_s / EXECUTOR_STEP_S))
    if span_s <= 0 or cores[-1] <= 0:
        return ()
    at = np.linspace(times[0], times[-1], steps + 1)
    step_s = span_s / steps
    # Not cut off at 1: task time of a long task is known all at once, and so are its records.
    shares = np.maximum(0.0, np.diff(np.interp(at, times, busy)) / (cores[-1] * step_s))
    rates = np.maximum(0.0, np.diff(np.interp(at, times, records)) / step_s)
    return tuple(zip(shares.tolist(), rates.tolist(), strict=True))
