"""Random-looking numbers that follow from seed, stream and sequence number alone, many at a time.

The mixing is that of the SplitMix64 generator (Steele, Lea and Flood 2014): neighbouring numbers get
unrelated draws, and the draws of one record need none of another.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

Draws = NDArray[np.uint64]
Numbers = NDArray[np.int64]

_GOLDEN = 0x9E3779B97F4A7C15
_FIRST = np.uint64(0xBF58476D1CE4E5B9)
_SECOND = np.uint64(0x94D049BB133111EB)
_STREAM = 0xD1342543DE82EF95
_WHOLE = (1 << 64) - 1


def draws(seed: int, stream: int, numbers: Numbers) -> Draws:
    """64 random bits for each number; ``stream`` keeps apart what is drawn for different purposes.

    >>> draws(0, 0, np.array([7])) == draws(0, 0, np.array([6, 7]))[1:]
    array([ True])
    >>> draws(0, 0, np.array([7])) == draws(0, 1, np.array([7]))
    array([False])
    """
    start = _scrambled(_scrambled(seed) ^ (stream * _STREAM & _WHOLE))
    state = numbers.astype(np.uint64)
    state *= np.uint64(_GOLDEN)
    state += np.uint64(start)
    state ^= state >> np.uint64(30)
    state *= _FIRST
    state ^= state >> np.uint64(27)
    state *= _SECOND
    state ^= state >> np.uint64(31)
    return state


def shares(seed: int, stream: int, numbers: Numbers) -> NDArray[np.float64]:
    """The same as numbers from 0 to below 1."""
    return (draws(seed, stream, numbers) >> np.uint64(11)).astype(np.float64) * 2.0**-53


def below(limit: int, seed: int, stream: int, numbers: Numbers) -> Numbers:
    """The same as whole numbers from 0 to below ``limit``."""
    return (shares(seed, stream, numbers) * limit).astype(np.int64)


def normals(seed: int, stream: int, numbers: Numbers) -> NDArray[np.float64]:
    """The same as normally distributed numbers (Box and Muller 1958); takes two streams."""
    radius = np.sqrt(-2.0 * np.log(1.0 - shares(seed, stream, numbers)))
    drawn: NDArray[np.float64] = radius * np.cos(2.0 * np.pi * shares(seed, stream + 1, numbers))
    return drawn


def _scrambled(number: int) -> int:
    state = (number + _GOLDEN) & _WHOLE
    state = (state ^ (state >> 30)) * int(_FIRST) & _WHOLE
    state = (state ^ (state >> 27)) * int(_SECOND) & _WHOLE
    return state ^ (state >> 31)
