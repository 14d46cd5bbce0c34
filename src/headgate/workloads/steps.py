"""Loads that jump from one level to another: step, stair and square."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from headgate.core.options import check_options, option
from headgate.workloads.shape import DEFAULT_PEAK, LONGEST_OPTION_S, LOW_HELP, MOST_RATE, PEAK_HELP, SHORTEST_S, Series


@dataclass(frozen=True, slots=True, kw_only=True)
class Step:
    """One jump between low and peak."""

    name: ClassVar[str] = "step"

    peak: float = option(DEFAULT_PEAK, PEAK_HELP, least=0, most=MOST_RATE)
    low: float = option(0.3, LOW_HELP, least=0, most=1)
    at_s: float = option(1800.0, "when it jumps", least=0, most=LONGEST_OPTION_S)
    down: bool = option(False, "from peak to low instead of from low to peak")

    def __post_init__(self) -> None:
        check_options(self.name, self)

    @property
    def natural_s(self) -> float | None:
        return 2 * self.at_s or None

    def rates(self, times_s: Series) -> Series:
        high = (times_s >= self.at_s) != self.down
        return self.peak * np.where(high, 1.0, self.low)


@dataclass(frozen=True, slots=True, kw_only=True)
class Stair:
    """Equal stairs between low and peak, then level."""

    name: ClassVar[str] = "stair"

    peak: float = option(DEFAULT_PEAK, PEAK_HELP, least=0, most=MOST_RATE)
    low: float = option(0.2, LOW_HELP, least=0, most=1)
    stairs: int = option(5, "number of levels, low and peak among them", least=2, most=10_000)
    width_s: float = option(600.0, "time on each level", least=SHORTEST_S, most=LONGEST_OPTION_S)
    way: str = option("up-down", "which way it leads", choices=("up", "down", "up-down"))

    def __post_init__(self) -> None:
        check_options(self.name, self)

    @property
    def natural_s(self) -> float | None:
        return len(self._levels()) * self.width_s

    def rates(self, times_s: Series) -> Series:
        levels = self._levels()
        # Clipped as floats: an index of an absurdly thin stair would not fit an integer.
        index = np.clip(times_s / self.width_s, 0, len(levels) - 1).astype(np.int64)
        return self.peak * levels[index]

    def _levels(self) -> Series:
        up = np.linspace(self.low, 1.0, self.stairs)
        if self.way == "up":
            return up
        return up[::-1] if self.way == "down" else np.concatenate([up, up[-2::-1]])


@dataclass(frozen=True, slots=True, kw_only=True)
class Square:
    """Jumps to and fro between low and peak, low first."""

    name: ClassVar[str] = "square"

    peak: float = option(DEFAULT_PEAK, PEAK_HELP, least=0, most=MOST_RATE)
    low: float = option(0.2, LOW_HELP, least=0, most=1)
    period_s: float = option(1800.0, "time from one rise to the next", least=SHORTEST_S, most=LONGEST_OPTION_S)
    share: float = option(0.5, "share of a period at the peak", least=0, most=1)

    def __post_init__(self) -> None:
        check_options(self.name, self)

    @property
    def natural_s(self) -> float | None:
        return 2 * self.period_s

    def rates(self, times_s: Series) -> Series:
        passed = np.mod(times_s / self.period_s, 1.0)
        return self.peak * np.where(passed >= 1.0 - self.share, 1.0, self.low)
