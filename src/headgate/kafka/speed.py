"""How fast each partition is written to, in records and in bytes a second.

Records are counted by end offsets, which neither retention nor compaction takes back. For bytes the
brokers know the size of each partition on disk, but the client used here has no question for it
(``describe_log_dirs`` is missing in ``confluent_kafka``), another client would come for that question
alone, and retention makes that size shrink. So bytes are records times the mean size of the newest
ones (key, value and headers, as a consumer gets them), which are read anew from time to time.
"""

from __future__ import annotations

import time
import uuid
from collections import deque
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from confluent_kafka import Consumer, KafkaError, TopicPartition

from headgate.errors import UserMistake
from headgate.kafka.admin import Admin
from headgate.kafka.faults import Complaints
from headgate.kafka.offsets import Offsets, Partition, beginning_offsets, end_offsets
from headgate.kafka.settings import KafkaSettings

_SAMPLED_RECORDS = 50
_SAMPLED_WITHIN_S = 2.0


@dataclass(frozen=True, slots=True, kw_only=True)
class WriteSpeed:
    records_per_s: float
    bytes_per_s: float | None
    """Unknown as long as no record of the partition has been seen."""


class SpeedWindow:
    """Speeds between the oldest and the newest look of a window.

    >>> one, window = Partition("orders", 0), SpeedWindow(window_s=30.0)
    >>> window.add(0.0, {one: 1000})
    >>> window.add(10.0, {one: 1500})
    >>> window.records_per_s()
    {Partition(topic='orders', number=0): 50.0}
    """

    def __init__(self, *, window_s: float) -> None:
        if not window_s > 0:
            raise UserMistake(f"a window of {window_s:g} s is not possible; give a positive one")
        self._window_s = window_s
        self._looks: deque[tuple[float, dict[Partition, int]]] = deque()
        self._seen: dict[Partition, int] = {}
        self._written: dict[Partition, int] = {}
        """Records counted so far; goes on where a topic was made anew."""

    def add(self, time_s: float, ends: Offsets) -> None:
        if self._looks and time_s <= self._looks[-1][0]:
            return
        for partition, end in ends.items():
            before = self._seen.get(partition)
            # A smaller end is that of a new topic of the same name: all of its records are new.
            grown = 0 if before is None else end - before if end >= before else end
            self._written[partition] = self._written.get(partition, 0) + grown
        self._seen.update(ends)
        self._looks.append((time_s, {partition: self._written[partition] for partition in ends}))
        # The look before the window's start stays, so that the window is always covered.
        while len(self._looks) > 2 and self._looks[1][0] <= time_s - self._window_s:
            self._looks.popleft()

    def records_per_s(self) -> dict[Partition, float]:
        """Of the partitions that have been seen twice."""
        if not self._looks:
            return {}
        now_s, newest = self._looks[-1]
        speeds = {}
        for partition, written in newest.items():
            first = next(((time_s, looked[partition]) for time_s, looked in self._looks if partition in looked), None)
            if first is not None and first[0] < now_s:
                speeds[partition] = (written - first[1]) / (now_s - first[0])
        return speeds


class SpeedMeter:
    """Looks at topics whenever it is asked, and tells the speeds over the window before."""

    def __init__(
        self,
        settings: KafkaSettings,
        topics: Sequence[str],
        *,
        window_s: float = 30.0,
        sample_every_s: float = 10.0,
        now_s: Callable[[], float] = time.monotonic,
    ) -> None:
        self._settings = settings
        self._topics = tuple(topics)
        self._now_s = now_s
        self._sample_every_s = sample_every_s
        self._sampled_s = float("-inf")
        self._admin = Admin(settings)
        self._window = SpeedWindow(window_s=window_s)
        self._sizes: dict[Partition, float] = {}

    def measure(self) -> dict[Partition, WriteSpeed]:
        """Speeds of the partitions that were looked at before; none at the first time."""
        ends = end_offsets(self._settings, self._topics, admin=self._admin)
        now_s = self._now_s()
        self._window.add(now_s, ends)
        speeds = self._window.records_per_s()
        missing = any(rate > 0 and partition not in self._sizes for partition, rate in speeds.items())
        if missing or now_s - self._sampled_s >= self._sample_every_s:
            self._sampled_s = now_s
            begins = beginning_offsets(self._settings, self._topics, admin=self._admin)
            self._sizes |= mean_sizes(self._settings, begins=begins, ends=ends)
        return {
            partition: WriteSpeed(
                records_per_s=rate,
                bytes_per_s=rate * self._sizes[partition] if partition in self._sizes else None if rate else 0.0,
            )
            for partition, rate in speeds.items()
        }


def mean_sizes(settings: KafkaSettings, *, begins: Offsets, ends: Offsets) -> dict[Partition, float]:
    """Mean size in bytes of the newest records of each partition that has any."""
    starts = {
        partition: max(begins.get(partition, 0), end - _SAMPLED_RECORDS)
        for partition, end in ends.items()
        if end > begins.get(partition, 0)
    }
    if not starts:
        return {}
    consumer = Consumer(
        {
            **settings.for_client(),
            **Complaints().settings(),
            "group.id": f"headgate-speed-{uuid.uuid4().hex}",
            "enable.auto.commit": False,
            "enable.partition.eof": True,
            "auto.offset.reset": "error",
            "fetch.max.bytes": 4 * 2**20,
        }
    )
    try:
        consumer.assign([TopicPartition(*partition, start) for partition, start in starts.items()])
        return _read_sizes(consumer, starts, ends)
    finally:
        consumer.close()


def _read_sizes(consumer: Any, starts: Offsets, ends: Offsets) -> dict[Partition, float]:
    deadline = time.monotonic() + _SAMPLED_WITHIN_S
    sizes: dict[Partition, list[int]] = {}
    unfinished = set(starts)
    while unfinished and time.monotonic() < deadline:
        for message in consumer.consume(_SAMPLED_RECORDS, timeout=0.1):
            partition = Partition(message.topic(), message.partition())
            error = message.error()
            if error is None:
                sizes.setdefault(partition, []).append(_size(message))
                if message.offset() + 1 >= ends[partition]:
                    unfinished.discard(partition)
            elif error.code() == KafkaError._PARTITION_EOF or not error.retriable():
                # The end can come before the last offset, because transactions leave marks; a partition that
                # was made anew has other offsets. Both wait for the next time.
                unfinished.discard(partition)
    return {partition: sum(each) / len(each) for partition, each in sizes.items()}


def _size(message: Any) -> int:
    headers: Sequence[tuple[str, bytes | None]] = message.headers() or ()
    return (
        len(message.key() or b"")
        + len(message.value() or b"")
        + sum(len(name) + len(value or b"") for name, value in headers)
    )


def total(speeds: Mapping[Partition, WriteSpeed]) -> WriteSpeed:
    """Of all partitions together."""
    known = [speed.bytes_per_s for speed in speeds.values()]
    return WriteSpeed(
        records_per_s=sum(speed.records_per_s for speed in speeds.values()),
        bytes_per_s=None if None in known else sum(each for each in known if each is not None),
    )
