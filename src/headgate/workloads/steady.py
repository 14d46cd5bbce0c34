"""Loads that change slowly or not at all: constant and ramp."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from headgate.core.options import check_options, option
from headgate.workloads.shape import DEFAULT_PEAK, LONGEST_OPTION_S, LOW_HELP, MOST_RATE, PEAK_HELP, SHORTEST_S, Series


@dataclass(frozen=True, slots=True, kw_only=True)
class Constant:
    """The same rate for ever."""

    name: ClassVar[str] = "constant"

    rate: float = option(DEFAULT_PEAK, "records/s", least=0, most=MOST_RATE)

    def __post_init__(self) -> None:
        check_options(self.name, self)

    @property
    def natural_s(self) -> float | None:
        return None

    def rates(self, times_s: Series) -> Series:
        return np.full(len(times_s), self.rate)


@dataclass(frozen=True, slots=True, kw_only=True)
class Ramp:
    """A straight line between low and peak, then level."""

    name: ClassVar[str] = "ramp"

    peak: float = option(DEFAULT_PEAK, PEAK_HELP, least=0, most=MOST_RATE)
    low: float = option(0.1, LOW_HELP, least=0, most=1)
    over_s: float = option(3600.0, "how long the line takes", least=SHORTEST_S, most=LONGEST_OPTION_S)
    down: bool = option(False, "from peak to low instead of from low to peak")

    def __post_init__(self) -> None:
        check_options(self.name, self)

    @property
    def natural_s(self) -> float | None:
        return self.over_s

    def rates(self, times_s: Series) -> Series:
        climbed = np.clip(times_s / self.over_s, 0.0, 1.0)
        share = 1.0 - climbed if self.down else climbed
        return self.peak * (self.low + (1.0 - self.low) * share)
