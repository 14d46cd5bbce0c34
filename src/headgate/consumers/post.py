"""Letters through Kafka: one partition is one inbox, read in order from an offset that its reader remembers."""

from __future__ import annotations

import logging
from typing import Any

from confluent_kafka import OFFSET_END, Consumer, KafkaError, KafkaException, Producer, TopicPartition

from headgate.consumers.avro import Unreadable, Vocabulary
from headgate.errors import HeadgateError, Temporary
from headgate.kafka.faults import Complaints, Presence, fault
from headgate.kafka.offsets import Partition, end_offsets
from headgate.kafka.settings import KafkaSettings

log = logging.getLogger("headgate")

_TAKEN_WITHIN_S = 30.0
_MOST_AT_ONCE = 500


class Outbox:
    """Sends in order; what a broker that is gone has not taken is kept and sent when it is back."""

    def __init__(self, settings: KafkaSettings, topic: str, vocabulary: Vocabulary) -> None:
        self._topic = topic
        self._vocabulary = vocabulary
        self._bootstrap = settings.bootstrap
        wanted: dict[str, Any] = {
            **settings.for_client(),
            **Complaints().settings(),
            "enable.idempotence": True,
            "linger.ms": 0,
            "message.timeout.ms": 0,
        }
        self._producer: Any = Producer(wanted)

    def send(self, message: object, *, partition: int) -> None:
        try:
            self._producer.produce(self._topic, self._vocabulary.encode(message), partition=partition)
        except (BufferError, KafkaException) as error:
            log.warning("a %s could not be sent: %s", type(message).__name__, error)
        self._producer.poll(0)

    def send_and_wait(self, message: object, *, partition: int) -> int:
        """The offset that it got."""
        taken: list[Any] = []
        self._producer.produce(
            self._topic,
            self._vocabulary.encode(message),
            partition=partition,
            on_delivery=lambda error, sent: taken.append(error or sent.offset()),
        )
        if self._producer.flush(_TAKEN_WITHIN_S) or not taken:
            raise Temporary(f"Kafka at {self._bootstrap} has not taken a message; trying again")
        if isinstance(taken[0], KafkaError):
            raise fault(taken[0], bootstrap=self._bootstrap, doing=f"writing to topic '{self._topic}'")
        return int(taken[0])

    def close(self) -> None:
        self._producer.flush(5.0)


class Inbox:
    """One partition, from an offset on; what cannot be read is said and left aside."""

    def __init__(
        self,
        settings: KafkaSettings,
        topic: str,
        vocabulary: Vocabulary,
        *,
        partition: int = 0,
        start: int | None = None,
    ) -> None:
        """``start`` is the next offset to read; without it, what comes from now on."""
        self._settings = settings
        self._vocabulary = vocabulary
        self._topic = topic
        self._partition = partition
        self._presence = Presence(settings.bootstrap)
        self._client: Any = Consumer(
            {
                **settings.for_client(),
                **Complaints().settings(),
                "group.id": f"headgate-{topic}-{partition}",
                "enable.auto.commit": False,
                "auto.offset.reset": "earliest",
                "fetch.wait.max.ms": 50,
                "reconnect.backoff.max.ms": 1000,
            }
        )
        self.next_offset = self._end() if start is None else start
        self._client.assign([TopicPartition(topic, partition, self.next_offset)])

    def _end(self) -> int:
        """Asked for now, so that nothing that is written from here on is missed."""
        try:
            return end_offsets(self._settings, [self._topic])[Partition(self._topic, self._partition)]
        except (HeadgateError, KeyError):
            return int(OFFSET_END)

    def read(self, within_s: float = 0.0) -> list[Any]:
        """What has come, in order; waits for the first of it for at most so long."""
        found = []
        for letter in self._client.consume(_MOST_AT_ONCE, timeout=within_s):
            error = letter.error()
            if error is not None:
                if error.code() != KafkaError._PARTITION_EOF:
                    self._presence.lost(fault(error, bootstrap=self._settings.bootstrap, doing="reading messages"))
                continue
            self._presence.answered()
            self.next_offset = letter.offset() + 1
            try:
                found.append(self._vocabulary.decode(letter.value()))
            except Unreadable as unreadable:
                log.warning("%s[%d] at %d: %s", self._topic, self._partition, letter.offset(), unreadable)
        return found

    def close(self) -> None:
        self._client.close()
