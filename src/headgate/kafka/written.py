"""How much has been written to partitions since somebody began to look: in records and in bytes, only ever growing.

``WrittenByOffsets`` counts records by end offsets, which neither retention nor compaction takes back, and which a
broker that comes back or a leader that changes keeps. Bytes are records times the mean size of the newest ones (key,
value and headers, as a consumer gets them), which are read anew from time to time.

``WrittenBySize`` is the way of the consumer-group autoscaler (section 4.2, ``describeLogDirs``): the size of the
leader's copy on disk. Retention and compaction make that shrink while records come, which looks like a negative speed:
only for topics that keep everything. It needs ``kafka-python``, because ``confluent_kafka`` has no question for sizes.
"""

from __future__ import annotations

import time
import uuid
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

from confluent_kafka import Consumer, KafkaError, TopicPartition

from headgate.errors import UserMistake
from headgate.kafka.admin import Admin
from headgate.kafka.faults import Complaints, fault
from headgate.kafka.offsets import Offsets, Partition, beginning_offsets, end_offsets
from headgate.kafka.settings import KafkaSettings

_SAMPLED_RECORDS = 50
_SAMPLED_WITHIN_S = 2.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Written:
    """By partition; of those without a size, no record has been seen."""

    time_s: float
    records: Mapping[Partition, float]
    bytes: Mapping[Partition, float]


class WrittenCount(Protocol):
    def look(self) -> Written:
        """As of now; raises ``Temporary`` while brokers are gone."""
        ...


class RecordCount:
    """Records counted so far, from looks at end offsets; goes on where a topic was made anew.

    >>> one, count = Partition("orders", 0), RecordCount()
    >>> count.add({one: 1000}), count.add({one: 1500}), count.add({one: 100})
    ({Partition(topic='orders', number=0): 0}, {Partition(topic='orders', number=0): 500}, \
{Partition(topic='orders', number=0): 600})
    """

    def __init__(self) -> None:
        self._seen: dict[Partition, int] = {}
        self._written: dict[Partition, int] = {}

    def add(self, ends: Offsets) -> dict[Partition, int]:
        for partition, end in ends.items():
            before = self._seen.get(partition)
            # A smaller end is that of a new topic of the same name: all of its records are new.
            grown = 0 if before is None else end - before if end >= before else end
            self._written[partition] = self._written.get(partition, 0) + grown
        self._seen.update(ends)
        return {partition: self._written[partition] for partition in ends}


class WrittenByOffsets:
    def __init__(
        self,
        settings: KafkaSettings,
        topics: Sequence[str],
        *,
        sample_every_s: float = 10.0,
        now_s: Callable[[], float] = time.monotonic,
    ) -> None:
        self._settings = settings
        self._topics = tuple(topics)
        self._now_s = now_s
        self._sample_every_s = sample_every_s
        self._sampled_s = float("-inf")
        self._admin = Admin(settings)
        self._count = RecordCount()
        self._records: dict[Partition, int] = {}
        self._bytes: dict[Partition, float] = {}
        self._sizes: dict[Partition, float] = {}

    def look(self) -> Written:
        ends = end_offsets(self._settings, self._topics, admin=self._admin)
        now_s = self._now_s()
        records = self._count.add(ends)
        grown = {partition: count - self._records.get(partition, 0) for partition, count in records.items()}
        missing = any(count and partition not in self._sizes for partition, count in grown.items())
        if missing or now_s - self._sampled_s >= self._sample_every_s:
            self._sampled_s = now_s
            begins = beginning_offsets(self._settings, self._topics, admin=self._admin)
            self._sizes |= mean_sizes(self._settings, begins=begins, ends=ends)
        for partition, count in grown.items():
            size = self._sizes.get(partition)
            if size is not None or not count:
                self._bytes[partition] = self._bytes.get(partition, 0.0) + count * (size or 0.0)
                self._records[partition] = records[partition]
        sized = {partition: self._bytes[partition] for partition in records if partition in self._bytes}
        return Written(time_s=now_s, records=dict(records), bytes=sized)


class WrittenBySize:
    """Sizes on disk, of leaders only; records as by offsets."""

    def __init__(
        self, settings: KafkaSettings, topics: Sequence[str], *, now_s: Callable[[], float] = time.monotonic
    ) -> None:
        self._settings = settings
        self._topics = tuple(topics)
        self._now_s = now_s
        self._admin = Admin(settings)
        self._count = RecordCount()
        self._sizes = _size_client(settings)

    def look(self) -> Written:
        ends = end_offsets(self._settings, self._topics, admin=self._admin)
        leaders = self._leaders()
        try:
            sizes = partition_sizes(self._sizes, leaders)
        except Exception as error:
            raise fault(error, bootstrap=self._settings.bootstrap, doing="asking for the sizes of partitions") from None
        return Written(time_s=self._now_s(), records=dict(self._count.add(ends)), bytes=sizes)

    def close(self) -> None:
        self._sizes.close()

    def _leaders(self) -> dict[Partition, int]:
        known = self._admin.metadata().topics
        return {
            Partition(topic, number): described.leader
            for topic in self._topics
            if topic in known
            for number, described in known[topic].partitions.items()
        }


def partition_sizes(client: Any, leaders: Mapping[Partition, int]) -> dict[Partition, float]:
    """Bytes on disk of the copy that its leader has, of each partition."""
    found: dict[Partition, float] = {}
    for broker in client.describe_log_dirs():
        for folder in broker["log_dirs"]:
            for topic in folder["topics"]:
                for each in topic["partitions"]:
                    partition = Partition(topic["name"], each["partition_index"])
                    if leaders.get(partition) == broker["broker"]:
                        found[partition] = found.get(partition, 0.0) + each["partition_size"]
    return found


def _size_client(settings: KafkaSettings) -> Any:
    try:
        from kafka import KafkaAdminClient
    except ModuleNotFoundError:
        raise UserMistake(
            "measuring speeds by the size of partitions needs kafka-python, which is not installed; run pip install "
            "'headgate[sizes]', or measure them by offsets"
        ) from None
    if settings.client:
        raise UserMistake(
            "measuring speeds by the size of partitions works without client settings only; measure them by offsets"
        )
    return KafkaAdminClient(bootstrap_servers=settings.bootstrap.split(","))


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
