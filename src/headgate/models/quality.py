"""What quality of service each size would give: capacity, latency and downtime, learned from profiling runs.

Phoebe (Geldenhuys et al., ICWS 2022) profiles a job at several scale-outs before it runs, and learns from that three
models over (scale-out, throughput). What follows here from the points of a profile:

- capacity(n) = α · nᵝ through the measured capacities (least squares of logarithms; β = 1 with a single size);
- latency(n, rate): between the measured points of a size linearly in utilisation = rate ÷ capacity(n), between two
  sizes linearly in n, beyond the outermost ones as on these. Above the greatest utilisation that was measured latency
  grows with it in proportion, and at the capacity it is without bound;
- latencies are of two classes, normal and not, split where the sum of squared deviations of their logarithms from
  their class's mean is least (the best two clusters on a line), where all below 0.1 s count as that;
- downtime(n): the mean of the failures injected on that size, between sizes linearly.

Deviation: the authors regress latency by gradient boosting and cluster it by BIRCH. Lines through the same points need
no library, are the same in every replay, and do not jump between points.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from headgate.core.profile import Profile

_SHORT_S = 0.1
"""Shorter latencies than this are all alike."""


@dataclass(frozen=True, kw_only=True)
class QualityModel:
    """The models of one profile.

    >>> from headgate.core.profile import LoadPoint, ProfiledSize
    >>> def size(executors: int) -> ProfiledSize:
    ...     loads = tuple(LoadPoint(rate=100.0 * executors * use, latency_s=1.0 + use) for use in (0.2, 0.8))
    ...     return ProfiledSize(executors=executors, capacity=100.0 * executors, loads=loads)
    >>> known = QualityModel(profile=Profile(app="doc", sizes=(size(1), size(4))))
    >>> round(known.capacity(3), 6), round(known.latency_s(2, 100.0), 6)
    (300.0, 1.5)
    """

    profile: Profile
    seen: tuple[tuple[int, float, float], ...] = ()
    """Executors, rate and latency, seen since the profile was made; they count like points of it."""

    def capacity(self, executors: int) -> float:
        scale, exponent = self._curve
        return float(scale * executors**exponent) if executors > 0 else 0.0

    @cached_property
    def _curve(self) -> tuple[float, float]:
        sizes = np.log([size.executors for size in self.profile.sizes])
        capacities = np.log([size.capacity for size in self.profile.sizes])
        if len(sizes) < 2:
            return math.exp(capacities[0] - sizes[0]), 1.0
        exponent, intercept = np.polyfit(sizes, capacities, 1)
        return math.exp(intercept), float(exponent)

    def latency_s(self, executors: int, rate: float) -> float | None:
        """Mean latency under a constant load; infinite at and above the capacity, ``None`` if no load was profiled."""
        capacity = self.capacity(executors)
        if not self._latencies:
            return None
        if rate >= capacity:
            return math.inf
        use = rate / capacity
        return _between(executors, list(self._latencies), [_at(use, points) for points in self._latencies.values()])

    @cached_property
    def _latencies(self) -> dict[int, list[tuple[float, float]]]:
        """Utilisation and latency of each size, in order."""
        points: dict[int, list[tuple[float, float]]] = {}
        profiled = [(size.executors, load.rate, load.latency_s) for size in self.profile.sizes for load in size.loads]
        for executors, rate, latency_s in (*profiled, *self.seen):
            points.setdefault(executors, []).append((rate / self.capacity(executors), latency_s))
        return {executors: sorted(points[executors]) for executors in sorted(points)}

    @cached_property
    def normal_s(self) -> float:
        """The longest latency that is still normal; infinite where the profile shows only one kind."""
        latencies = [load.latency_s for size in self.profile.sizes for load in size.loads]
        return longest_of_lower_class([max(latency, _SHORT_S) for latency in latencies])

    def downtime_s(self, executors: int) -> float | None:
        """How long a failure stops work; ``None`` if none was injected."""
        known = [size for size in self.profile.sizes if size.failures]
        if not known:
            return None
        means = [sum(failure.downtime_s for failure in size.failures) / len(size.failures) for size in known]
        return _between(executors, [size.executors for size in known], means)


def _between(executors: int, sizes: Sequence[int], values: Sequence[float]) -> float:
    return float(np.interp(executors, sizes, values))


def _at(use: float, points: Sequence[tuple[float, float]]) -> float:
    """Latency at a utilisation, along the points of one size."""
    highest, latency_s = points[-1]
    if use > highest > 0:
        return latency_s * use / highest
    return float(np.interp(use, [point[0] for point in points], [point[1] for point in points]))


def longest_of_lower_class(values: Sequence[float]) -> float:
    """The greatest of the lower of two classes; infinite if all are of one.

    Classes count as two where the upper one begins at more than twice the end of the lower.

    >>> longest_of_lower_class([0.9, 1.1, 1.0, 30.0, 45.0])
    1.1
    >>> longest_of_lower_class([0.9, 1.0, 1.3])
    inf
    """
    ordered = sorted(values)
    if len(ordered) < 2:
        return math.inf
    logs = np.log(ordered)
    split = min(range(1, len(logs)), key=lambda place: _scatter(logs[:place]) + _scatter(logs[place:]))
    return ordered[split - 1] if ordered[split] > 2 * ordered[split - 1] else math.inf


def _scatter(values: np.ndarray) -> float:
    return float(((values - values.mean()) ** 2).sum())
