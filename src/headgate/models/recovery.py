"""How long until a stream that stood still, or stands still while it is rescaled, has caught up.

Daedalus (Pfister et al., ICPE 2024, section 3.4):

    backlog = records since the last checkpoint, at worst a whole interval, + forecast arrivals during the downtime
    RT      = downtime + the first moment at which Σ (capacity − forecast) exceeds the backlog

The forecast has a value for each second from now on. Capacity that is missing while the forecast is higher
adds to the backlog. Downtimes begin as the paper's guesses, 30 s for growing and 15 s for shrinking, and follow
what is measured (``Downtimes``).

Deviations: lag that is there already can be added to the backlog (``lag_records``); a stream that does not
catch up within the forecast takes for ever (``math.inf``), unless the last value of the forecast, which is then
taken to stay, leaves capacity to spare. An engine that does not stop goes on with its present capacity until what was
asked for has joined (``joining_recovery_s``): what piles up meanwhile is backlog, and that time is part of it.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike


class Direction(StrEnum):
    OUT = "out"
    IN = "in"
    SAME = "same"
    """A failure: the same size starts again."""

    @classmethod
    def of(cls, before: int, after: int) -> Direction:
        return cls.OUT if after > before else cls.IN if after < before else cls.SAME


def recovery_s(
    *,
    capacity: float,
    forecast: ArrayLike,
    downtime_s: float,
    replayed_records: float = 0.0,
    lag_records: float = 0.0,
) -> float:
    """Seconds from the stop until everything that waited is worked off.

    500 records of the last checkpoint interval and 10 s without work leave 1500 records of 100/s; with 50/s to spare
    they take 30 s:

    >>> recovery_s(capacity=150.0, forecast=[100.0] * 60, downtime_s=10.0, replayed_records=500.0)
    40.0
    """
    arrivals = np.asarray(forecast, dtype=np.float64)
    if arrivals.size == 0:
        return math.inf
    arrived = np.concatenate(([0.0], np.cumsum(arrivals)))
    last = float(arrivals[-1])
    down = float(np.interp(downtime_s, np.arange(arrived.size), arrived)) + last * max(0.0, downtime_s - arrivals.size)
    backlog = replayed_records + lag_records + down
    if backlog <= 0:
        return downtime_s
    # The course of the backlog from the restart on, second by second.
    begun = min(math.ceil(downtime_s), arrivals.size)
    spare = capacity - arrivals[begun:]
    if begun > downtime_s:
        part = (begun - downtime_s) * (capacity - float(arrivals[begun - 1]))
        if part >= backlog:
            return downtime_s + backlog / (capacity - float(arrivals[begun - 1]))
        backlog -= part
    gained = np.cumsum(spare)
    caught_up = np.flatnonzero(gained >= backlog)
    start_s = max(downtime_s, float(begun))
    if caught_up.size:
        step = int(caught_up[0])
        before = float(gained[step - 1]) if step else 0.0
        return start_s + step + (backlog - before) / float(spare[step])
    if capacity <= last:
        return math.inf
    left = backlog - (float(gained[-1]) if gained.size else 0.0)
    return start_s + spare.size + left / (capacity - last)


def joining_recovery_s(
    *,
    joining_s: float,
    present_capacity: float,
    capacity: float,
    forecast: ArrayLike,
    downtime_s: float,
    lag_records: float = 0.0,
) -> float:
    """The same of an engine that does not stop: it works as before until new executors have joined.

    For 10 s 20 records/s too many come, and 200 wait when the newcomers join. Their slow batch of 2 s adds 240; with
    60/s to spare that takes 7.3 s more:

    >>> round(joining_recovery_s(
    ...     joining_s=10.0, present_capacity=100.0, capacity=180.0, forecast=[120.0] * 60, downtime_s=2.0
    ... ), 1)
    19.3
    """
    arrivals = np.asarray(forecast, dtype=np.float64)
    if arrivals.size == 0:
        return math.inf
    whole = min(round(joining_s), arrivals.size)
    waiting = lag_records
    for rate in arrivals[:whole]:
        waiting = max(0.0, waiting + float(rate) - present_capacity)
    beyond_s = max(0.0, joining_s - arrivals.size)
    waiting = max(0.0, waiting + beyond_s * (float(arrivals[-1]) - present_capacity))
    left = arrivals[whole:] if whole < arrivals.size else arrivals[-1:]
    rest_s = recovery_s(capacity=capacity, forecast=left, downtime_s=downtime_s, lag_records=waiting)
    return joining_s + rest_s


@dataclass(slots=True)
class Downtimes:
    """How long the stream stands still, by direction and size, learned from what was measured.

    A mean that leans towards the newest, so that a cluster that gets slower is noticed. A size that was never gone
    to is answered with its direction, and a direction that was never taken with the paper's guess.
    """

    out_s: float = 30.0
    in_s: float = 15.0
    newest_weighs: float = 0.5
    _by_size: dict[str, float] = field(default_factory=dict)
    _by_direction: dict[str, float] = field(default_factory=dict)

    def learn(self, before: int, after: int, downtime_s: float) -> None:
        if not (math.isfinite(downtime_s) and downtime_s >= 0):
            return
        direction = Direction.of(before, after)
        for known, key in ((self._by_size, f"{direction}:{after}"), (self._by_direction, str(direction))):
            old = known.get(key)
            known[key] = downtime_s if old is None else old + self.newest_weighs * (downtime_s - old)

    def expect_s(self, before: int, after: int) -> float:
        """
        >>> known = Downtimes()
        >>> known.learn(2, 4, 8.0)
        >>> known.expect_s(2, 4), known.expect_s(2, 5), known.expect_s(4, 2)
        (8.0, 8.0, 15.0)
        """
        direction = Direction.of(before, after)
        known = self._by_size.get(f"{direction}:{after}", self._by_direction.get(str(direction)))
        if known is not None:
            return known
        return self.in_s if direction is Direction.IN else self.out_s

    @property
    def state(self) -> dict[str, Any]:
        return {"sizes": dict(self._by_size), "directions": dict(self._by_direction)}

    @classmethod
    def restored(cls, state: Any, *, out_s: float = 30.0, in_s: float = 15.0) -> Self:
        known = cls(out_s=out_s, in_s=in_s)
        if isinstance(state, Mapping):
            known._by_size = _durations(state.get("sizes"))
            known._by_direction = _durations(state.get("directions"))
        return known


def _durations(state: Any) -> dict[str, float]:
    if not isinstance(state, Mapping):
        return {}
    return {
        str(key): float(value)
        for key, value in state.items()
        if isinstance(value, int | float) and math.isfinite(value) and value >= 0
    }


def replayed(workload: Sequence[float], interval_s: float) -> float:
    """Records of the last so many seconds, of a workload second by second.

    >>> replayed([100.0, 200.0, 300.0], 1.5)
    400.0
    """
    whole = int(interval_s)
    records = sum(workload[len(workload) - min(whole, len(workload)) :])
    if interval_s > whole and len(workload) > whole:
        records += (interval_s - whole) * workload[-1 - whole]
    return float(records)
