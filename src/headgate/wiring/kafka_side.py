"""The Kafka of an app: its broker, its topics, where the app began in them, and what fills them."""

from __future__ import annotations

import contextlib
from collections.abc import Mapping, Sequence
from dataclasses import replace

from headgate.config import AppFile
from headgate.errors import Temporary
from headgate.kafka.admin import Admin
from headgate.kafka.broker import LocalBroker, status
from headgate.kafka.faults import patiently
from headgate.kafka.offsets import Partition, beginning_offsets, end_offsets
from headgate.kafka.production import Production
from headgate.kafka.settings import KafkaSettings
from headgate.kafka.topics import Topic, ensure_topics
from headgate.wiring.completion import Offsets
from headgate.wiring.controller_process import Say
from headgate.wiring.loads import production_plan
from headgate.wiring.run_note import RunNote, read_note, set_aside

_TOPICS_WITHIN_S = 30.0
"""Topics that were just made need a moment until somebody leads them."""


class KafkaSide:
    """Opened before there is a session; ends with the stack that it is given."""

    def __init__(self, app: AppFile, *, say: Say) -> None:
        self._app = app
        self._say = say
        self._productions: list[Production] = []
        self._settings: KafkaSettings | None = None
        self._known_admin: Admin | None = None
        self.note = RunNote(cluster="", starts={})

    def open(self, stack: contextlib.ExitStack) -> None:
        """Broker, topics, and the note of an earlier run on the same cluster, or a new one."""
        app = self._app
        self._settings = self._reach(stack)
        ensure_topics(self.settings, [Topic(topic.name, topic.partitions) for topic in app.all_topics])
        cluster = str(self._admin.metadata().cluster_id)
        note = read_note(app.folder)
        if note is None or note.cluster != cluster:
            place = set_aside(app)
            if place is not None:
                self._say(f"the topics of the run before are gone; what is left of it has been moved to {place}")
            note = RunNote(cluster=cluster, starts={})
        fresh = {topic for operator in app.operators for topic in operator.reads} - set(note.starts)
        self.note = replace(note, starts={**note.starts, **self._starts(fresh)})
        self.note.write(app.folder)

    @property
    def settings(self) -> KafkaSettings:
        """How the brokers are reached, once it is open."""
        assert self._settings is not None
        return self._settings

    @property
    def _admin(self) -> Admin:
        if self._known_admin is None:
            self._known_admin = Admin(self.settings)
        return self._known_admin

    def _reach(self, stack: contextlib.ExitStack) -> KafkaSettings:
        table = self._app.kafka
        if not table.is_local:
            client = {} if table.config is None else KafkaSettings.read_client_config(table.config)
            return KafkaSettings(table.bootstrap, client)
        running = status()
        if running is not None and running.running and running.answering:
            self._say(f"using the Kafka broker at {running.bootstrap}")
            return KafkaSettings(running.bootstrap)
        self._say("starting a Kafka broker on this machine …")
        return stack.enter_context(LocalBroker()).settings

    def _starts(self, topics: set[str]) -> Offsets:
        """Where to begin: what this app itself brings comes after what is there; of others as their reader wants."""
        filled = {producer.topic for producer in self._app.producers}
        filled |= {operator.writes for operator in self._app.operators if operator.writes is not None}
        late = {topic for operator in self._app.operators if operator.starting == "latest" for topic in operator.reads}
        at_end = [topic for topic in sorted(topics) if topic in filled | late]
        at_start = [topic for topic in sorted(topics) if topic not in at_end]
        return patiently(
            lambda: {
                **by_topic(end_offsets(self.settings, at_end, admin=self._admin)),
                **by_topic(beginning_offsets(self.settings, at_start, admin=self._admin)),
            },
            within_s=_TOPICS_WITHIN_S,
        )

    def ends(self, topics: Sequence[str]) -> Offsets:
        return by_topic(end_offsets(self.settings, topics, admin=self._admin))

    def produce(self, stack: contextlib.ExitStack) -> None:
        """Start the producers; the numbers of their records follow those of earlier runs."""
        plans = [
            production_plan(producer, first_sequence=self.note.produced.get(producer.topic, 0))
            for producer in self._app.producers
        ]
        self._productions = [Production(self.settings, plan) for plan in plans]
        whole = self.note.whole
        used = {each.plan.topic: each.plan.first_sequence + each.total for each in self._productions}
        # Until all have arrived, numbers may be missing: that is how a driver that is killed leaves the note.
        self.note = replace(self.note, produced={**self.note.produced, **used}, whole=False)
        self.note.write(self._app.folder)
        stack.callback(self._close, whole)
        for production in self._productions:
            stack.enter_context(production)

    def _close(self, whole: bool) -> None:
        arrived = all(each.finished and each.result().exact for each in self._productions)
        self.note = replace(self.note, whole=whole and arrived)
        self.note.write(self._app.folder)

    @property
    def produces(self) -> bool:
        return bool(self._productions)

    def all_produced(self) -> bool:
        """Whether the producers are finished; raises what went wrong with them."""
        for production in self._productions:
            problem = production.problem
            if problem is not None and not isinstance(problem, Temporary):
                raise problem
        return all(production.finished for production in self._productions)

    def produced(self) -> Mapping[str, int]:
        """Records of this run that have arrived, by topic."""
        return {each.plan.topic: each.status().acknowledged for each in self._productions}

    @property
    def ends_at_s(self) -> float | None:
        ends = [each.start_time_s + each.plan.load().duration_s for each in self._productions]
        return max(ends, default=None)


def by_topic(offsets: Mapping[Partition, int]) -> dict[str, dict[int, int]]:
    """Offsets as checkpoints have them.

    >>> by_topic({Partition("lines", 0): 5, Partition("lines", 1): 7})
    {'lines': {0: 5, 1: 7}}
    """
    found: dict[str, dict[int, int]] = {}
    for partition, offset in offsets.items():
        found.setdefault(partition.topic, {})[partition.number] = offset
    return found
