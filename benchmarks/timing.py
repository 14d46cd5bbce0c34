"""Repeated timing of one call."""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable


def times_s(call: Callable[[], object], *, repeats: int) -> list[float]:
    """Wall time of each of so many calls, after one that is not counted."""
    call()
    taken = []
    for _ in range(repeats):
        before = time.perf_counter()
        call()
        taken.append(time.perf_counter() - before)
    return taken


def percentile(values: list[float], share: float) -> float:
    ordered = sorted(values)
    return ordered[min(len(ordered) - 1, int(share * len(ordered)))]


def line(what: str, values: list[float], *, unit: str = "ms", scale: float = 1e3, goal: str = "") -> None:
    middle, high = statistics.median(values) * scale, percentile(values, 0.99) * scale
    print(f"  {what:<44} median {middle:8.3f} {unit}   p99 {high:8.3f} {unit}   {goal}", flush=True)
