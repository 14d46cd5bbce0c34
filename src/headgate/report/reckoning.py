"""What a policy reckoned with, tick by tick: the load that it foresaw, and what it took its executors to carry.

Read from the reasons of its decisions: a forecast says its ``peak``, and a capacity its ``rate`` with the ends
between which it probably is. Policies that say neither have nothing to draw.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from headgate.core.decision import Tick
from headgate.report.axes import Floats

_FORECAST = "forecast-"
_CAPACITY = "capacity"
_COLUMNS = 5


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Reckoning:
    """Series by tick; NaN is unknown."""

    times: Floats
    foreseen: Floats
    """The highest rate foreseen."""
    capacity: Floats
    """Of the executors that were there."""
    low: Floats
    high: Floats

    @property
    def said(self) -> bool:
        return bool(np.isfinite(self.foreseen).any() or np.isfinite(self.capacity).any())


@dataclass(slots=True)
class Reckoned:
    """Looks at ticks while somebody else reads them."""

    started_s: float
    _rows: list[tuple[float, ...]] = field(default_factory=list)

    def watching(self, ticks: Iterable[Tick]) -> Iterator[Tick]:
        for tick in ticks:
            self._rows.append((tick.time_s - self.started_s, *_said(tick)))
            yield tick

    @property
    def reckoning(self) -> Reckoning:
        rows = np.array(self._rows, dtype=np.float64).reshape(-1, _COLUMNS)
        return Reckoning(times=rows[:, 0], foreseen=rows[:, 1], capacity=rows[:, 2], low=rows[:, 3], high=rows[:, 4])


def _said(tick: Tick) -> tuple[float, float, float, float]:
    foreseen = capacity = low = high = math.nan
    for reason in tick.decision.reasons:
        if reason.code.startswith(_FORECAST):
            foreseen = _number(reason.inputs.get("peak"))
        elif reason.code == _CAPACITY:
            capacity, low, high = (_number(reason.inputs.get(key)) for key in ("rate", "low", "high"))
    return foreseen, capacity, low, high


def _number(value: Any) -> float:
    return float(value) if isinstance(value, int | float) else math.nan
