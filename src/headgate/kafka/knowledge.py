"""What a controller knows, kept in a compacted topic, so that one on another machine can go on with it.

A record for the newest epoch, one for what is said about the run, and one for each of the last ticks; of each key the
topic keeps the newest record only, so it does not grow with the time that an app runs. Whoever takes over reads it from
the beginning.
"""

from __future__ import annotations

import logging
import math
import time
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any

from confluent_kafka import OFFSET_BEGINNING, Consumer, KafkaError, KafkaException, Producer, TopicPartition

from headgate import codec
from headgate.core.decision import Outcome, Tick
from headgate.core.ports import Journal, JournalHeader
from headgate.core.sample import Sample
from headgate.errors import HeadgateError, Temporary, UserMistake
from headgate.kafka.faults import Complaints, fault
from headgate.kafka.offsets import end_offsets
from headgate.kafka.settings import KafkaSettings
from headgate.kafka.topics import Topic, ensure_topics

log = logging.getLogger(__name__)

TOPIC = Topic("headgate.knowledge", partitions=1, settings={"cleanup.policy": "compact"})
_TICKS_KEPT = 512
_WITHIN_S = 10.0
_TICK_WITHIN_S = 2.0
"""For a leader that is killed just after a tick; only once when a broker does not answer."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Known:
    """What stands in the topic about one app."""

    epoch: int = 0
    header: JournalHeader | None = None
    ticks: tuple[Tick, ...] = ()
    """Oldest first."""


class KnowledgeTopic:
    """The part of the topic that is about one app."""

    def __init__(self, settings: KafkaSettings, app: str) -> None:
        self._settings = settings
        self._app = app
        self._complaints = Complaints()
        self._unanswered = False
        ensure_topics(settings, [TOPIC])
        wanted: dict[str, Any] = {
            **settings.for_client(),
            **self._complaints.settings(),
            "enable.idempotence": True,
            "compression.type": "lz4",
            "message.timeout.ms": int(_WITHIN_S * 1000),
        }
        self._producer: Any = Producer(wanted)

    def publish_epoch(self, epoch: int) -> None:
        """Known for good when this returns."""
        self._put("epoch", codec.to_json(epoch))
        if self._producer.flush(_WITHIN_S):
            raise Temporary(f"Kafka at {self._settings.bootstrap} has not taken an epoch; trying again")

    def publish_header(self, header: JournalHeader) -> None:
        self._put("header", codec.to_json(header))

    def publish_tick(self, tick: Tick) -> None:
        """Known when this returns, if Kafka takes it soon; a loop does not wait for a broker that is slow or gone."""
        self._put(f"tick-{tick.index % _TICKS_KEPT}", codec.to_json(tick))
        waits_still = self._unanswered and len(self._producer) > 1
        self._unanswered = waits_still or self._producer.flush(_TICK_WITHIN_S) > 0

    def close(self) -> None:
        self._producer.flush(_WITHIN_S)

    def _put(self, what: str, value: bytes) -> None:
        try:
            self._producer.produce(TOPIC.name, key=f"{self._app}/{what}".encode(), value=value)
            self._producer.poll(0)
        except (BufferError, KafkaException) as error:
            log.warning("what the controller of '%s' knows could not be sent to Kafka: %s", self._app, error)

    def read(self) -> Known:
        """All that is known of the app; what cannot be read, of another version, is left out."""
        values = self._newest()
        ticks = [tick for key, value in values.items() if key.startswith("tick-") and (tick := _read(Tick, value))]
        header = _read(JournalHeader, values["header"]) if "header" in values else None
        return Known(
            epoch=_read(int, values.get("epoch", b"0")) or 0,
            header=header,
            ticks=_of_the_leaders(ticks),
        )

    def _newest(self) -> dict[str, bytes]:
        """The last value of each key."""
        (end,) = end_offsets(self._settings, [TOPIC.name]).values()
        wanted: dict[str, Any] = {
            **self._settings.for_client(),
            **self._complaints.settings(),
            "group.id": f"headgate-knowledge-{self._app}",
            "enable.auto.commit": False,
            "enable.partition.eof": True,
        }
        consumer: Any = Consumer(wanted)
        found: dict[str, bytes] = {}
        prefix, deadline_s, position = f"{self._app}/".encode(), time.monotonic() + _WITHIN_S, 0
        try:
            consumer.assign([TopicPartition(TOPIC.name, 0, OFFSET_BEGINNING)])
            while position < end:
                message = consumer.poll(0.2)
                if time.monotonic() > deadline_s:
                    raise Temporary(f"Kafka at {self._settings.bootstrap} does not tell what is known; trying again")
                if message is None:
                    continue
                if message.error() is not None:
                    if message.error().code() == KafkaError._PARTITION_EOF:
                        break
                    raise fault(message.error(), bootstrap=self._settings.bootstrap, doing="reading what is known")
                position = message.offset() + 1
                if message.key() is not None and message.key().startswith(prefix) and message.value() is not None:
                    found[message.key()[len(prefix) :].decode(errors="replace")] = message.value()
        finally:
            consumer.close()
        return found


def _of_the_leaders(ticks: Iterable[Tick]) -> tuple[Tick, ...]:
    """Without those that a leader that had been stopped made after the next one led; oldest first."""
    kept, next_led_s = list[Tick](), math.inf
    for tick in sorted(ticks, key=lambda tick: (tick.epoch, tick.time_s), reverse=True):
        if tick.time_s < next_led_s:
            kept.append(tick)
            next_led_s = tick.time_s
    return tuple(reversed(kept))


def _read(kind: Any, value: bytes) -> Any:
    try:
        return codec.from_json(kind, value, where="knowledge")
    except UserMistake as error:
        log.warning("something that another controller knew is not understood here (%s)", error)
        return None


class SharedJournal:
    """A journal whose ticks are kept in the topic as well; implements the port ``Journal``.

    Samples stay on the machine of whoever leads: there are many, and a decision needs only what ticks remember.
    """

    def __init__(self, journal: Journal, topic: KnowledgeTopic) -> None:
        self._journal = journal
        self._topic = topic
        try:
            self._catch_up(topic.read())
        except HeadgateError:
            journal.close()
            raise

    def _catch_up(self, known: Known) -> None:
        """What others have decided since this journal was last written to."""
        last = self._journal.last_tick()
        missing = [tick for tick in known.ticks if last is None or tick.time_s > last.time_s]
        if known.header is not None and missing:
            self._journal.open_run(known.header)
            for tick in missing:
                self._journal.append_tick(tick)

    def open_run(self, header: JournalHeader) -> None:
        self._journal.open_run(header)
        self._topic.publish_header(header)

    def append_sample(self, sample: Sample) -> None:
        self._journal.append_sample(sample)

    def append_tick(self, tick: Tick) -> None:
        # First to the others: a journal that cannot be written must not keep them from knowing. Who was refused does
        # not lead any more, and would write over what the next leader knows.
        if tick.outcome is not Outcome.REFUSED:
            self._topic.publish_tick(tick)
        self._journal.append_tick(tick)

    def header(self) -> JournalHeader:
        return self._journal.header()

    def samples(self, *, since_s: float | None = None) -> Iterator[Sample]:
        return self._journal.samples(since_s=since_s)

    def ticks(self, *, since_s: float | None = None) -> Iterator[Tick]:
        return self._journal.ticks(since_s=since_s)

    def last_tick(self) -> Tick | None:
        return self._journal.last_tick()

    def close(self) -> None:
        self._topic.close()
        self._journal.close()
