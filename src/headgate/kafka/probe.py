"""Arrivals at a query's topics at any moment, as the sum of their end offsets.

Spark's own offsets of a Kafka source, summed over its partitions, lie on the same axis.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence

from headgate.errors import HeadgateError, Temporary, UserMistake
from headgate.kafka.admin import END, Admin, Partition
from headgate.kafka.faults import BackOff, Presence
from headgate.kafka.offsets import all_partitions
from headgate.kafka.settings import KafkaSettings

# Of each of two questions, so that both together stay below a second.
_ANSWER_WITHIN_S = 0.45
_PARTITIONS_EVERY_S = 10.0


class KafkaProbe:
    """A ``probe`` takes about a millisecond, and less than a second when nobody answers.

    While the brokers are gone it raises ``Temporary``, mostly at once: it asks again after pauses that grow.
    """

    def __init__(
        self, settings: KafkaSettings, topics: Sequence[str], *, now_s: Callable[[], float] = time.monotonic
    ) -> None:
        if not topics:
            raise UserMistake("a probe of Kafka needs at least one topic; name those that the query reads")
        self._settings = settings
        self._topics = tuple(topics)
        self._now_s = now_s
        self._admin = Admin(settings, within_s=_ANSWER_WITHIN_S)
        self._presence = Presence(settings.bootstrap)
        self._pause = BackOff(first_s=0.5, longest_s=4.0)
        self._asleep_until_s = float("-inf")
        self._partitions: tuple[Partition, ...] = ()
        self._partitions_at_s = float("-inf")

    def probe(self) -> float:
        """Records that have ever been written to the topics."""
        if self._now_s() < self._asleep_until_s:
            raise Temporary(f"Kafka at {self._settings.bootstrap} did not answer a moment ago; asking again soon")
        try:
            records = self._ask()
        except HeadgateError as error:
            # The topics may have been made anew, with other partitions.
            self._partitions_at_s = float("-inf")
            self._asleep_until_s = self._now_s() + self._pause.next_s()
            self._presence.lost(error)
            raise
        self._pause.reset()
        self._presence.answered()
        return records

    def _ask(self) -> float:
        if self._now_s() - self._partitions_at_s >= _PARTITIONS_EVERY_S:
            self._partitions = all_partitions(self._settings, self._topics, admin=self._admin)
            self._partitions_at_s = self._now_s()
        ends = self._admin.offsets(self._partitions, END)
        return float(sum(ends.values()))
