"""What record number *n* of a trace contains: a pure function of *n*.

So every replay of a range of offsets brings identical rows, and any sink can be checked against
its source without keeping a copy. The mixing is that of the SplitMix64 generator (Steele, Lea and
Flood 2014): neighbouring offsets get unrelated values.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

KEYS = 1000
"""How many different keys there are."""
_GOLDEN = np.uint64(0x9E3779B97F4A7C15)
_FIRST = np.uint64(0xBF58476D1CE4E5B9)
_SECOND = np.uint64(0x94D049BB133111EB)
_KEY_STREAM = np.uint64(0x5851F42D4C957F2D)

Longs = NDArray[np.int64]


def values_of(offsets: Longs) -> Longs:
    """The value column.

    >>> values_of(np.array([0, 1])).tolist()
    [-2152535657050944081, 7960286522194355700]
    """
    return _mixed(offsets.astype(np.uint64)).view(np.int64)


def keys_of(offsets: Longs) -> NDArray[np.int32]:
    """The key column, from 0 to ``KEYS - 1``."""
    mixed = _mixed(offsets.astype(np.uint64) ^ _KEY_STREAM)
    return ((mixed >> np.uint64(33)) % np.uint64(KEYS)).astype(np.int32)


def _mixed(numbers: NDArray[np.uint64]) -> NDArray[np.uint64]:
    state = (numbers + np.uint64(1)) * _GOLDEN
    state = (state ^ (state >> np.uint64(30))) * _FIRST
    state = (state ^ (state >> np.uint64(27))) * _SECOND
    mixed: NDArray[np.uint64] = state ^ (state >> np.uint64(31))
    return mixed
