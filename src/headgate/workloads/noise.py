"""Noise: the one shape that multiplies what it is composed with, instead of adding to it.

The factor at second t is max(0, 1 + sd·z_t), where z is standard normal and, with a memory of τ
seconds, z_t = φ·z_{t−1} + √(1−φ²)·ε_t with φ = exp(−1/τ): an AR(1) process that forgets with τ.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from headgate.core.options import check_options, option
from headgate.workloads.shape import LONGEST_OPTION_S, Series

_FORGOTTEN = 1e-12


@dataclass(frozen=True, slots=True, kw_only=True)
class Noise:
    """A random factor around 1 for every second; alone, it multiplies a constant load."""

    name: ClassVar[str] = "noise"

    sd: float = option(0.1, "standard deviation, as a share of the rate", least=0, most=10)
    memory_s: float = option(
        0.0, "time in which a deviation fades to 37 %; 0 makes every second independent", least=0, most=LONGEST_OPTION_S
    )

    def __post_init__(self) -> None:
        check_options(self.name, self)

    def factors(self, seconds: int, random: np.random.Generator) -> Series:
        deviation = random.standard_normal(seconds)
        if self.memory_s > 0:
            deviation = _remembered(deviation, keep=math.exp(-1.0 / self.memory_s))
        return np.maximum(0.0, 1.0 + self.sd * deviation)


def _remembered(fresh: Series, *, keep: float) -> Series:
    """The AR(1) process, by doubling: each pass sums over twice as many past seconds."""
    summed = fresh * math.sqrt(1.0 - keep * keep)
    summed[:1] = fresh[:1]  # starts in its stationary distribution
    weight, shift = keep, 1
    while shift < len(summed) and weight > _FORGOTTEN:
        longer = summed.copy()
        longer[shift:] += weight * summed[:-shift]
        summed, weight, shift = longer, weight * weight, 2 * shift
    return summed
