"""Where partitions begin and end, how far a consumer group has come, and what lies between.

End offsets are asked from all leaders at once and count every record that was written, committed or not:
that is what Spark's Kafka source reads by default.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from headgate.kafka.admin import BEGINNING, END, Admin, Partition
from headgate.kafka.faults import patiently
from headgate.kafka.settings import KafkaSettings
from headgate.kafka.topics import partitions_of

__all__ = [
    "Offsets",
    "Partition",
    "all_partitions",
    "beginning_offsets",
    "committed_offsets",
    "end_offsets",
    "lag",
    "lag_of",
]

Offsets = Mapping[Partition, int]


def end_offsets(settings: KafkaSettings, topics: Sequence[str], *, admin: Admin | None = None) -> dict[Partition, int]:
    """The offset that the next record of each partition will get."""
    return _offsets(settings, topics, END, admin or Admin(settings))


def beginning_offsets(
    settings: KafkaSettings, topics: Sequence[str], *, admin: Admin | None = None
) -> dict[Partition, int]:
    """The oldest offset of each partition that retention has left."""
    return _offsets(settings, topics, BEGINNING, admin or Admin(settings))


def committed_offsets(
    settings: KafkaSettings, group: str, topics: Sequence[str], *, admin: Admin | None = None
) -> dict[Partition, int | None]:
    """How far a group has come in each partition; ``None`` where it has not committed anything."""
    asked = admin or Admin(settings)
    wanted = all_partitions(settings, topics, admin=asked)
    # The broker that keeps a group's offsets may still be reading them.
    return patiently(lambda: asked.committed(group, wanted), within_s=asked.within_s)


def lag_of(
    settings: KafkaSettings, group: str, topics: Sequence[str], *, admin: Admin | None = None
) -> dict[Partition, int]:
    """Records of each partition that a group has not committed."""
    asked = admin or Admin(settings)
    committed = committed_offsets(settings, group, topics, admin=asked)
    begins = beginning_offsets(settings, topics, admin=asked)
    return lag(ends=end_offsets(settings, topics, admin=asked), begins=begins, committed=committed)


def lag(*, ends: Offsets, begins: Offsets, committed: Mapping[Partition, int | None]) -> dict[Partition, int]:
    """Records between what was committed, or what retention has left of it, and the end.

    >>> one = Partition("orders", 0)
    >>> lag(ends={one: 100}, begins={one: 40}, committed={one: 10})
    {Partition(topic='orders', number=0): 60}
    """
    behind = {}
    for partition, end in ends.items():
        begin = begins.get(partition, 0)
        reached = committed.get(partition)
        # An offset past the end is one of an earlier topic of that name: its reader will begin anew.
        start = begin if reached is None or reached > end else max(reached, begin)
        behind[partition] = max(0, end - start)
    return behind


def all_partitions(
    settings: KafkaSettings, topics: Sequence[str], *, admin: Admin | None = None
) -> tuple[Partition, ...]:
    known = partitions_of(settings, topics, admin=admin)
    return tuple(Partition(topic, number) for topic, numbers in known.items() for number in numbers)


def _offsets(settings: KafkaSettings, topics: Sequence[str], which: Any, admin: Admin) -> dict[Partition, int]:
    partitions = all_partitions(settings, topics, admin=admin)
    # Leaders move when a broker goes or comes; for a moment nobody may be it.
    return patiently(lambda: admin.offsets(partitions, which), within_s=admin.within_s)
