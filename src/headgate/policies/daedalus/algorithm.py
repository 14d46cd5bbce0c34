"""Algorithm 1 of Daedalus: which size, given what is known and foreseen (Pfister et al., ICPE 2024, section 3.2)."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass

from headgate.models.forecasting import Forecast


@dataclass(frozen=True, slots=True, kw_only=True)
class Outlook:
    """All that Algorithm 1 looks at."""

    current: int
    least: int
    most: int
    average: float
    """Workload since the last loop, records per second."""
    forecast: Forecast
    capacity: Callable[[int], float]
    recovery_s: Callable[[int], float]
    """As the forecast has it."""
    recovery_range_s: Callable[[int], tuple[float, float]] = lambda _: (math.inf, math.inf)
    """With the lower and with the upper end of the forecast's interval: optimistic, and pessimistic."""
    downtime_s: Callable[[int], float] = lambda _: 0.0
    """What going to a size is expected to stop, or on an engine that does not stop, to slow down."""
    seamless: bool = False
    """Whether the engine is one that does not stop."""
    lag_records: float
    since_rescale_s: float | None
    """``None`` before the first one."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Choice:
    """What Algorithm 1 returned, by which branch, and why each smaller size was passed over."""

    executors: int
    branch: str
    passed_over: Mapping[int, str]


def scale_out(outlook: Outlook, *, target_s: float, long_lived_s: float, next_loop_s: float) -> Choice:
    """Algorithm 1."""
    forecast, current = outlook.forecast, outlook.current
    if outlook.since_rescale_s is not None and outlook.since_rescale_s < long_lived_s:
        here = outlook.capacity(current)
        if here > outlook.average and here > forecast.peak(next_loop_s):
            return Choice(executors=current, branch="recently-rescaled", passed_over={})
    passed_over: dict[int, str] = {}
    for size in range(max(1, outlook.least), outlook.most + 1):
        capacity = outlook.capacity(size)
        if capacity <= outlook.average:
            passed_over[size] = "below-workload"
            continue
        recovery = outlook.recovery_s(size)
        if recovery > target_s:
            passed_over[size] = "recovers-too-slowly"
            continue
        if capacity < forecast.peak(recovery):
            passed_over[size] = "overtaken-while-recovering"
            continue
        if size == current:
            return Choice(executors=size, branch="fits-already", passed_over=passed_over)
        if size < current and capacity < outlook.lag_records:
            passed_over[size] = "lag-too-long"
            continue
        if capacity > forecast.peak():
            return Choice(executors=size, branch="fits", passed_over=passed_over)
        passed_over[size] = "overtaken-later"
    return Choice(executors=outlook.most, branch="nothing-fits", passed_over=passed_over)
