"""How closely the supply of executors followed the demand: the elasticity metrics of SPEC.

Demand and supply are step functions of time, observed for a period T:

    accuracy_U = Σ_U / T,  accuracy_O = Σ_O / T      areas of demand above supply, and of supply above demand
    timeshare_U = Σ_A / T, timeshare_O = Σ_B / T     time spent in either state
    jitter = (E_S − E_D) / T                         units by which supply changed, less those of demand
    excess time = (P_t − I_t) / T                    time to finish what was buffered when the input ended

Lower is better for all of them; jitter may be negative and is best at 0.
Herbst et al., "Ready for Rain? A View from SPEC Research on the Future of Cloud Metrics", 2016; excess time as in
Gesscale (Kulkarni et al.), where I_t is when an ideal scaler finishes and P_t when the actual one does.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

Series = NDArray[np.float64]


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class StepFunction:
    """Values that each hold until the next one's time, the last for ever.

    >>> StepFunction.of([(0, 1), (5, 3)]).at(np.array([0.0, 4.9, 5.0])).tolist()
    [1.0, 1.0, 3.0]
    """

    times_s: Series
    """Not decreasing; before the first, the first value holds. Of equal times the last counts."""
    values: Series

    @classmethod
    def of(cls, steps: Iterable[tuple[float, float]]) -> StepFunction:
        pairs = np.array(list(steps), dtype=np.float64).reshape(-1, 2)
        return cls(times_s=pairs[:, 0], values=pairs[:, 1])

    def at(self, times_s: Series) -> Series:
        index = np.maximum(np.searchsorted(self.times_s, times_s, side="right") - 1, 0)
        chosen: Series = self.values[index]
        return chosen

    def mean(self, start_s: float, end_s: float) -> float:
        """Time-weighted mean; the value itself where no time passes."""
        edges = self._edges(start_s, end_s)
        if len(edges) < 2:
            return float(self.at(np.array([start_s]))[0])
        return float(np.dot(self.at(edges[:-1]), np.diff(edges)) / (end_s - start_s))

    def changed_units(self, start_s: float, end_s: float) -> float:
        """By how many units it changed, in sum."""
        return float(np.abs(np.diff(self.at(self._edges(start_s, end_s)))).sum())

    def _edges(self, start_s: float, end_s: float) -> Series:
        inside = self.times_s[(self.times_s > start_s) & (self.times_s < end_s)]
        return np.unique(np.concatenate([[start_s], inside, [end_s]]))


@dataclass(frozen=True, slots=True, kw_only=True)
class Provisioning:
    """SPEC's four figures of one run."""

    accuracy_o: float
    accuracy_u: float
    timeshare_o: float
    timeshare_u: float


def provisioning(demand: StepFunction, supply: StepFunction, *, start_s: float, end_s: float) -> Provisioning | None:
    """How much and how long supply was above and below demand; ``None`` where no time passed."""
    if end_s <= start_s:
        return None
    edges = np.unique(np.concatenate([demand._edges(start_s, end_s), supply._edges(start_s, end_s)]))
    widths = np.diff(edges) / (end_s - start_s)
    above = supply.at(edges[:-1]) - demand.at(edges[:-1])
    return Provisioning(
        accuracy_o=float(np.dot(np.maximum(above, 0.0), widths)),
        accuracy_u=float(np.dot(np.maximum(-above, 0.0), widths)),
        timeshare_o=float(widths[above > 0].sum()),
        timeshare_u=float(widths[above < 0].sum()),
    )


def jitter(demand: StepFunction, supply: StepFunction, *, start_s: float, end_s: float) -> float | None:
    """Units per second by which supply changed more (or less) than demand."""
    if end_s <= start_s:
        return None
    return (supply.changed_units(start_s, end_s) - demand.changed_units(start_s, end_s)) / (end_s - start_s)


def excess_time(*, actual_s: float, ideal_s: float, duration_s: float) -> float | None:
    """Time after the ideal end that the actual run needed, as a share of the run."""
    return max(0.0, actual_s - ideal_s) / duration_s if duration_s > 0 else None
