"""Partitions that are written to, and read by consumers that can read so much: lag in virtual time."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]


class PartitionQueues:
    """What waits in each partition, in bytes."""

    def __init__(self, partitions: Sequence[str]) -> None:
        self.partitions = tuple(partitions)
        self._index = {partition: place for place, partition in enumerate(partitions)}
        self.waiting: Floats = np.zeros(len(self.partitions))
        self.written: Floats = np.zeros(len(self.partitions))

    def advance(self, arrivals: Floats, readers: Mapping[str, int], *, capacity: float) -> None:
        """One second: so many bytes come to each partition, and its reader, if it has one, takes what it can.

        A reader divides its capacity among its partitions evenly, and what one does not need among the others.
        """
        self.waiting += arrivals
        self.written += arrivals
        own: dict[int, list[int]] = {}
        for partition, consumer in readers.items():
            own.setdefault(consumer, []).append(self._index[partition])
        for places in own.values():
            self._take(np.array(places), capacity)

    def _take(self, places: NDArray[np.intp], capacity: float) -> None:
        left = capacity
        order = places[np.argsort(self.waiting[places], kind="stable")]
        for rank, place in enumerate(order):
            taken = min(self.waiting[place], left / (len(order) - rank))
            self.waiting[place] -= taken
            left -= taken
