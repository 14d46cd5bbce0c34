"""Records into a topic: an idempotent producer, so that each arrives exactly once, whatever is repeated on the way."""

from __future__ import annotations

from typing import Any

from confluent_kafka import KafkaError, KafkaException, Message, Producer

from headgate.errors import Permanent
from headgate.kafka.settings import KafkaSettings

_MOST_KBYTES = 256 * 1024

_DEFAULTS: dict[str, Any] = {
    "linger.ms": 5,
    "compression.type": "none",
    "queue.buffering.max.kbytes": _MOST_KBYTES,
    "reconnect.backoff.max.ms": 1000,
    # As Kafka's own clients place keys.
    "partitioner": "murmur2_random",
    # Problems come as events; the library's own lines would only garble a terminal.
    "log_level": 0,
}


class TopicOutlet:
    """``sending.Outlet`` of one topic; holds at most ``room`` records: an outage is not made up for in one go."""

    def __init__(self, settings: KafkaSettings, topic: str, *, room: int) -> None:
        self._topic = topic
        self._bootstrap = settings.bootstrap
        self._taken = 0
        self._failed = 0
        self._last_failure = ""
        self._trouble: str | None = None
        self._arrived_before_trouble = 0
        self._fatal: str | None = None
        self._producer = Producer(
            {
                **_DEFAULTS,
                **settings.for_client(),
                "enable.idempotence": True,
                "queue.buffering.max.messages": room,
                # A record is tried again for as long as the broker is away.
                "message.timeout.ms": 0,
                "delivery.report.only.error": True,
                "on_delivery": self._refused,
                "error_cb": self._disturbed,
            }
        )

    @property
    def failed(self) -> int:
        return self._failed

    @property
    def last_failure(self) -> str:
        """Why the last of them failed."""
        return self._last_failure

    @property
    def waiting(self) -> int:
        return len(self._producer)

    @property
    def trouble(self) -> str | None:
        return self._trouble

    def send(self, values: list[bytes], keys: list[bytes] | None, partitions: list[int]) -> int:
        produce, topic = self._producer.produce, self._topic
        taken = 0
        try:
            if keys is None:
                for value, partition in zip(values, partitions, strict=True):
                    produce(topic, value, None, partition)
                    taken += 1
            else:
                for value, key, partition in zip(values, keys, partitions, strict=True):
                    produce(topic, value, key, partition)
                    taken += 1
        except BufferError:
            pass
        except KafkaException as problem:
            raise Permanent(f"topic '{topic}' takes no records: {problem.args[0].str()}") from None
        self._taken += taken
        return taken

    def serve(self) -> None:
        self._producer.poll(0)
        if self._fatal is not None:
            raise Permanent(self._fatal)
        if self._trouble is not None and self._taken - self.waiting > self._arrived_before_trouble:
            self._trouble = None

    def _refused(self, error: KafkaError | None, message: Message) -> None:  # noqa: ARG002 - the client's signature
        if error is not None:
            self._failed += 1
            self._last_failure = error.str()

    def _disturbed(self, error: KafkaError) -> None:
        if error.fatal() or error.code() in (KafkaError._AUTHENTICATION, KafkaError._SSL):
            self._fatal = f"Kafka at {self._bootstrap} refuses the producer: {error.str()}"
        elif error.code() == KafkaError._ALL_BROKERS_DOWN and self._trouble is None:
            self._trouble = f"Kafka at {self._bootstrap} is away"
            self._arrived_before_trouble = self._taken - self.waiting
