"""Consumers as bins of a capacity, and the ways to look for one with room.

Every way finds its bin in far less time than looking at all of them: best fit in a sorted list, worst fit in a heap,
first fit in a tree of greatest rooms. Of bins that are equally good the one that was opened first is taken.
"""

from __future__ import annotations

import heapq
from abc import ABC, abstractmethod
from bisect import bisect_left, insort
from collections.abc import Callable

Capacity = Callable[[int], float]
"""Of the consumer with a number."""

_ROOM = 1 + 1e-9
"""A capacity with a hair more, because sums of floats are off by that."""


class Bins(ABC):
    """Bins in the order in which they were opened; a bin is known by its place in that order."""

    def __init__(self, capacity: Capacity) -> None:
        self._capacity = capacity
        self.consumers: list[int] = []
        self.places: dict[int, int] = {}
        """By consumer."""
        self._room: list[float] = []
        self._lowest = 1
        """No consumer below this is unused."""

    def open(self, preferred: int | None, size: float) -> int:
        """A new bin with so much in it: that of the preferred consumer if it has none yet, else the lowest unused.

        What it is opened for has it to itself at first, however large it is.
        """
        places = self.places
        if preferred is None or preferred in places:
            preferred = self._lowest
            while preferred in places:
                preferred += 1
            self._lowest = preferred
        place = len(places)
        places[preferred] = place
        self.consumers.append(preferred)
        self._room.append(self._capacity(preferred) * _ROOM - size)
        self._opened(place)
        return place

    def fits(self, place: int, size: float) -> bool:
        return size <= self._room[place]

    def put(self, place: int, size: float) -> None:
        before = self._room[place]
        self._room[place] = before - size
        self._changed(place, before)

    @abstractmethod
    def find(self, size: float) -> int | None:
        """A bin with room for so much, by the way of this kind."""

    def _opened(self, place: int) -> None:  # noqa: B027 - not all kinds keep books
        pass

    def _changed(self, place: int, before: float) -> None:  # noqa: B027
        pass


class NextFit(Bins):
    """Only the bin that was opened last."""

    def find(self, size: float) -> int | None:
        last = len(self._room) - 1
        return last if last >= 0 and size <= self._room[last] else None


class BestFit(Bins):
    """The fullest bin with room."""

    def __init__(self, capacity: Capacity) -> None:
        super().__init__(capacity)
        self._sorted: list[tuple[float, int]] = []

    def find(self, size: float) -> int | None:
        at = bisect_left(self._sorted, (size, -1))
        return self._sorted[at][1] if at < len(self._sorted) else None

    def _opened(self, place: int) -> None:
        insort(self._sorted, (self._room[place], place))

    def _changed(self, place: int, before: float) -> None:
        del self._sorted[bisect_left(self._sorted, (before, place))]
        insort(self._sorted, (self._room[place], place))


class WorstFit(Bins):
    """The emptiest bin."""

    def __init__(self, capacity: Capacity) -> None:
        super().__init__(capacity)
        self._heap: list[tuple[float, int]] = []

    def find(self, size: float) -> int | None:
        heap, room = self._heap, self._room
        while heap and -heap[0][0] != room[heap[0][1]]:
            heapq.heappop(heap)
        return heap[0][1] if heap and size <= -heap[0][0] else None

    def _opened(self, place: int) -> None:
        heapq.heappush(self._heap, (-self._room[place], place))

    def _changed(self, place: int, before: float) -> None:  # noqa: ARG002
        heapq.heappush(self._heap, (-self._room[place], place))


class FirstFit(Bins):
    """The bin that was opened first among those with room."""

    def __init__(self, capacity: Capacity) -> None:
        super().__init__(capacity)
        self._leaves = 1
        self._tree: list[float] = [-1.0, -1.0]
        """Greatest room below each knot; knot ``n`` has ``2n`` and ``2n + 1`` below it."""

    def find(self, size: float) -> int | None:
        tree, leaves = self._tree, self._leaves
        if tree[1] < size:
            return None
        knot = 1
        while knot < leaves:
            knot *= 2
            if tree[knot] < size:
                knot += 1
        return knot - leaves

    def _opened(self, place: int) -> None:
        if place >= self._leaves:
            self._grow()
        self._set(place)

    def _changed(self, place: int, before: float) -> None:  # noqa: ARG002
        self._set(place)

    def _set(self, place: int) -> None:
        tree, knot = self._tree, place + self._leaves
        tree[knot] = self._room[place]
        while knot > 1:
            knot //= 2
            left, right = tree[2 * knot], tree[2 * knot + 1]
            greatest = left if left >= right else right
            if tree[knot] == greatest:
                return
            tree[knot] = greatest

    def _grow(self) -> None:
        leaves = 2 * self._leaves
        tree = [-1.0] * (2 * leaves)
        tree[leaves : leaves + self._leaves] = self._tree[self._leaves :]
        for knot in range(leaves - 1, 0, -1):
            tree[knot] = max(tree[2 * knot], tree[2 * knot + 1])
        self._leaves, self._tree = leaves, tree
