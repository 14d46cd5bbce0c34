"""Vehicles in a city: where each is and how fast, at any moment, in closed form.

The streets are a square grid. Each vehicle drives round a rectangle of its own along the streets, again
and again. Its speed swings about a mean, v(t) = v₀ + a·sin(ωt + φ), so the way it has come by *t* is the
integral of that, and position and speed always agree, however few records tell of it.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from headgate.core.options import check_options, option
from headgate.workloads.records.mixing import Numbers, below, shares
from headgate.workloads.shape import Series

BLOCK_M = 200.0
"""Between two streets."""
SPEED_LIMIT_M_S = 50 / 3.6
_LONGEST_SIDE = 12
"""Blocks along one side of a vehicle's rectangle."""
_X, _Y, _WIDE, _HIGH, _MEAN, _SWING, _RHYTHM, _PHASE, _OFFSET, _TURN = range(1, 11)


@dataclass(frozen=True, slots=True, kw_only=True)
class Vehicles:
    """``{"sequence": 7, "time_ms": …, "vehicle": "v00007", "x": 1200.0, "y": 845.3, "speed": 12.41}``"""

    name: ClassVar[str] = "vehicles"

    vehicles: int = option(1000, "how many there are; they report in turn", least=1, most=99_999)
    blocks: int = option(50, "of 200 m along each side of the city", least=_LONGEST_SIDE, most=1000)
    seed: int = option(0, "which records", least=0)

    def __post_init__(self) -> None:
        check_options(self.name, self)

    def values(self, first: int, times_ms: Sequence[int]) -> list[bytes]:
        sequences = np.arange(first, first + len(times_ms))
        numbers = sequences % self.vehicles
        x, y, speed = self.whereabouts(numbers, np.asarray(times_ms, dtype=np.float64) / 1000.0)
        columns = (numbers.tolist(), x.tolist(), y.tolist(), speed.tolist())
        return [
            b'{"sequence": %d, "time_ms": %d, "vehicle": "v%05d", "x": %.2f, "y": %.2f, "speed": %.2f}'
            % (sequence, time_ms, number, east, north, fast)
            for sequence, time_ms, number, east, north, fast in zip(sequences.tolist(), times_ms, *columns, strict=True)
        ]

    def whereabouts(self, numbers: Numbers, times_s: Series) -> tuple[Series, Series, Series]:
        """Metres east and north of the city's corner, and metres per second."""

        def drawn(stream: int, low: float, high: float) -> Series:
            return low + (high - low) * shares(self.seed, stream, numbers)

        mean = drawn(_MEAN, 7.0, 13.0)
        swing = mean * drawn(_SWING, 0.2, 0.6)
        rhythm = 2 * np.pi / drawn(_RHYTHM, 60.0, 300.0)
        phase = rhythm * times_s + drawn(_PHASE, 0.0, 2 * np.pi)
        way = mean * times_s - swing / rhythm * np.cos(phase)
        wide = (1 + below(_LONGEST_SIDE, self.seed, _WIDE, numbers)) * BLOCK_M
        high = (1 + below(_LONGEST_SIDE, self.seed, _HIGH, numbers)) * BLOCK_M
        west = np.floor(drawn(_X, 0.0, 1.0) * (self.blocks - wide / BLOCK_M + 1)) * BLOCK_M
        south = np.floor(drawn(_Y, 0.0, 1.0) * (self.blocks - high / BLOCK_M + 1)) * BLOCK_M
        round_m = 2 * (wide + high)
        along = np.mod(way + drawn(_OFFSET, 0.0, 1.0) * round_m, round_m)
        along = np.where(shares(self.seed, _TURN, numbers) < 0.5, along, round_m - along)
        # East along the south side, north along the east side, and back.
        x = west + np.clip(along, 0, wide) - np.clip(along - wide - high, 0, wide)
        y = south + np.clip(along - wide, 0, high) - np.clip(along - 2 * wide - high, 0, high)
        return x, y, mean + swing * np.sin(phase)
