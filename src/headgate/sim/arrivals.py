"""The curve of records that arrive at an app from outside."""

from __future__ import annotations

from itertools import starmap
from typing import Any

import numpy as np

from headgate.core.sample import ArrivalPoint
from headgate.errors import UserMistake

Cumulative = np.ndarray[Any, np.dtype[Any]]
"""Records that have arrived in all by second 0, 1, 2, …"""


class ArrivalCurve:
    """Records that have arrived by each second; evenly within a second, none after the last.

    >>> curve = ArrivalCurve(np.array([0.0, 10.0, 30.0]))
    >>> curve.at(1.5)
    20.0
    >>> curve.points(0.0, 1.5)
    (ArrivalPoint(time_s=1.0, records=10.0), ArrivalPoint(time_s=1.5, records=20.0))
    """

    def __init__(self, cumulative: Cumulative, *, share: float = 1.0) -> None:
        values = np.asarray(cumulative, dtype=np.float64)
        if values.ndim != 1 or len(values) == 0 or not np.isfinite(values).all():
            raise UserMistake("the arrivals are not a curve; give one finite count for each second, from second 0")
        if values[0] < 0 or (np.diff(values) < 0).any():
            raise UserMistake("the arrivals decrease; give the records that have arrived in all by each second")
        self.values: list[float] = (values * share).tolist()
        self.last = len(self.values) - 1
        self.total: float = self.values[-1]
        self._points = tuple(starmap(ArrivalPoint, zip(map(float, range(self.last + 1)), self.values, strict=True)))

    def at(self, time_s: float) -> float:
        second = int(time_s)
        if second >= self.last:
            return self.total
        before: float = self.values[second]
        return before + (time_s - second) * (self.values[second + 1] - before)

    def points(self, after_s: float, now_s: float) -> tuple[ArrivalPoint, ...]:
        """One point a second after that moment; the last is now."""
        whole = self._points[int(after_s) + 1 if after_s >= 0 else 0 : int(now_s) + 1]
        if whole and whole[-1].time_s == now_s:
            return whole
        return (*whole, ArrivalPoint(now_s, self.at(now_s)))
