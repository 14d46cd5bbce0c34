"""A consumer: reads exactly the partitions that it was given, in cycles, and brings them into a lake.

Source: the consumer-group autoscaler, section 4.3. A cycle: gather what has come, at most so many bytes or for so long;
write it, all tables at once; commit; do what the controller has said. Spark reads and writes: a batch read with
explicit offsets, because the partitions of a *streaming* query cannot change while it runs.

What is to be written is planned and kept first, written aside, and decided by the lake's log (``commit_log``), which
takes it only if the partitions are still this consumer's; a crash anywhere leaves nothing twice and nothing out.
Beyond the paper: the log, epochs, and that it tells after each cycle, and in the middle of long ones, that it lives.
"""

from __future__ import annotations

import logging
import threading
import time
import uuid
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from confluent_kafka import Consumer, KafkaException, TopicPartition
from pyspark.sql import SparkSession

from headgate.consumers.chronicle import Chronicle
from headgate.consumers.commit_log import CommitLog, Fenced, Range
from headgate.consumers.cycle import Intake, RecordSizes, bytes_waiting, plan_intake
from headgate.consumers.holdings import Holdings
from headgate.consumers.ingest import Ingest, Transform
from headgate.consumers.lake import Lake
from headgate.consumers.messages import (
    CONTROLLER,
    METADATA,
    METADATA_TOPIC,
    Command,
    Held,
    StartConsumingCommand,
    StartConsumingEvent,
    StateEvent,
    StopConsumingCommand,
    StopConsumingEvent,
    TellState,
    split,
)
from headgate.consumers.post import Inbox, Outbox
from headgate.consumers.volume import Plan, Volume
from headgate.errors import Temporary
from headgate.kafka.admin import BEGINNING, END, Admin, Partition
from headgate.kafka.faults import Complaints, Presence
from headgate.kafka.settings import KafkaSettings

log = logging.getLogger("headgate")

