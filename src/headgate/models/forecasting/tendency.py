"""Level and drift of all rates so far, in one pass and without keeping them.

With windows of rates that follow each other, the first with mean r₁ around t₁ and the latest with mean rₙ around tₙ:

    level = mean of all rₖ        drift = (rₙ − r₁) ÷ (tₙ − t₁)

which is the mean of all differences between neighbours, told by their two ends.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Self

import numpy as np

from headgate.models.forecasting.forecast import Series


@dataclass(slots=True)
class Tendency:
    """
    >>> seen = Tendency()
    >>> for time_s, rates in ((2.0, [10.0, 12.0]), (4.0, [20.0, 22.0]), (6.0, [14.0, 16.0])):
    ...     seen.learn(time_s, np.array(rates))
    >>> round(seen.level, 2), seen.drift
    (15.67, 1.0)
    """

    windows: int = 0
    mean: float = 0.0
    began_s: float = 0.0
    first: float = 0.0
    latest_s: float = 0.0
    latest: float = 0.0

    def learn(self, time_s: float, rates: Series) -> None:
        """The rates of the seconds up to now; what is not later than what is known is left out."""
        middle_s = time_s - rates.size / 2
        if not rates.size or not math.isfinite(middle_s) or (self.windows and middle_s <= self.latest_s):
            return
        self.latest_s, self.latest = middle_s, float(rates.mean())
        if not self.windows:
            self.began_s, self.first = self.latest_s, self.latest
        self.windows += 1
        self.mean += (self.latest - self.mean) / self.windows

    @property
    def level(self) -> float | None:
        return self.mean if self.windows else None

    @property
    def drift(self) -> float | None:
        """By how much the rate grows a second; one window has none."""
        return (self.latest - self.first) / (self.latest_s - self.began_s) if self.windows > 1 else None

    @property
    def state(self) -> list[float]:
        return [self.windows, self.mean, self.began_s, self.first, self.latest_s, self.latest]

    @classmethod
    def restored(cls, state: Any) -> Self:
        """As it was; a new one from anything that is no state."""
        if not isinstance(state, Sequence) or isinstance(state, str) or len(state) != len(cls().state):
            return cls()
        try:
            windows, *numbers = (float(number) for number in state)
        except (TypeError, ValueError, OverflowError):
            return cls()
        possible = all(map(math.isfinite, (windows, *numbers))) and windows >= 0
        return cls(int(windows), *numbers) if possible else cls()

    @classmethod
    def of(cls, rates: Series, *, window_s: int = 60) -> Self:
        """Of a history of rates, one a second."""
        seen = cls()
        for end in range(min(window_s, rates.size), rates.size + 1, window_s):
            seen.learn(float(end), np.asarray(rates[max(0, end - window_s) : end], dtype=np.float64))
        return seen
