"""When each record of a workload arrives: the counterpart of ``workloads.count_at``.

In whole microseconds, so that the producer, the trace source and whoever checks a sink get the same event
times, to the last digit, from whichever piece of the curve they know.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from headgate.workloads.arrivals import Counts

_US = 1_000_000

Longs = NDArray[np.int64]


def arrival_times_us(curve: Counts, numbers: Longs) -> Longs:
    """Microseconds after the curve's beginning at which these records (the first ever is 0) have arrived.

    >>> arrival_times_us(np.array([0, 2, 2, 6]), np.array([0, 1, 2, 5])).tolist()
    [500000, 1000000, 2250000, 3000000]
    """
    second = np.searchsorted(curve, numbers, side="right") - 1
    before = curve[second]
    within = np.round((numbers + 1 - before) / (curve[second + 1] - before) * _US)
    return second * _US + within.astype(np.int64)


def event_times_ms(curve: Counts, start_time_s: float, numbers: Longs) -> Longs:
    """The ``time_ms`` of these records when the workload starts at a moment (seconds since 1970).

    >>> event_times_ms(np.array([0, 2]), 1_800_000_000.25, np.array([0, 1])).tolist()
    [1800000000750, 1800000001250]
    """
    return (start_us(start_time_s) + arrival_times_us(curve, numbers)) // 1000


def start_us(start_time_s: float) -> int:
    """A start in whole microseconds."""
    return round(start_time_s * _US)
