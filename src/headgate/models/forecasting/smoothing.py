"""Exponential smoothing with a damped trend (Holt 1957; Gardner and McKenzie 1985).

level ← α · rate + (1 − α) · (level + φ · trend)
trend ← β · (level − old level) + (1 − β) · φ · trend
k seconds ahead: level + (φ + φ² + … + φᵏ) · trend
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from headgate.models.forecasting.forecast import Forecast, Series

_REMEMBERED = 10.0
"""Older than so many times 1 ÷ the smallest factor, a rate weighs nothing any more."""


@dataclass(frozen=True, slots=True, kw_only=True)
class HoltSmoothing:
    """
    >>> HoltSmoothing(level=1.0, trend=1.0, damping=1.0).forecast(np.array([1.0, 2.0, 4.0]), 2).mean.tolist()
    [6.0, 8.0]
    """

    level: float = 0.1
    """α: how much the newest rate weighs in the level."""
    trend: float = 0.02
    """β: how much the newest step weighs in the trend."""
    damping: float = 0.998
    """φ: what is left of the trend after a second."""

    def forecast(self, history: Series, horizon: int) -> Forecast:
        longest = int(_REMEMBERED / max(1e-6, min(self.level, self.trend)))
        known = np.asarray(history, dtype=np.float64)[-longest:].tolist()
        if not known:
            return Forecast.around(np.zeros(horizon), np.zeros(horizon))
        level, trend, squares = known[0], 0.0, 0.0
        for rate in known[1:]:
            expected = level + self.damping * trend
            squares += (rate - expected) ** 2
            new = self.level * rate + (1 - self.level) * expected
            trend = self.trend * (new - level) + (1 - self.trend) * self.damping * trend
            level = new
        ahead = np.cumsum(self.damping ** (np.arange(horizon) + 1.0))
        # Of a step that was wrong, this much is still in the forecast so many seconds later.
        kept = self.level * (1 + self.trend * np.concatenate(([0.0], ahead[:-1])))
        variance = squares / max(1, len(known) - 1)
        grown = 1 + np.concatenate(([0.0], np.cumsum(kept[1:] ** 2)))
        return Forecast.around(level + ahead * trend, np.sqrt(variance * grown))
