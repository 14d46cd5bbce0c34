"""From rates to whole records: how many have arrived by each second.

Everything that makes records (the simulator, the trace source of a real stream, a producer) takes
its counts from here, so the same workload and seed bring the same records everywhere.
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from headgate.errors import UserMistake
from headgate.workloads.shape import Series
from headgate.workloads.workload import Workload

Counts = NDArray[np.int64]

_ROUNDING = 1e-6
"""Sums of rates such as 0.1 fall a hair short of the whole record that they mean."""
_POISSON_STREAM = 0x5EED
"""Keeps the draws apart from those of noise under the same seed."""


def arrivals(workload: Workload, *, process: str = "even", seed: int = 0) -> Counts:
    """Records arrived by each second's beginning and by the end: one more than there are seconds.

    ``even`` spaces them as the rates say; ``poisson`` draws every second's number independently.

    >>> arrivals(Workload(name="slow", rates=np.full(4, 0.5))).tolist()
    [0, 0, 1, 1, 2]
    """
    if process == "even":
        return np.floor(workload.cumulative() + _ROUNDING).astype(np.int64)
    if process != "poisson":
        raise UserMistake(f"arrivals '{process}' are unknown; choose even or poisson")
    if seed < 0:
        raise UserMistake(f"arrivals: seed={seed} is negative; give 0 or more")
    counts = np.zeros(len(workload.rates) + 1, dtype=np.int64)
    np.cumsum(np.random.default_rng([seed, _POISSON_STREAM]).poisson(workload.rates), out=counts[1:])
    return counts


def count_at(cumulative: Counts, time_s: float) -> int:
    """Records arrived by a moment, also within a second; all of them after the end.

    >>> count_at(np.array([0, 10, 30]), 1.25)
    15
    """
    last = len(cumulative) - 1
    if time_s >= last:
        return int(cumulative[last])
    if not time_s > 0:
        return int(cumulative[0])
    second = math.floor(time_s)
    before = int(cumulative[second])
    return before + math.floor((int(cumulative[second + 1]) - before) * (time_s - second) + _ROUNDING)


def counts_at(cumulative: Counts, times_s: Series) -> Counts:
    """The same for many moments at once."""
    last = len(cumulative) - 1
    clamped = np.clip(times_s, 0.0, float(last))
    second = np.minimum(clamped.astype(np.int64), max(last - 1, 0))
    before: Counts = cumulative[second]
    grown: Series = (cumulative[np.minimum(second + 1, last)] - before) * (clamped - second) + _ROUNDING
    return before + np.floor(grown).astype(np.int64)
