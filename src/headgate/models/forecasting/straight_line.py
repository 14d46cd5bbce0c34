"""The straight line through the latest rates, prolonged.

What Daedalus falls back on when its last forecast was poor (Pfister et al., ICPE 2024, section 3.3): the slope of the
latest observations, projected over the horizon.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from headgate.models.forecasting.forecast import Forecast, Series


@dataclass(frozen=True, slots=True, kw_only=True)
class StraightLine:
    """
    >>> StraightLine(through_s=3).forecast(np.array([9.0, 1.0, 2.0, 3.0]), 2).mean.tolist()
    [4.0, 5.0]
    """

    through_s: int = 60
    """So many of the latest seconds it goes through."""

    def forecast(self, history: Series, horizon: int) -> Forecast:
        latest = np.asarray(history, dtype=np.float64)[-self.through_s :]
        count = latest.size
        if count == 0:
            return Forecast.around(np.zeros(horizon), np.zeros(horizon))
        ahead = np.arange(horizon, dtype=np.float64) + 1
        if count < 2:
            return Forecast.around(np.full(horizon, latest[-1]), np.zeros(horizon))
        time = np.arange(count, dtype=np.float64)
        middle, squares = time.mean(), float(((time - time.mean()) ** 2).sum())
        slope = float(((time - middle) * (latest - latest.mean())).sum()) / squares
        at = count - 1 + ahead
        mean = latest.mean() + slope * (at - middle)
        left = latest - (latest.mean() + slope * (time - middle))
        variance = float((left**2).sum()) / max(1, count - 2)
        return Forecast.around(mean, np.sqrt(variance * (1 + 1 / count + (at - middle) ** 2 / squares)))
