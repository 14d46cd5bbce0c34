"""Loads that come suddenly: a spike on top of others, and a flash crowd."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from headgate.core.options import check_options, option
from headgate.workloads.shape import (
    DEFAULT_PEAK,
    LONGEST_OPTION_S,
    LOW_HELP,
    MOST_HEIGHT,
    MOST_RATE,
    PEAK_HELP,
    SHORTEST_S,
    Series,
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Spike:
    """A triangle around one moment, and nothing else: made to be added to another shape."""

    name: ClassVar[str] = "spike"

    peak: float = option(DEFAULT_PEAK, PEAK_HELP, least=0, most=MOST_RATE)
    low: float = option(0.0, LOW_HELP + ", outside the spike", least=0, most=MOST_HEIGHT)
    height: float = option(1.0, "rate at its tip, as a share of peak", least=0, most=MOST_HEIGHT)
    at_s: float = option(600.0, "when its tip is", least=0, most=LONGEST_OPTION_S)
    width_s: float = option(120.0, "time from its beginning to its end", least=SHORTEST_S, most=LONGEST_OPTION_S)
    every_s: float | None = option(
        None, "time after which another one follows; one only if not given", least=SHORTEST_S, most=LONGEST_OPTION_S
    )

    def __post_init__(self) -> None:
        check_options(self.name, self)

    @property
    def natural_s(self) -> float | None:
        return 2 * self.at_s + self.width_s

    def rates(self, times_s: Series) -> Series:
        away = times_s - self.at_s
        if self.every_s is not None:
            half = self.every_s / 2
            away = np.where(away > -half, np.mod(away + half, self.every_s) - half, away)
        share = np.clip(1.0 - np.abs(away) / (self.width_s / 2), 0.0, 1.0)
        return self.peak * (self.low + (self.height - self.low) * share)


@dataclass(frozen=True, slots=True, kw_only=True)
class FlashCrowd:
    """Calm, a steep rise to the peak, a while there, and a slow decay back to calm."""

    name: ClassVar[str] = "flash-crowd"

    peak: float = option(DEFAULT_PEAK, PEAK_HELP, least=0, most=MOST_RATE)
    low: float = option(0.1, LOW_HELP, least=0, most=1)
    at_s: float = option(600.0, "when the rise begins", least=0, most=LONGEST_OPTION_S)
    rise_s: float = option(60.0, "time from calm to peak", least=SHORTEST_S, most=LONGEST_OPTION_S)
    hold_s: float = option(300.0, "time at the peak", least=0, most=LONGEST_OPTION_S)
    decay_s: float = option(300.0, "time in which the crowd shrinks to 37 %", least=SHORTEST_S, most=LONGEST_OPTION_S)

    def __post_init__(self) -> None:
        check_options(self.name, self)

    @property
    def natural_s(self) -> float | None:
        return self.at_s + self.rise_s + self.hold_s + 5 * self.decay_s

    def rates(self, times_s: Series) -> Series:
        top_s = self.at_s + self.rise_s
        rising: Series = np.clip((times_s - self.at_s) / self.rise_s, 0.0, 1.0)
        falling = np.exp(-np.maximum(times_s - top_s - self.hold_s, 0.0) / self.decay_s)
        return self.peak * (self.low + (1.0 - self.low) * rising * falling)