_LOOK_EVERY_S = 0.1
_SIGN_EVERY_S, _LONGEST_CYCLE_S = 5.0, 600.0
"""In the middle of a cycle a consumer still says that it lives, unless the cycle lasts so long that it hardly does."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ConsumerSettings:
    number: int
    group: str
    batch_bytes: float = 5e6
    wait_s: float = 1.0


class LakeConsumer:
    """One consumer of a group, for the life of its process."""

    def __init__(
        self,
        settings: ConsumerSettings,
        kafka: KafkaSettings,
        session: SparkSession,
        *,
        transform: Transform,
        volume: Volume,
        lake: Lake,
        chronicle: Chronicle,
    ) -> None:
        self._settings = settings
        self._ingest = Ingest(session, kafka, transform=transform, lake=lake)
        self._volume = volume
        self._lake = lake
        self._chronicle = chronicle
        self._log = CommitLog(lake.root)
        self._admin = Admin(kafka, within_s=5.0)
        self._holdings = Holdings(volume, self._log, lake, self._admin, consumer=settings.number)
        self._presence = Presence(kafka.bootstrap)
        self._sizes = RecordSizes()
        self._incarnation = uuid.uuid4().hex[:8]
        self._stop = threading.Event()
        self._cycle_began_s = time.monotonic()
        self._cycle_s: float | None = None
        self._bytes_per_s: float | None = None
        self._outbox = Outbox(kafka, METADATA_TOPIC, METADATA)
        self._inbox = Inbox(
            kafka, METADATA_TOPIC, METADATA, partition=settings.number, start=volume.remembered.next_offset
        )
        # Only so that tools which ask Kafka about the group's lag have an answer: the lake's log is what counts.
        self._committing: Any = Consumer(
            {**kafka.for_client(), **Complaints().settings(), "group.id": settings.group, "enable.auto.commit": False}
        )

    @property
    def held(self) -> Mapping[str, Held]:
        return self._holdings.held

    def stop(self) -> None:
        """End after the cycle that is under way."""
        self._stop.set()

    def run(self) -> None:
        self.warm()
        self.resume()
        self._tell_state(None)
        threading.Thread(target=self._give_signs, name="signs of life", daemon=True).start()
        while not self._stop.is_set():
            try:
                self._cycle_began_s = time.monotonic()
                self.cycle()
                self._presence.answered()
            except Temporary as gone:
                self._presence.lost(gone)
                self._tell_state(None)
                self._stop.wait(self._settings.wait_s)
        self.close()

    def _give_signs(self) -> None:
        """A process that is stopped gives none, and neither does one whose cycle does not end."""
        while not self._stop.wait(_SIGN_EVERY_S):
            working_s = time.monotonic() - self._cycle_began_s
            if _SIGN_EVERY_S <= working_s < _LONGEST_CYCLE_S:
                with self._holdings.changing:
                    self._tell_state(None)

    def close(self) -> None:
        self._outbox.close()
        self._inbox.close()
        self._committing.close()
        self._chronicle.close()

    def warm(self) -> None:
        """Let Spark do once what it will do in each cycle, before partitions wait for it."""
        self._ingest.rehearse(f"warm-{self._settings.number}-{self._incarnation}")

    def resume(self) -> None:
        """Go on after an end of whatever kind."""
        self._holdings.resume()

    def cycle(self) -> None:
        began_s = time.monotonic()
        intake = self._gather(began_s)
        gathered_s = time.monotonic()
        times = {"gather_s": gathered_s - began_s}
        written = self._write(intake, times) if intake.ranges else (0, 0)
        handled_s = time.monotonic()
        answer = self._obey()
        ended_s = time.monotonic()
        times["metadata_s"] = ended_s - handled_s
        self._cycle_s = ended_s - began_s
        self._bytes_per_s = written[1] / self._cycle_s
        self._tell_state(answer)
        if intake.ranges:
            self._chronicle.tell(
                "cycle",
                consumer=self._settings.number,
                records=written[0],
                bytes=written[1],
                partitions=len(self.held),
                cycle_s=round(self._cycle_s, 4),
                **{name: round(seconds, 4) for name, seconds in times.items()},
            )

    # Gather

    def _gather(self, began_s: float) -> Intake:
        """What there is, as soon as it is enough or has been waited for long enough."""
        settings = self._settings
        while True:
            ends = self._offsets(END)
            size = self._sizes.mean_bytes
            waited = time.monotonic() - began_s >= settings.wait_s or self._stop.is_set()
            if waited or bytes_waiting(self._holdings.positions, ends, record_bytes=size) >= settings.batch_bytes:
                break
            self._stop.wait(_LOOK_EVERY_S)
        behind = [
            partition for partition, position in self._holdings.positions.items() if ends.get(partition, 0) > position
        ]
        begins = self._offsets(BEGINNING) if behind else {}
        return plan_intake(
            self._holdings.positions, begins=begins, ends=ends, record_bytes=size, batch_bytes=settings.batch_bytes
        )

    def _offsets(self, which: Any) -> dict[str, int]:
        if not self._holdings.positions:
            return {}
        wanted = [Partition(*split(partition)) for partition in self._holdings.positions]
        found = self._admin.offsets(wanted, which)
        return {f"{partition.topic}-{partition.number}": offset for partition, offset in found.items()}

    # Write and commit

    def _write(self, intake: Intake, times: dict[str, float]) -> tuple[int, int]:
        """Records and bytes that are in the lake now."""
        name = f"{self._settings.number}-{uuid.uuid4().hex}"
        plan = Plan(name=name, ranges=dict(intake.ranges), commits_read=self._log.number)
        self._volume.remember(plan=plan)
        for partition, lost in intake.lost.items():
            log.warning("%d records of %s were deleted by retention before they were read", lost, partition)
        at_s = time.monotonic()
        records, size = self._ingest.bring(intake, name)
        files = self._lake.written(name)
        at_s = _passed(times, "write_s", at_s)
        ranges = {
            partition: Range(epoch=self.held[partition].epoch, first=first, end=end, lost=intake.lost.get(partition, 0))
            for partition, (first, end) in intake.ranges.items()
        }
        try:
            commit = self._log.commit(
                ranges, consumer=self._settings.number, name=name, files=files, records=records, size=size
            )
        except Fenced as fenced:
            log.warning("%s", fenced)
            self._lake.forget(name)
            self._volume.remember(plan=None)
            self._holdings.release(fenced.partitions)
            return 0, 0
        self._holdings.positions |= {partition: each.end for partition, each in ranges.items()}
        at_s = _passed(times, "commit_s", at_s)
        self._lake.publish(commit)
        self._volume.remember(plan=None)
        self._sizes.learn(records=records, size=size)
        self._tell_kafka(ranges)
        _passed(times, "publish_s", at_s)
        return records, size

    def _tell_kafka(self, ranges: Mapping[str, Range]) -> None:
        offsets = [TopicPartition(*split(partition), each.end) for partition, each in ranges.items()]
        try:
            self._committing.commit(offsets=offsets, asynchronous=True)
        except KafkaException as error:
            log.debug("the group's offsets were not told: %s", error)

    # Commands

    def _obey(self) -> int | None:
        """Do what was said since the last cycle; the newest question about the state, if there was one."""
        answer: int | None = None
        for command in self._inbox.read():
            if not isinstance(command, StartConsumingCommand | StopConsumingCommand | TellState):
                continue
            if command.term < self._volume.remembered.term:
                log.warning("a command of an earlier controller is left aside")
                continue
            if command.term > self._volume.remembered.term:
                if not self._announced(command.term):
                    log.warning("a command of a controller that never announced itself is left aside")
                    continue
                self._volume.remember(term=command.term)
            if isinstance(command, TellState):
                answer = command.request
            else:
                self._follow(command)
        if self._inbox.next_offset != self._volume.remembered.next_offset and self._inbox.next_offset >= 0:
            self._volume.remember(next_offset=self._inbox.next_offset)
        return answer

    def _announced(self, term: int) -> bool:
        """A term is the offset of an announcement, so there is none beyond the end of the controller's inbox."""
        inbox = Partition(METADATA_TOPIC, CONTROLLER)
        return term < self._admin.offsets([inbox], END)[inbox]

    def _follow(self, command: Command) -> None:
        number = self._settings.number
        if isinstance(command, StopConsumingCommand):
            known = [self.held.get(each.partition) for each in command.partitions]
            stopped = [
                own.partition
                for own, each in zip(known, command.partitions, strict=True)
                if own is not None and own.epoch <= each.epoch
            ]
            self._holdings.release(stopped)
            self._outbox.send(
                StopConsumingEvent(consumer=number, request=command.request, partitions=command.partitions),
                partition=CONTROLLER,
            )
        elif isinstance(command, StartConsumingCommand):
            there = self._existing(command.partitions)
            self._holdings.take(there)
            taken = tuple(each for each in there if self.held.get(each.partition) == each)
            self._outbox.send(
                StartConsumingEvent(consumer=number, request=command.request, partitions=taken), partition=CONTROLLER
            )

    def _existing(self, partitions: tuple[Held, ...]) -> list[Held]:
        known = self._admin.metadata().topics
        found = []
        for each in partitions:
            if each.topic in known and each.number in known[each.topic].partitions:
                found.append(each)
            else:
                log.warning("partition %s is to be read, but there is none; the command is left aside", each.partition)
        return found

    def _tell_state(self, answer: int | None) -> None:
        self._outbox.send(
            StateEvent(
                consumer=self._settings.number,
                incarnation=self._incarnation,
                request=answer,
                partitions=tuple(self.held.values()),
                time_ms=int(time.time() * 1000),
                cycle_s=self._cycle_s,
                bytes_per_s=self._bytes_per_s,
            ),
            partition=CONTROLLER,
        )


def _passed(times: dict[str, float], name: str, since_s: float) -> float:
    now_s = time.monotonic()
    times[name] = now_s - since_s
    return now_s
