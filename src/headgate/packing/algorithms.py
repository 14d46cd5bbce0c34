"""Partitions onto as few consumers as carry them, with moves counted as a cost.

Source: the consumer-group autoscaler (Landau, University of Porto, 2022; section 4.4). Partitions are items whose size
is their write speed, consumers are bins.

Next, first, worst and best fit take partitions in the order given; their decreasing forms (``nfd`` …) the fastest
first. A new bin is that of the partition's present consumer, if that has none yet, else the lowest number without one.

The modified ones (``mwf``, ``mbf``, ``mwfp``, ``mbfp``) go through the *consumers* instead, those with most to do
first: by the speed of all their partitions, or (``…p``) by that of their fastest one. The partitions of a consumer go,
slowest first, into bins that are there already, by worst or by best fit, until one does not fit; then the consumer gets
a bin of its own, into which the rest goes, fastest first, until one does not fit. What is left over is packed at the
end, in decreasing order. The print leaves open in which direction consumers are sorted; descending gives the published
numbers. Its listing removes from the list that it walks through, which is not meant.

A partition that is faster than a consumer can take gets one of its own. One whose consumer has vanished has none.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from functools import partial

from headgate.errors import UserMistake, nearest
from headgate.packing.bins import BestFit, Bins, Capacity, FirstFit, NextFit, WorstFit

Speeds = Mapping[str, float]
"""Bytes per second by partition."""
Assignment = Mapping[str, int]
"""Consumers by partition; those that are missing have none."""
Packing = Callable[[Speeds, Assignment, Capacity], dict[str, int]]


def pack(
    speeds: Speeds,
    current: Assignment,
    *,
    capacity: float,
    algorithm: str,
    capacities: Mapping[int, float] | None = None,
) -> dict[str, int]:
    """A consumer for each partition.

    ``capacities`` are those of consumers that differ from the rest.

    >>> pack({"a": 6.0, "b": 5.0, "c": 4.0}, {"c": 7}, capacity=10.0, algorithm="bfd")
    {'a': 1, 'b': 2, 'c': 1}
    >>> pack({"a": 6.0, "b": 5.0, "c": 4.0}, {"a": 1, "b": 2, "c": 2}, capacity=10.0, algorithm="mbf")
    {'b': 2, 'c': 2, 'a': 1}
    """
    if algorithm not in ALGORITHMS:
        raise UserMistake(f"there is no packing algorithm '{algorithm}'{nearest(algorithm, ALGORITHMS)}")
    own = dict(capacities or {})
    if not capacity > 0 or not all(each > 0 for each in own.values()):
        raise UserMistake(f"a capacity of {capacity:g} carries nothing; give more than 0 bytes per second")
    # A sum that is no number, or without end, has one of these in it.
    if speeds and not (min(speeds.values()) >= 0 and sum(speeds.values()) < float("inf")):
        raise UserMistake("a partition's speed is negative or no number; give bytes per second from 0 up")
    room: Capacity = (lambda _: capacity) if not own else lambda consumer: own.get(consumer, capacity)
    return ALGORITHMS[algorithm](speeds, current, room)


def _any_fit(
    speeds: Speeds, current: Assignment, capacity: Capacity, *, kind: type[Bins], decreasing: bool
) -> dict[str, int]:
    bins = kind(capacity)
    items = sorted(speeds.items(), key=_speed, reverse=True) if decreasing else speeds.items()
    return _assigned(bins, items, current)


def _modified(
    speeds: Speeds, current: Assignment, capacity: Capacity, *, kind: type[Bins], by_fastest: bool
) -> dict[str, int]:
    bins = kind(capacity)
    groups: dict[int, list[tuple[str, float]]] = {}
    left: list[tuple[str, float]] = []
    for item in speeds.items():
        consumer = current.get(item[0])
        if consumer is None:
            left.append(item)
        else:
            groups.setdefault(consumer, []).append(item)
    for group in groups.values():
        group.sort(key=_speed, reverse=True)
    weight: Callable[[int], float] = (
        (lambda consumer: groups[consumer][0][1])
        if by_fastest
        else (lambda consumer: sum(size for _, size in groups[consumer]))
    )
    find, put, consumers = bins.find, bins.put, bins.consumers
    packed: dict[str, int] = {}
    for consumer in sorted(sorted(groups), key=weight, reverse=True):
        group = groups[consumer]
        while group:
            partition, size = group[-1]
            place = find(size)
            if place is None:
                break
            put(place, size)
            packed[partition] = consumers[place]
            group.pop()
        if not group:
            continue
        (fastest, size), *others = group
        place = bins.open(consumer, size)
        packed[fastest] = consumer
        for kept, (partition, size) in enumerate(others):
            if not bins.fits(place, size):
                left += others[kept:]
                break
            put(place, size)
            packed[partition] = consumer
    left.sort(key=_speed, reverse=True)
    packed |= _assigned(bins, left, current)
    return packed


def _assigned(bins: Bins, items: Iterable[tuple[str, float]], current: Assignment) -> dict[str, int]:
    """Each into the bin that is found for it, or else a new one."""
    find, put, open_new, preferred, consumers = bins.find, bins.put, bins.open, current.get, bins.consumers
    packed: dict[str, int] = {}
    for partition, size in items:
        place = find(size)
        if place is None:
            place = open_new(preferred(partition), size)
        else:
            put(place, size)
        packed[partition] = consumers[place]
    return packed


def _speed(item: tuple[str, float]) -> float:
    return item[1]


ALGORITHMS: dict[str, Packing] = {
    "nf": partial(_any_fit, kind=NextFit, decreasing=False),
    "ff": partial(_any_fit, kind=FirstFit, decreasing=False),
    "wf": partial(_any_fit, kind=WorstFit, decreasing=False),
    "bf": partial(_any_fit, kind=BestFit, decreasing=False),
    "nfd": partial(_any_fit, kind=NextFit, decreasing=True),
    "ffd": partial(_any_fit, kind=FirstFit, decreasing=True),
    "wfd": partial(_any_fit, kind=WorstFit, decreasing=True),
    "bfd": partial(_any_fit, kind=BestFit, decreasing=True),
    "mwf": partial(_modified, kind=WorstFit, by_fastest=False),
    "mbf": partial(_modified, kind=BestFit, by_fastest=False),
    "mwfp": partial(_modified, kind=WorstFit, by_fastest=True),
    "mbfp": partial(_modified, kind=BestFit, by_fastest=True),
}
