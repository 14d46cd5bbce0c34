"""How fast partitions are written to, from looks at how much has been written: three ways to tell.

``window`` is that of the consumer-group autoscaler (section 4.2): the difference between the newest look and the oldest
of the last 30 s. It follows a step in 30 s and hardly sees noise. ``exponential`` weighs what came long ago less and
less; ``trend`` draws a line through the speeds of the window's thirds and tells where it is now, so it follows a step
sooner and sees more of the noise.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections import deque
from collections.abc import Mapping
from typing import Any, Generic, TypeVar

from headgate.errors import UserMistake, nearest

K = TypeVar("K")


class SpeedEstimator(ABC, Generic[K]):
    """Looks in, speeds out; of one measure, bytes or records, of many partitions."""

    def __init__(self, *, window_s: float = 30.0) -> None:
        if not window_s > 0:
            raise UserMistake(f"a window of {window_s:g} s is not possible; give a positive one")
        self.window_s = window_s

    @abstractmethod
    def look(self, time_s: float, written: Mapping[K, float]) -> None:
        """How much has been written to each partition by now; only ever grows."""

    @abstractmethod
    def speeds(self) -> dict[K, float]:
        """Per second, of the partitions that have been looked at twice."""


class WindowSpeeds(SpeedEstimator[K]):
    """
    >>> window = WindowSpeeds(window_s=30.0)
    >>> for second in range(0, 41, 10):
    ...     window.look(second, {"a-0": 100.0 * second})
    >>> window.speeds()
    {'a-0': 100.0}
    """

    def __init__(self, *, window_s: float = 30.0) -> None:
        super().__init__(window_s=window_s)
        self._looks: deque[tuple[float, dict[K, float]]] = deque()

    def look(self, time_s: float, written: Mapping[K, float]) -> None:
        if self._looks and time_s <= self._looks[-1][0]:
            return
        self._looks.append((time_s, dict(written)))
        # The look before the window's start stays, so that the window is always covered.
        while len(self._looks) > 2 and self._looks[1][0] <= time_s - self.window_s:
            self._looks.popleft()

    def speeds(self) -> dict[K, float]:
        return {} if not self._looks else self._between(0.0, math.inf)

    def _between(self, since_s: float, until_s: float) -> dict[K, float]:
        """Between the first look after one moment and the last before another, for each partition."""
        first: dict[K, tuple[float, float]] = {}
        last: dict[K, tuple[float, float]] = {}
        for time_s, written in self._looks:
            if since_s <= time_s <= until_s:
                for partition, amount in written.items():
                    first.setdefault(partition, (time_s, amount))
                    last[partition] = (time_s, amount)
        newest = self._looks[-1][1]
        return {
            partition: (last[partition][1] - amount) / (last[partition][0] - time_s)
            for partition, (time_s, amount) in first.items()
            if last[partition][0] > time_s and partition in newest
        }


class ExponentialSpeeds(SpeedEstimator[K]):
    """Each look's speed, weighed by e^(−age ÷ a third of the window).

    >>> fast = ExponentialSpeeds(window_s=30.0)
    >>> for second in range(0, 61):
    ...     fast.look(second, {"a-0": 100.0 * second})
    >>> round(fast.speeds()["a-0"], 6)
    100.0
    """

    def __init__(self, *, window_s: float = 30.0) -> None:
        super().__init__(window_s=window_s)
        self._seen: dict[K, tuple[float, float]] = {}
        self._speeds: dict[K, float] = {}

    def look(self, time_s: float, written: Mapping[K, float]) -> None:
        for partition, amount in written.items():
            before = self._seen.get(partition)
            if before is not None and time_s <= before[0]:
                continue
            self._seen[partition] = (time_s, amount)
            if before is None:
                continue
            span_s = time_s - before[0]
            speed, known = (amount - before[1]) / span_s, self._speeds.get(partition)
            weight = 1.0 - math.exp(-3.0 * span_s / self.window_s)
            self._speeds[partition] = speed if known is None else known + weight * (speed - known)
        for partition in self._seen.keys() - written.keys():
            del self._seen[partition]
            self._speeds.pop(partition, None)

    def speeds(self) -> dict[K, float]:
        return dict(self._speeds)


class TrendSpeeds(WindowSpeeds[K]):
    """The speeds of the three thirds of the window, and the line through them, followed to now; never below zero.

    With speeds s1, s2, s3 at the middles of the thirds, the line of least squares is at the window's end at
    (s1 + s2 + s3) ÷ 3 + 3 (s3 − s1) ÷ 4. Before the window is full it is the speed since the first look.

    >>> trend = TrendSpeeds(window_s=30.0)
    >>> for second in range(0, 31):
    ...     trend.look(second, {"a-0": 50.0 * second})
    >>> trend.speeds()
    {'a-0': 50.0}
    """

    def speeds(self) -> dict[K, float]:
        whole = super().speeds()
        if not self._looks or self._looks[-1][0] - self._looks[0][0] < self.window_s - 1e-9:
            return whole
        now_s, third_s = self._looks[-1][0], self.window_s / 3
        thirds = [self._between(now_s - (3 - part) * third_s, now_s - (2 - part) * third_s) for part in range(3)]
        found = {}
        for partition, speed in whole.items():
            parts = [third.get(partition) for third in thirds]
            if any(part is None for part in parts):
                found[partition] = speed
                continue
            early, middle, late = (part or 0.0 for part in parts)
            # Beyond the latest third only as far as the change from the middle one reaches: a step is no trend.
            told = (early + middle + late) / 3 + 0.75 * (late - early)
            found[partition] = max(0.0, min(max(told, min(middle, late)), max(middle, late)))
        return found


ESTIMATORS: dict[str, type[SpeedEstimator[Any]]] = {
    "exponential": ExponentialSpeeds,
    "trend": TrendSpeeds,
    "window": WindowSpeeds,
}


def make_estimator(name: str, *, window_s: float = 30.0) -> SpeedEstimator[Any]:
    if name not in ESTIMATORS:
        raise UserMistake(f"there is no estimator of speeds '{name}'{nearest(name, ESTIMATORS)}")
    return ESTIMATORS[name](window_s=window_s)
