"""Loads that come and go smoothly: sine and the rhythm of a week."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from headgate.core.options import check_options, option
from headgate.workloads.shape import DEFAULT_PEAK, LONGEST_OPTION_S, LOW_HELP, MOST_RATE, PEAK_HELP, SHORTEST_S, Series

_QUIETEST = 4 / 24
"""Share of a day that has passed when it is quietest: four in the morning."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Sine:
    """A sine between low and peak; begins in the middle and rises."""

    name: ClassVar[str] = "sine"

    peak: float = option(DEFAULT_PEAK, PEAK_HELP, least=0, most=MOST_RATE)
    low: float = option(0.1, LOW_HELP, least=0, most=1)
    period_s: float = option(3600.0, "time from crest to crest", least=SHORTEST_S, most=LONGEST_OPTION_S)
    phase: float = option(0.0, "share of a period by which it is ahead: 0.75 begins at low", least=0, most=1)

    def __post_init__(self) -> None:
        check_options(self.name, self)

    @property
    def natural_s(self) -> float | None:
        return 2 * self.period_s

    def rates(self, times_s: Series) -> Series:
        turns = np.mod(times_s / self.period_s + self.phase, 1.0)
        share = 0.5 + 0.5 * np.sin(2 * np.pi * turns)
        return self.peak * (self.low + (1.0 - self.low) * share)


@dataclass(frozen=True, slots=True, kw_only=True)
class Weekly:
    """A week from Monday's midnight: busy afternoons, quiet nights, weaker weekends."""

    name: ClassVar[str] = "weekly"

    peak: float = option(DEFAULT_PEAK, PEAK_HELP, least=0, most=MOST_RATE)
    low: float = option(0.2, LOW_HELP + ", at four in the morning", least=0, most=1)
    weekend: float = option(0.6, "how much of a weekday's swing Saturday and Sunday have", least=0, most=1)
    day_s: float = option(
        86400.0, "length of a day; shorter days make a week to try out", least=SHORTEST_S, most=LONGEST_OPTION_S
    )

    def __post_init__(self) -> None:
        check_options(self.name, self)

    @property
    def natural_s(self) -> float | None:
        return 7 * self.day_s

    def rates(self, times_s: Series) -> Series:
        days = np.mod(times_s / self.day_s, 7.0)
        daily = 0.5 - 0.5 * np.cos(2 * np.pi * (days - _QUIETEST))
        # The change between weekday and weekend takes a night, from 20:00 to noon, so that midnight is not a jump.
        midnight = self.weekend + (1.0 - self.weekend) / 4
        strength = np.interp(
            days,
            [0.0, 0.5, 4 + 20 / 24, 5.5, 6 + 20 / 24, 7.0],
            [midnight, 1.0, 1.0, self.weekend, self.weekend, midnight],
        )
        return self.peak * (self.low + (1.0 - self.low) * daily * strength)
