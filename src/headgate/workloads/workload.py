"""A workload: how many records come in each second of a run."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from headgate.errors import UserMistake
from headgate.workloads.shape import MOST_RATE, Series

LONGEST_S = 400 * 86400


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Workload:
    """Records per second, one rate for each second, from 0 to ``duration_s``.

    >>> load = Workload(name="two seconds", rates=np.array([10.0, 30.0]))
    >>> load.duration_s, load.rate_at(1.5), load.cumulative().tolist()
    (2.0, 30.0, [0.0, 10.0, 40.0])
    """

    name: str
    """In the words in which it was asked for."""
    rates: Series

    def __post_init__(self) -> None:
        rates = np.array(self.rates, dtype=np.float64)
        if rates.ndim != 1 or not len(rates):
            raise UserMistake(f"workload '{self.name}' has no rates; give at least one second of them")
        if not (np.isfinite(rates).all() and rates.min() >= 0):
            raise UserMistake(f"workload '{self.name}' has a rate that is negative or not finite; give 0 or more")
        if rates.max() > MOST_RATE:
            raise UserMistake(
                f"workload '{self.name}' reaches {rates.max():g} records/s; give a peak of at most {MOST_RATE:g}"
            )
        rates.setflags(write=False)
        object.__setattr__(self, "rates", rates)

    @property
    def duration_s(self) -> float:
        return float(len(self.rates))

    @property
    def peak(self) -> float:
        return float(self.rates.max())

    def rate_at(self, time_s: float) -> float:
        """Records per second at a moment; none before the start and after the end."""
        index = math.floor(time_s) if 0 <= time_s < len(self.rates) else -1
        return float(self.rates[index]) if index >= 0 else 0.0

    def cumulative(self) -> Series:
        """Records that have come by each second's beginning, and by the end."""
        total = np.empty(len(self.rates) + 1)
        total[0] = 0.0
        np.cumsum(self.rates, out=total[1:])
        return total
