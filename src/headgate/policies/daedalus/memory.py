"""What Daedalus knows from one tick to the next, as JSON and back."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Self

from headgate.models.anomaly import AnomalyModel, RecoveryWatch
from headgate.models.capacity import CapacityModel
from headgate.models.forecasting.arima import Arima
from headgate.models.recovery import Downtimes

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
    model: Arima | None
    told: list[float]
    """What was forecast for the coming period."""
    poor: int
    """Forecasts in a row that were."""
    size: int | None
    time_s: float
    rescaled_s: float
    asked: bool
    """Whether a training is under way."""
    rest: int
    """Loops to wait after a training that failed."""

    @property
    def state(self) -> dict[str, Any]:
        return {
            "capacity": self.capacity.state,
            "downtimes": self.downtimes.state,
            "anomaly": self.anomaly.state,
            "watch": None if self.watch is None else self.watch.state,
            "watched": self.watched,
            "model": None if self.model is None else self.model.state,
            "told": self.told,
            "poor": self.poor,
            "size": self.size,
            "time_s": self.time_s,
            "rescaled_s": self.rescaled_s,
            "asked": self.asked,
            "rest": self.rest,
        }

    @classmethod
    def restored(cls, known: Mapping[str, Any], *, ignored_s: float, out_s: float, in_s: float) -> Self:
        """From what the last tick left; anything else in it is forgotten."""
        told, watched = (_numbers(known.get(name)) for name in ("told", "watched"))
        size, poor, rest = (known.get(name) for name in ("size", "poor", "rest"))
        return cls(
            capacity=CapacityModel.restored(known.get("capacity"), ignored_s=ignored_s),
            downtimes=Downtimes.restored(known.get("downtimes"), out_s=out_s, in_s=in_s),
            anomaly=AnomalyModel.restored(known.get("anomaly")),
            watch=RecoveryWatch.restored(known.get("watch")),
            watched=watched if len(watched) == 3 else [],
            model=Arima.restored(known.get("model")),
            told=told,
            poor=poor if isinstance(poor, int) else 0,
            size=size if isinstance(size, int) else None,
            time_s=_time(known.get("time_s")),
            rescaled_s=_time(known.get("rescaled_s")),
            asked=known.get("asked") is True,
            rest=rest if isinstance(rest, int) else 0,
        )


def _numbers(value: Any) -> list[float]:
    try:
        numbers = [UNSET if number is None else float(number) for number in value]
    except (TypeError, ValueError, OverflowError):
        return []
    return numbers if all(map(math.isfinite, numbers)) else []


def _time(value: Any) -> float:
    return float(value) if isinstance(value, int | float) and math.isfinite(value) else UNSET
