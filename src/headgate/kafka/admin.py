"""One quiet connection to a Kafka cluster for questions about it, with waits that end and errors of our kinds."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterable, Mapping
from concurrent.futures import Future
from typing import Any, NamedTuple, TypeVar

from confluent_kafka import Consumer, KafkaError, KafkaException, TopicPartition
from confluent_kafka.admin import AdminClient, OffsetSpec  # type: ignore[attr-defined]

from headgate.errors import HeadgateError, Temporary, UserMistake
from headgate.kafka.faults import Complaints, fault, first_line
from headgate.kafka.settings import KafkaSettings

T = TypeVar("T")
END: Any = OffsetSpec.latest()  # type: ignore[no-untyped-call]
BEGINNING: Any = OffsetSpec.earliest()  # type: ignore[no-untyped-call]
# A question is repeated in short waits, because the client tells why it was not let in only between them.
_SLICE_S = 0.5
_COMMITTED_WITHIN_S = 2.0


class Partition(NamedTuple):
    topic: str
    number: int


class Admin:
    """Asks for metadata, offsets and topics; safe to use from several threads."""

    def __init__(self, settings: KafkaSettings, *, within_s: float = 10.0) -> None:
        self.bootstrap = settings.bootstrap
        self.within_s = within_s
        self._complaints = Complaints()
        self._wanted: dict[str, Any] = {
            "reconnect.backoff.ms": "50",
            "reconnect.backoff.max.ms": "1000",
            **settings.for_client(),
            **self._complaints.settings(),
        }
        self._client: Any = None
        self._readers: dict[str, Any] = {}
        self._opening = threading.Lock()
        # Settings that cannot be used are said at once.
        _ = self.client

    @property
    def client(self) -> Any:
        """The connection; another one after a question that was not answered.

        A connection keeps what it knew of leaders and coordinators. After a broker's restart that is wrong, and some
        questions are refused, or wait in vain, for as long as the connection lives.
        """
        with self._opening:
            if self._client is None:
                try:
                    self._client = AdminClient(self._wanted)
                except KafkaException as error:
                    raise UserMistake(
                        f"the client settings for Kafka at {self.bootstrap} cannot be used: "
                        f"{first_line(error.args[0].str())}"
                    ) from None
            return self._client

    def metadata(self, topic: str | None = None, *, within_s: float | None = None) -> Any:
        """Brokers and topics (or one topic) as the cluster tells them now."""
        whole_s = self.within_s if within_s is None else within_s
        doing = "asking for its topics"
        asked_s = time.monotonic()
        while True:
            left_s = whole_s - (time.monotonic() - asked_s)
            try:
                return self.client.list_topics(topic=topic, timeout=max(0.01, min(_SLICE_S, left_s)))
            except KafkaException as error:
                self._check_let_in(doing)
                known = fault(error, bootstrap=self.bootstrap, doing=doing)
                if not isinstance(known, Temporary) or left_s <= _SLICE_S:
                    raise known from None

    def offsets(self, partitions: Iterable[Partition], which: Any) -> dict[Partition, int]:
        """Of the end or the beginning: one request to each leader, whatever the number of partitions."""
        asked = {TopicPartition(*partition): which for partition in partitions}
        if not asked:
            return {}
        deadline = time.monotonic() + self.within_s
        futures: Mapping[TopicPartition, Future[Any]] = self.client.list_offsets(asked, request_timeout=self.within_s)
        found = {}
        for each, future in futures.items():
            left_s = deadline - time.monotonic()
            doing = f"asking for offsets of topic '{each.topic}'"
            offset = int(self.result(future, doing=doing, within_s=left_s).offset)
            if offset < 0:
                # When the broker that leads a partition has just gone, the client gives a mark and no error.
                raise self._doubted(KafkaException(KafkaError(KafkaError._TRANSPORT)), doing)
            found[Partition(each.topic, each.partition)] = offset
        return found

    def committed(self, group: str, partitions: Iterable[Partition]) -> dict[Partition, int | None]:
        """How far a group has come in each partition; ``None`` where it has not committed anything.

        Asked as a member that never joins. The same question of an ``AdminClient`` ends the whole process when the
        broker that keeps the group's offsets has just started and refuses: librdkafka tells this to a membership that
        it does not have (a segmentation fault in ``rd_kafka_cgrp_op``, seen in 2.16).
        """
        doing = f"asking for the offsets of group '{group}'"
        wanted = [TopicPartition(*partition) for partition in partitions]
        try:
            found = self._reader(group).committed(wanted, timeout=min(_COMMITTED_WITHIN_S, self.within_s))
        except KafkaException as error:
            self._check_let_in(doing)
            raise self._doubted(error, doing) from None
        for each in found:
            if each.error is not None:
                raise self._doubted(KafkaException(each.error), doing)
        return {Partition(each.topic, each.partition): each.offset if each.offset >= 0 else None for each in found}

    def _reader(self, group: str) -> Any:
        with self._opening:
            if group not in self._readers:
                self._readers[group] = Consumer({**self._wanted, "group.id": group, "enable.auto.commit": False})
            return self._readers[group]

    def result(self, future: Future[T], *, doing: str, within_s: float | None = None) -> T:
        """What a future of the client gives."""
        whole_s = self.within_s if within_s is None else within_s
        asked_s = time.monotonic()
        while True:
            left_s = whole_s - (time.monotonic() - asked_s)
            try:
                return future.result(timeout=max(0.0, min(_SLICE_S, left_s)))
            except TimeoutError as error:
                self._check_let_in(doing)
                if left_s <= 0:
                    raise self._doubted(error, doing) from None
            except KafkaException as error:
                self._check_let_in(doing)
                raise self._doubted(error, doing) from None

    def _doubted(self, error: KafkaException | TimeoutError, doing: str) -> HeadgateError:
        """Our error for it; and if trying again may help, that is done with another connection."""
        known = fault(error, bootstrap=self.bootstrap, doing=doing)
        if isinstance(known, Temporary):
            with self._opening:
                self._client = None
                self._readers = {}
        return known

    def _check_let_in(self, doing: str) -> None:
        self.client.poll(0)
        refused, self._complaints.not_let_in = self._complaints.not_let_in, None
        if refused is not None:
            raise fault(refused, bootstrap=self.bootstrap, doing=doing)
