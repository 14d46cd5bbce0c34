"""As it was one period ago (Hyndman and Athanasopoulos, "Forecasting: principles and practice", section 5.2)."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from headgate.models.forecasting.forecast import Forecast, Series


@dataclass(frozen=True, slots=True, kw_only=True)
class SeasonalNaive:
    """
    >>> SeasonalNaive(period_s=3).forecast(np.array([1.0, 5.0, 2.0, 1.0, 6.0, 2.0]), 4).mean.tolist()
    [1.0, 6.0, 2.0, 1.0]
    """

    period_s: int = 86_400

    def forecast(self, history: Series, horizon: int) -> Forecast:
        """With less history than a period, the last rate stays."""
        known = np.asarray(history, dtype=np.float64)
        if known.size == 0:
            return Forecast.around(np.zeros(horizon), np.zeros(horizon))
        period = self.period_s if known.size >= self.period_s else 1
        season = known[-period:]
        mean = season[np.arange(horizon) % period]
        misses = known[period:] - known[:-period]
        deviation = float(np.sqrt((misses**2).mean())) if misses.size else 0.0
        # Each further season is one more step into the unknown.
        return Forecast.around(mean, deviation * np.sqrt(np.arange(horizon) // period + 1))
