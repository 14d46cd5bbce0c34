"""What a forecast is, and how good it was."""

from __future__ import annotations

import math
from dataclasses import dataclass
from statistics import NormalDist
from typing import Protocol

import numpy as np
from numpy.typing import ArrayLike, NDArray

Series = NDArray[np.float64]

LEVEL = 0.8
"""Share of the cases in which the truth lies within the interval of a forecast."""
SPREAD = NormalDist().inv_cdf(0.5 + LEVEL / 2)
"""Standard deviations to each side of the middle of such an interval."""


@dataclass(frozen=True, slots=True, eq=False)
class Forecast:
    """Rates of the coming seconds: the likeliest, and the ends of an interval around it."""

    mean: Series
    lower: Series
    upper: Series

    @classmethod
    def around(cls, mean: ArrayLike, deviation: ArrayLike) -> Forecast:
        """With the interval that a normal distribution of that deviation has; never below nothing."""
        middle = np.asarray(mean, dtype=np.float64)
        away = SPREAD * np.asarray(deviation, dtype=np.float64)
        return cls(np.maximum(middle, 0.0), np.maximum(middle - away, 0.0), np.maximum(middle + away, 0.0))

    def peak(self, until_s: float | None = None) -> float:
        """The greatest rate until then, or of all of it; 0 for a moment that has no second in it.

        >>> rising = Forecast.around([1.0, 2.0, 3.0], 0.0)
        >>> rising.peak(), rising.peak(2.0), rising.peak(1.5)
        (3.0, 2.0, 2.0)
        """
        mean = self.mean
        if until_s is not None and math.isfinite(until_s):
            mean = mean[: max(0, math.ceil(until_s))]
        return float(mean.max()) if mean.size else 0.0


class Forecaster(Protocol):
    """Knows how a workload goes on."""

    def forecast(self, history: Series, horizon: int) -> Forecast:
        """The next so many seconds after a history of rates, one a second, oldest first."""
        ...


def wape(actual: ArrayLike, forecast: ArrayLike) -> float | None:
    """Weighted absolute percentage error, as a fraction: Σ |actual − forecast| ÷ Σ actual, of what both have.

    ``None`` if they have nothing in common, and infinity if something was forecast of what was nothing at all.

    >>> wape([100.0, 300.0], [110.0, 270.0])
    0.1
    """
    truth, told = np.asarray(actual, dtype=np.float64), np.asarray(forecast, dtype=np.float64)
    length = min(truth.size, told.size)
    if not length:
        return None
    missed, total = float(np.abs(truth[:length] - told[:length]).sum()), float(np.abs(truth[:length]).sum())
    if total == 0:
        return 0.0 if missed == 0 else math.inf
    return missed / total
