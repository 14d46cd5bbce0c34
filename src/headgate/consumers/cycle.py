"""What a consumer takes in one cycle: how much of each of its partitions, and whether that is enough to begin.

Source: the consumer-group autoscaler, section 4.3: at most ``batch_bytes`` (5 MB), or what has come within ``wait_s``
(1 s). Spark reads ranges of offsets and not bytes, so ranges are planned by the mean size of the records seen before.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

_FIRST_SIZE = 1000.0
"""Bytes of a record before any has been seen."""
_FORGETTING = 0.5


@dataclass(slots=True)
class RecordSizes:
    """Mean size of the records, which are taken to be of one kind."""

    mean_bytes: float = _FIRST_SIZE
    seen: bool = False

    def learn(self, *, records: int, size: int) -> None:
        """
        >>> sizes = RecordSizes()
        >>> sizes.learn(records=10, size=2000)
        >>> sizes.mean_bytes
        200.0
        """
        if records <= 0 or size <= 0:
            return
        measured = size / records
        self.mean_bytes = measured if not self.seen else self.mean_bytes + _FORGETTING * (measured - self.mean_bytes)
        self.seen = True


@dataclass(frozen=True, slots=True, kw_only=True)
class Intake:
    """Offsets to read, by partition: from one up to but without the other."""

    ranges: Mapping[str, tuple[int, int]] = field(default_factory=dict)
    lost: Mapping[str, int] = field(default_factory=dict)
    """Records that retention deleted before they were read."""

    @property
    def records(self) -> int:
        return sum(end - first for first, end in self.ranges.values()) - sum(self.lost.values())


def plan_intake(
    positions: Mapping[str, int],
    *,
    begins: Mapping[str, int],
    ends: Mapping[str, int],
    record_bytes: float,
    batch_bytes: float,
) -> Intake:
    """As much as fits, from each partition an even part of it; what one does not need is for the others.

    >>> plan_intake({"a-0": 0, "a-1": 0}, begins={}, ends={"a-0": 10, "a-1": 500}, record_bytes=10, batch_bytes=1000)
    Intake(ranges={'a-0': (0, 10), 'a-1': (0, 90)}, lost={})
    """
    first, lost = {}, {}
    for partition, position in positions.items():
        begin = begins.get(partition, 0)
        first[partition] = position
        if position < begin:
            lost[partition] = begin - position
    waiting = {
        partition: max(0, ends.get(partition, 0) - first[partition] - lost.get(partition, 0)) for partition in positions
    }
    left = max(1, int(batch_bytes / record_bytes))
    taken: dict[str, int] = {}
    open_partitions = sorted((count, partition) for partition, count in waiting.items() if count)
    while open_partitions and left > 0:
        count, partition = open_partitions.pop(0)
        share = max(1, left // (len(open_partitions) + 1))
        taken[partition] = min(count, share)
        left -= taken[partition]
    ranges = {
        partition: (first[partition], first[partition] + lost.get(partition, 0) + taken.get(partition, 0))
        for partition in positions
        if taken.get(partition) or lost.get(partition)
    }
    return Intake(ranges=ranges, lost=lost)


def bytes_waiting(positions: Mapping[str, int], ends: Mapping[str, int], *, record_bytes: float) -> float:
    """What could be read now."""
    return record_bytes * sum(max(0, ends.get(partition, 0) - position) for partition, position in positions.items())
