"""Who leads, among controllers on several machines: the member of a group that has the only partition of a topic.

Kafka gives a partition to one member of a group at a time, and to another when a member is silent for its session's
timeout. A member that was stopped and comes back hears of it with its next poll; until then agents protect the app from
it, because every leader's epoch is greater than that of the one before, which is kept in the topic of what is known.
"""

from __future__ import annotations

from typing import Any

from confluent_kafka import Consumer, KafkaException

from headgate.errors import UserMistake
from headgate.kafka.faults import Complaints, fault
from headgate.kafka.knowledge import KnowledgeTopic
from headgate.kafka.settings import KafkaSettings
from headgate.kafka.topics import Topic, ensure_topics

TOPIC = Topic("headgate.control", partitions=1)
SHORTEST_TAKEOVER_S = 10.0
"""Brokers do not accept sessions of less than six seconds unless told to, and a group takes a moment to settle."""
_SETTLES_S = 4.0
_HEARTBEAT_S = 0.5
_POLL_S = 0.5
LOOK_AGAIN_S = 0.1
"""Between two looks of a member that waits: each waits for news itself, and a group settles only while all listen."""


class KafkaLeadership:
    """``Leadership`` by membership in a group."""

    def __init__(self, settings: KafkaSettings, knowledge: KnowledgeTopic, *, app: str, takeover_s: float) -> None:
        if takeover_s < SHORTEST_TAKEOVER_S:
            raise UserMistake(
                f"a takeover within {takeover_s:g} s is not possible on Kafka; give {SHORTEST_TAKEOVER_S:g}s or more"
            )
        self._bootstrap = settings.bootstrap
        self._knowledge = knowledge
        self._leads = False
        self._complaints = Complaints()
        ensure_topics(settings, [TOPIC])
        session_s = takeover_s - _SETTLES_S
        self._wanted: dict[str, Any] = {
            **settings.for_client(),
            **self._complaints.settings(),
            "group.id": f"headgate-control-{app}",
            "enable.auto.commit": False,
            "auto.offset.reset": "latest",
            "session.timeout.ms": int(session_s * 1000),
            # A leader keeps its partition when another member comes; the other strategies would take it away first.
            "partition.assignment.strategy": "cooperative-sticky",
            "heartbeat.interval.ms": int(_HEARTBEAT_S * 1000),
        }
        self._consumer: Any = None

    @property
    def renew_every_s(self) -> float:
        return 1.0

    def seek(self, *, newest_epoch: int) -> int | None:
        if not self._polled():
            return None
        epoch = max(self._knowledge.read().epoch, newest_epoch) + 1
        self._knowledge.publish_epoch(epoch)
        # Reading and writing took a moment, in which it may have been lost.
        return epoch if self._polled(within_s=0.0) else None

    def keep(self) -> bool:
        return self._polled()

    def resign(self) -> None:
        """Leave the group, so that another member gets the partition at once."""
        consumer, self._consumer, self._leads = self._consumer, None, False
        if consumer is not None:
            consumer.close()

    def _polled(self, *, within_s: float = _POLL_S) -> bool:
        """Hear what the group has decided; whether this member leads."""
        try:
            if self._consumer is None:
                self._consumer = Consumer(self._wanted)
                self._consumer.subscribe(
                    [TOPIC.name], on_assign=self._assigned, on_revoke=self._lost, on_lost=self._lost
                )
            message = self._consumer.poll(within_s)
        except KafkaException as error:
            raise fault(error, bootstrap=self._bootstrap, doing="finding out who leads") from None
        if message is not None and message.error() is not None:
            raise fault(message.error(), bootstrap=self._bootstrap, doing="finding out who leads")
        return self._leads

    def _assigned(self, _: Any, partitions: Any) -> None:
        self._leads = self._leads or bool(partitions)

    def _lost(self, _: Any, partitions: Any) -> None:
        self._leads = self._leads and not partitions
