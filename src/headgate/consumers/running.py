"""The controller as a process: reads its inbox and the speeds, lets ``controller`` decide, and does what it says."""

from __future__ import annotations

import logging
import socket
import threading
import time
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

from headgate.consumers.actions import Action, Create, Delete, GroupSettings, Note, Send
from headgate.consumers.chronicle import Chronicle
from headgate.consumers.controller import GroupController
from headgate.consumers.fleet import Fleet
from headgate.consumers.messages import CONTROLLER, METADATA, METADATA_TOPIC, SPEEDS, SPEEDS_TOPIC, Leads, WriteSpeeds
from headgate.consumers.post import Inbox, Outbox
from headgate.errors import HeadgateError, Temporary
from headgate.kafka.admin import Admin
from headgate.kafka.faults import Presence
from headgate.kafka.offsets import lag_of
from headgate.kafka.settings import KafkaSettings
from headgate.kafka.topics import Topic, ensure_topics

log = logging.getLogger("headgate")

_TURN_S = 0.2
_PROBE_EVERY_S = 1.0
_LAG_EVERY_S = 2.0
_SPARE_INBOXES = 8


def ensure_group_topics(kafka: KafkaSettings, *, consumers: int) -> None:
    """The two topics that monitor, controller and consumers talk through; an inbox for each consumer."""
    kept = {"retention.ms": str(24 * 3600 * 1000)}
    ensure_topics(
        kafka,
        [
            Topic(SPEEDS_TOPIC, 1, settings={"retention.ms": str(3600 * 1000)}),
            Topic(METADATA_TOPIC, consumers + 1, settings=kept),
        ],
        grow=True,
    )


class RunningController:
    """One term of a controller; ends when it is told to, or when a later one leads."""

    def __init__(
        self,
        kafka: KafkaSettings,
        settings: GroupSettings,
        *,
        fleet: Fleet,
        topics: Sequence[str],
        group: str,
        chronicle: Chronicle,
    ) -> None:
        self._kafka = kafka
        self._settings = settings
        self._fleet = fleet
        self._topics = tuple(topics)
        self._group = group
        self._chronicle = chronicle
        self._inboxes = settings.most_consumers + _SPARE_INBOXES
        self._stop = threading.Event()
        self._admin = Admin(kafka, within_s=2.0)
        self._presence = Presence(kafka.bootstrap)
        self._uncreated: set[int] = set()
        self._lag_s = self._probed_s = float("-inf")

    def stop(self) -> None:
        self._stop.set()

    def run(self) -> None:
        ensure_group_topics(self._kafka, consumers=self._inboxes)
        self._outbox = Outbox(self._kafka, METADATA_TOPIC, METADATA)
        speeds = Inbox(self._kafka, SPEEDS_TOPIC, SPEEDS)
        name = f"{socket.gethostname()}-{time.time_ns():x}"
        term = self._outbox.send_and_wait(Leads(controller=name), partition=CONTROLLER)
        inbox = Inbox(self._kafka, METADATA_TOPIC, METADATA, partition=CONTROLLER, start=term + 1)
        controller = GroupController(self._settings, term=term)
        self._do(partial(controller.begin, self._fleet.members()))
        try:
            while not self._stop.is_set():
                if not self._turn(controller, inbox, speeds):
                    return
        finally:
            inbox.close()
            speeds.close()
            self._outbox.close()

    def _turn(self, controller: GroupController, inbox: Inbox, speeds: Inbox) -> bool:
        """One look at all that may have come; whether to go on."""
        for event in inbox.read(_TURN_S):
            if isinstance(event, Leads):
                log.warning("another controller leads by now; this one ends")
                return False
            self._do(partial(controller.heard, event))
        if not self._kafka_answers(controller):
            return True
        measured: list[WriteSpeeds] = speeds.read()
        if measured:
            self._do(partial(controller.measured, measured[-1]))
            self._write_down(controller, measured[-1])
        self._fleet.supervise()
        for number in sorted(self._uncreated):
            self._create(number)
        self._do(partial(controller.tick, self._fleet.live()))
        return True

    def _kafka_answers(self, controller: GroupController) -> bool:
        """While brokers are gone nobody can be heard, and nobody is taken for lost because of it."""
        now_s = time.monotonic()
        if now_s - self._probed_s < _PROBE_EVERY_S:
            return not self._presence.gone
        self._probed_s = now_s
        try:
            self._admin.metadata(METADATA_TOPIC)
        except Temporary as gone:
            self._presence.lost(gone)
            return False
        if self._presence.gone:
            controller.excuse(time.monotonic())
            self._chronicle.tell("note", code="kafka-back", message="Kafka answers again; all leases begin anew")
        self._presence.answered()
        return True

    def _do(self, decide: Callable[[float], Sequence[Action]]) -> None:
        began_s = time.monotonic()
        actions = decide(began_s)
        took_s = time.monotonic() - began_s
        for action in actions:
            match action:
                case Send(consumer, command):
                    self._outbox.send(command, partition=consumer)
                case Create(consumer):
                    self._create(consumer)
                case Delete(consumer):
                    self._uncreated.discard(consumer)
                    self._fleet.delete(consumer)
                case Note(code, message, figures):
                    if code != "unchanged":
                        log.info("%s", message)
                    told = {**figures, "plan_s": took_s} if code == "plan" else dict(figures)
                    self._chronicle.tell("note", code=code, message=message, figures=told)

    def _create(self, number: int) -> None:
        try:
            if number >= self._inboxes:
                self._inboxes = number + _SPARE_INBOXES
                ensure_group_topics(self._kafka, consumers=self._inboxes)
            self._fleet.create(number)
            self._uncreated.discard(number)
        except Temporary as later:
            if number not in self._uncreated:
                log.info("%s", later)
            self._uncreated.add(number)

    def _write_down(self, controller: GroupController, speeds: WriteSpeeds) -> None:
        """What the report draws: speeds, who reads what, and lag."""
        figures: dict[str, Any] = {
            "speeds": {f"{one.topic}-{one.number}": round(one.bytes_per_s, 1) for one in speeds.speeds},
            "records_per_s": round(sum(one.records_per_s for one in speeds.speeds), 1),
            "assignment": controller.assignment,
            "consumers": sorted(controller.consumers),
            "phase": controller.phase.value,
        }
        if time.monotonic() - self._lag_s >= _LAG_EVERY_S:
            self._lag_s = time.monotonic()
            try:
                behind = lag_of(self._kafka, self._group, self._topics, admin=self._admin)
                figures["lag"] = {f"{partition.topic}-{partition.number}": lag for partition, lag in behind.items()}
            except HeadgateError as error:
                log.debug("lag is not known: %s", error)
        self._chronicle.tell("group", **figures)
