"""What Daedalus knows from one tick to the next, as JSON and back."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Self

from headgate.models.anomaly import AnomalyModel, RecoveryWatch
from headgate.models.capacity import CapacityModel
from headgate.models.recovery import Downtimes
from headgate.policies.foresight import ForesightMemory, numbers

_NEWEST_WEIGHS = 0.3
UNSET = -1.0
"""Of a time or duration that is not known."""


@dataclass(slots=True, kw_only=True)
class Memory:
    """What it knows from one tick to the next."""

    capacity: CapacityModel
    downtimes: Downtimes
    anomaly: AnomalyModel
    watch: RecoveryWatch | None
    watched: list[float]
    """Sizes before and after the rescale that is watched, and the recovery time that was predicted."""
    foresight: ForesightMemory
    size: int | None
    time_s: float
    rescaled_s: float
    joining_s: float
    """How long executors take from being asked for until they have joined."""

    def joined(self, after_s: float) -> None:
        """A mean that leans towards the newest."""
        known = self.joining_s
        self.joining_s = after_s if known < 0 else known + _NEWEST_WEIGHS * (after_s - known)

    @property
    def state(self) -> dict[str, Any]:
        return {
            "capacity": self.capacity.state,
            "downtimes": self.downtimes.state,
            "anomaly": self.anomaly.state,
            "watch": None if self.watch is None else self.watch.state,
            "watched": self.watched,
            **self.foresight.state,
            "size": self.size,
            "time_s": self.time_s,
            "rescaled_s": self.rescaled_s,
            "joining_s": self.joining_s,
        }

    @classmethod
    def restored(
        cls, known: Mapping[str, Any], *, ignored_s: float, longest_batch_s: float, out_s: float, in_s: float
    ) -> Self:
        """From what the last tick left; anything else in it is forgotten."""
        watched, size = numbers(known.get("watched")), known.get("size")
        return cls(
            capacity=CapacityModel.restored(
                known.get("capacity"), ignored_s=ignored_s, longest_batch_s=longest_batch_s
            ),
            downtimes=Downtimes.restored(known.get("downtimes"), out_s=out_s, in_s=in_s),
            anomaly=AnomalyModel.restored(known.get("anomaly")),
            watch=RecoveryWatch.restored(known.get("watch")),
            watched=watched if len(watched) == 3 else [],
            foresight=ForesightMemory.restored(known),
            size=size if isinstance(size, int) else None,
            time_s=_time(known.get("time_s")),
            rescaled_s=_time(known.get("rescaled_s")),
            joining_s=_time(known.get("joining_s")),
        )


def _time(value: Any) -> float:
    return float(value) if isinstance(value, int | float) and math.isfinite(value) else UNSET
