"""Independent streams of chance, so that a change in one thing does not shift the others."""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator
from enum import IntEnum

import numpy as np


class Chance(IntEnum):
    """What is left to chance."""

    NOISE = 1
    STARTUP = 2
    FAILURE = 3
    PLACEMENT = 4
    ARRIVAL = 5
    SERVICE = 6


_BLOCK = 4096


def generator(seed: int, chance: Chance, key: int) -> np.random.Generator:
    """The stream of one thing (an operator, an executor) that belongs to one kind of chance."""
    return np.random.default_rng([seed, int(chance), key])


def noise_factors(seed: int, operator: int, relative_sd: float) -> Iterator[float]:
    """Lognormal factors with mean 1 and the given relative standard deviation, without end."""
    if relative_sd == 0:
        return itertools.repeat(1.0)
    variance = math.log1p(relative_sd**2)
    return _lognormal(generator(seed, Chance.NOISE, operator), -variance / 2, math.sqrt(variance))


def _lognormal(source: np.random.Generator, mean: float, sd: float) -> Iterator[float]:
    while True:
        yield from source.lognormal(mean, sd, _BLOCK).tolist()
