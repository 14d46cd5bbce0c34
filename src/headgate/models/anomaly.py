"""When a stream is back to normal after a rescale, told by statistical anomaly detection.

Daedalus (Pfister et al., ICPE 2024, section 3.5) keeps the running mean and variance of workload − throughput. A
difference further than one standard deviation from the mean is anomalous; after a rescale the stream is watched
until it is not any more, and that time is the recovery that was really needed.

Deviation: during recovery nothing is learned, since anomalous differences would become normal ones. Throughput
of micro-batches comes in lumps, so recovery ends when a whole window is normal on average and no lag is left over
(``RecoveryWatch.settled_s``).
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Self

from headgate.models.moments import Moments


@dataclass(slots=True)
class AnomalyModel:
    """What differences between workload and throughput are usual.

    >>> model = AnomalyModel()
    >>> for difference in (-10.0, 10.0, -10.0, 10.0):
    ...     model.learn(difference)
    >>> model.is_anomalous(9.0), model.is_anomalous(11.0), model.is_anomalous(-500.0)
    (False, True, True)
    """

    threshold: float = 1.0
    """In standard deviations."""
    least: int = 2
    """Differences that have to be known before one can be unusual."""
    moments: Moments = field(default_factory=Moments)

    def learn(self, difference: float) -> None:
        if math.isfinite(difference):
            self.moments.learn(difference)

    def is_anomalous(self, difference: float) -> bool:
        if self.moments.count < self.least:
            return False
        return abs(difference - self.moments.mean) > self.threshold * self.moments.deviation

    @property
    def state(self) -> list[float]:
        return self.moments.state

    @classmethod
    def restored(cls, state: Any, **options: Any) -> Self:
        return cls(moments=Moments.restored(state), **options)


@dataclass(slots=True)
class RecoveryWatch:
    """One rescale, watched until the stream is normal again."""

    began_s: float
    settled_s: float = 10.0
    """So long it must have been normal; this time does not count as recovery."""
    limit_s: float = 3600.0
    """When to give up: what takes longer is no recovery."""
    normal_since_s: float | None = None

    def look(self, time_s: float, *, anomalous: bool) -> float | None:
        """The recovery time, as soon as it is known; ``math.inf`` when it was given up.

        >>> watch = RecoveryWatch(began_s=100.0)
        >>> [watch.look(time_s, anomalous=time_s < 130.0) for time_s in (110.0, 130.0, 135.0, 140.0)]
        [None, None, None, 30.0]
        """
        if anomalous:
            self.normal_since_s = None
        elif self.normal_since_s is None:
            self.normal_since_s = time_s
        if self.normal_since_s is not None and time_s - self.normal_since_s >= self.settled_s:
            return self.normal_since_s - self.began_s
        return math.inf if time_s - self.began_s > self.limit_s else None

    @property
    def state(self) -> dict[str, Any]:
        return {"began_s": self.began_s, "normal_since_s": self.normal_since_s}

    @classmethod
    def restored(cls, state: Any, **options: Any) -> Self | None:
        if not isinstance(state, Mapping) or not isinstance(state.get("began_s"), int | float):
            return None
        normal = state.get("normal_since_s")
        return cls(
            began_s=float(state["began_s"]),
            normal_since_s=float(normal) if isinstance(normal, int | float) else None,
            **options,
        )
