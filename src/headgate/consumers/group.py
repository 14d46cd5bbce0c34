"""The consumer group as a value: who reads what, and what has to be done to get from one state to another.

Source: the consumer-group autoscaler, section 4.4.7.1.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass
from itertools import count

from headgate.errors import UserMistake
from headgate.packing import Assignment, Speeds, bins, pack

_MOST_TIGHTENINGS = 60


@dataclass(frozen=True, slots=True, kw_only=True)
class Difference:
    """From one assignment to another; partitions and consumers in their own order."""

    create: tuple[int, ...]
    delete: tuple[int, ...]
    starts: Mapping[str, int]
    """Where each partition is to be read that is not read there yet."""
    stops: Mapping[str, int]
    """By whom each partition is read that is to be read elsewhere, or nowhere."""


def difference(current: Assignment, wanted: Assignment, *, live: frozenset[int]) -> Difference:
    """
    >>> difference({"a-0": 1, "a-1": 1}, {"a-0": 1, "a-1": 2, "a-2": 2}, live=frozenset({1, 3})).stops
    {'a-1': 1}
    """
    used = frozenset(wanted.values())
    return Difference(
        create=tuple(sorted(used - live)),
        delete=tuple(sorted(live - used)),
        starts={partition: consumer for partition, consumer in wanted.items() if current.get(partition) != consumer},
        stops={partition: consumer for partition, consumer in current.items() if wanted.get(partition) != consumer},
    )


def loads(speeds: Speeds, assignment: Assignment) -> dict[int, float]:
    """Bytes per second that come to each consumer.

    >>> loads({"a-0": 5.0, "a-1": 2.0}, {"a-0": 1, "a-1": 1})
    {1: 7.0}
    """
    found: dict[int, float] = {}
    for partition, consumer in assignment.items():
        found[consumer] = found.get(consumer, 0.0) + speeds.get(partition, 0.0)
    return found


def rescued(speeds: Speeds, current: Assignment, *, by: Collection[int]) -> dict[str, int]:
    """What nobody reads, fastest first, each to the one that has least to read; all else stays.

    >>> rescued({"a-0": 5.0, "a-1": 2.0, "a-2": 4.0}, {"a-0": 1}, by={1, 2})
    {'a-0': 1, 'a-2': 2, 'a-1': 2}
    """
    found = dict(current)
    carried = {consumer: loads(speeds, current).get(consumer, 0.0) for consumer in sorted(by)}
    for partition in sorted(speeds.keys() - current.keys(), key=lambda each: (-speeds[each], each)):
        least = min(carried, key=carried.__getitem__)
        found[partition] = least
        carried[least] += speeds[partition]
    return found


def pack_within(
    speeds: Speeds, current: Assignment, *, capacity: float, algorithm: str, most: int
) -> tuple[dict[str, int], float]:
    """A packing with at most so many consumers, and the capacity that it counts on.

    Where more would be needed, consumers are counted on for more, each as little as that allows: some lag behind then,
    and all partitions are read.
    """
    if most < 1:
        raise UserMistake(f"a group of at most {most} consumers reads nothing; give 1 or more")
    packed = pack(speeds, current, capacity=capacity, algorithm=algorithm)
    if bins(packed) <= most:
        return packed, capacity
    low, high = capacity, max(sum(speeds.values()), capacity)
    best, counted = pack(speeds, current, capacity=high, algorithm=algorithm), high
    for _ in range(_MOST_TIGHTENINGS):
        if high - low <= 0.01 * capacity:
            break
        middle = (low + high) / 2
        tried = pack(speeds, current, capacity=middle, algorithm=algorithm)
        if bins(tried) <= most:
            best, counted, high = tried, middle, middle
        else:
            low = middle
    return best, counted


def renumbered(packed: Assignment, *, taken: Collection[int]) -> dict[str, int]:
    """The same packing without consumers whose numbers are not free: they get the lowest that is.

    >>> renumbered({"a-0": 1, "a-1": 2, "a-2": 1}, taken={1})
    {'a-0': 3, 'a-1': 2, 'a-2': 3}
    """
    used = set(packed.values())
    free = (number for number in count(1) if number not in used and number not in taken)
    names = {consumer: next(free) if consumer in taken else consumer for consumer in dict.fromkeys(packed.values())}
    return {partition: names[consumer] for partition, consumer in packed.items()}
