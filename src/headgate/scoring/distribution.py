"""Distributions made of pieces, each spread evenly over a range and weighted by records.

Latencies of the records between two known moments lie on a line, so their distribution is a sum of
uniform pieces and its quantiles are exact, without looking at single records.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from headgate.core.evaluation import Spread

Series = NDArray[np.float64]

_NARROW = 1e-6
"""Ranges below this are points: dividing by them would cost more precision than it brings."""


@dataclass(frozen=True, slots=True, eq=False)
class Distribution:
    """The cumulative weight as straight lines and jumps between knots."""

    knots: Series
    below: Series
    """Weight at or below each knot; a jump has its knot twice."""
    mean: float
    max: float

    @classmethod
    def of(cls, low: Series, high: Series, weight: Series) -> Distribution | None:
        """``None`` when there is no weight.

        >>> halves = Distribution.of(np.array([0.0, 4.0]), np.array([2.0, 4.0]), np.array([1.0, 1.0]))
        >>> halves.quantile(0.25), halves.mean, halves.share_above(1.0)
        (1.0, 2.5, 0.75)
        """
        heavy = weight > 0
        low, high, weight = low[heavy], high[heavy], weight[heavy]
        if not len(weight):
            return None
        point = high - low < _NARROW
        wide = ~point
        slope = weight[wide] / (high[wide] - low[wide])
        nothing = np.zeros(len(slope))
        places = np.concatenate([low[wide], high[wide], high[point]])
        order = np.argsort(places)
        places = places[order]
        slopes = np.cumsum(np.concatenate([slope, -slope, np.zeros(int(point.sum()))])[order])
        jumps = np.concatenate([nothing, nothing, weight[point]])[order]
        grown = np.concatenate([[0.0], np.cumsum(np.maximum(slopes[:-1], 0.0) * np.diff(places))])
        after = grown + np.cumsum(jumps)
        below = np.maximum.accumulate(np.column_stack([after - jumps, after]).ravel())
        total = float(weight.sum())
        return cls(
            knots=np.repeat(places, 2),
            below=below * (total / below[-1]),
            mean=float(np.dot(weight, (low + high) / 2) / total),
            max=float(high.max()),
        )

    @property
    def weight(self) -> float:
        return float(self.below[-1])

    def quantile(self, share: float) -> float:
        wanted = share * self.weight
        # The first knot that reaches it, so that a share that ends at a jump does not reach over to the next one.
        at = int(np.searchsorted(self.below, wanted - 1e-9 * self.weight, side="left"))
        if at == 0:
            return float(self.knots[0])
        return float(np.interp(wanted, self.below[at - 1 : at + 1], self.knots[at - 1 : at + 1]))

    def weight_until(self, places: Series) -> Series:
        """Weight at or below each of these places."""
        return np.interp(places, self.knots, self.below, left=0.0)

    def share_above(self, place: float) -> float:
        return 1.0 - float(self.weight_until(np.array([place]))[0]) / self.weight

    def spread(self) -> Spread:
        p50, p95, p99 = (self.quantile(share) for share in (0.50, 0.95, 0.99))
        return Spread(mean=self.mean, p50=p50, p95=p95, p99=p99, max=self.max)
