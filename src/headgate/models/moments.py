"""Running moments of numbers that are seen once and not kept.

Welford's updates (Technometrics 4(3), 1962), as Daedalus uses them (Pfister et al., ICPE 2024, sections 3.1 and
3.5). With n numbers seen and a new one x:

    mean ← mean + (x − mean) ÷ n                M2 ← M2 + (x − old mean) · (x − new mean)

and for pairs, with the old mean of x and the new one of y:

    C ← C + (x − old mean of x) · (y − new mean of y)

Variances and covariances are those of the numbers seen (divided by n): in the slope of a regression the divisor
cancels out.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Self


@dataclass(slots=True)
class Moments:
    """Mean and variance of numbers.

    >>> seen = Moments()
    >>> for number in (2.0, 4.0, 9.0):
    ...     seen.learn(number)
    >>> seen.mean, round(seen.variance, 3)
    (5.0, 8.667)
    """

    count: int = 0
    mean: float = 0.0
    squares: float = 0.0
    """Sum of squared distances from the mean."""

    def learn(self, number: float) -> None:
        self.count += 1
        away = number - self.mean
        self.mean += away / self.count
        self.squares += away * (number - self.mean)

    @property
    def variance(self) -> float:
        return self.squares / self.count if self.count else 0.0

    @property
    def deviation(self) -> float:
        return math.sqrt(max(0.0, self.variance))

    @property
    def state(self) -> list[float]:
        return [self.count, self.mean, self.squares]

    @classmethod
    def restored(cls, state: Any) -> Self:
        """As it was; a new one from anything that is no state."""
        numbers = _numbers(state, 3)
        return cls() if numbers is None else cls(int(numbers[0]), *numbers[1:])


@dataclass(slots=True)
class PairMoments:
    """Means, variances and covariance of pairs, and so the straight line through them.

    >>> seen = PairMoments()
    >>> for x, y in ((0.2, 300.0), (0.4, 500.0), (0.6, 700.0)):
    ...     seen.learn(x, y)
    >>> round(seen.slope or 0.0, 6), round(seen.at(1.0) or 0.0, 6)
    (1000.0, 1100.0)
    """

    count: int = 0
    mean_x: float = 0.0
    mean_y: float = 0.0
    squares_x: float = 0.0
    squares_y: float = 0.0
    products: float = 0.0

    def learn(self, x: float, y: float) -> None:
        self.count += 1
        away_x, away_y = x - self.mean_x, y - self.mean_y
        self.mean_x += away_x / self.count
        self.mean_y += away_y / self.count
        self.squares_x += away_x * (x - self.mean_x)
        self.squares_y += away_y * (y - self.mean_y)
        self.products += away_x * (y - self.mean_y)

    @property
    def deviation_x(self) -> float:
        return math.sqrt(max(0.0, self.squares_x) / self.count) if self.count else 0.0

    @property
    def slope(self) -> float | None:
        """cov(x, y) ÷ var(x); ``None`` where all x are the same."""
        return self.products / self.squares_x if self.squares_x > 0 else None

    def at(self, x: float) -> float | None:
        """mean(y) + slope · (x − mean(x))."""
        slope = self.slope
        return None if slope is None else self.mean_y + slope * (x - self.mean_x)

    def where(self, y: float) -> float | None:
        """The x at which the line comes to y; ``None`` where it stays level."""
        slope = self.slope
        return None if not slope else self.mean_x + (y - self.mean_y) / slope

    def error_at(self, x: float) -> float | None:
        """Standard error of the line at x; ``None`` with fewer than three points, or all x the same."""
        if self.count < 3 or self.squares_x <= 0:
            return None
        left = max(0.0, self.squares_y - self.products * self.products / self.squares_x)
        away = x - self.mean_x
        return math.sqrt(left / (self.count - 2) * (1 / self.count + away * away / self.squares_x))

    @property
    def state(self) -> list[float]:
        return [self.count, self.mean_x, self.mean_y, self.squares_x, self.squares_y, self.products]

    @classmethod
    def restored(cls, state: Any) -> Self:
        """As it was; a new one from anything that is no state."""
        numbers = _numbers(state, 6)
        return cls() if numbers is None else cls(int(numbers[0]), *numbers[1:])


def _numbers(state: Any, count: int) -> list[float] | None:
    if not isinstance(state, Sequence) or isinstance(state, str) or len(state) != count:
        return None
    try:
        numbers = [float(number) for number in state]
    except (TypeError, ValueError, OverflowError):
        return None
    return numbers if all(map(math.isfinite, numbers)) and numbers[0] >= 0 else None
