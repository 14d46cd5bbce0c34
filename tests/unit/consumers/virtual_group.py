"""A consumer group in virtual time: consumers that follow commands, a lake that fences, and all that may go wrong."""

from __future__ import annotations

import random
from collections import deque
from dataclasses import dataclass, field

from headgate.consumers.actions import Action, Create, Delete, GroupSettings, Note, Send
from headgate.consumers.controller import GroupController
from headgate.consumers.messages import (
    Command,
    Event,
    Held,
    PartitionSpeed,
    StartConsumingCommand,
    StartConsumingEvent,
    StateEvent,
    StopConsumingCommand,
    StopConsumingEvent,
    TellState,
    WriteSpeeds,
)

CYCLE_S, START_S = 2.0, 10.0


@dataclass
class Lake:
    """The newest epoch under which each partition was claimed; the end of what is in it."""

    epochs: dict[str, int] = field(default_factory=dict)
    commits: list[tuple[float, str, int, int]] = field(default_factory=list)
    """Moment, partition, consumer, epoch."""
    refused: int = 0

    def claim(self, held: Held) -> bool:
        if held.epoch < self.epochs.get(held.partition, 0):
            self.refused += 1
            return False
        self.epochs[held.partition] = held.epoch
        return True


@dataclass
class Consumer:
    number: int
    ready_s: float
    volume: dict[str, Held] = field(default_factory=dict)
    inbox: deque[Command] = field(default_factory=deque)
    term: int = -1
    paused_until_s: float = 0.0
    incarnation: int = 0
    dying: bool = False
    cycles: int = 0


@dataclass
class VirtualGroup:
    settings: GroupSettings
    speeds: dict[str, float]
    seed: int = 0
    now_s: float = 0.0
    lake: Lake = field(default_factory=Lake)
    alive: dict[int, Consumer] = field(default_factory=dict)
    volumes: dict[int, dict[str, Held]] = field(default_factory=dict)
    """Survive the processes."""
    inboxes: dict[int, deque[Command]] = field(default_factory=dict)
    events: deque[Event] = field(default_factory=deque)
    notes: list[tuple[float, Note]] = field(default_factory=list)
    term: int = 0
    controller: GroupController | None = None

    def __post_init__(self) -> None:
        self.chance = random.Random(self.seed)

    def start_controller(self) -> None:
        """A new one, after the one before, if there was any, has died."""
        self.term += 1
        self.events.clear()
        self.controller = GroupController(self.settings, term=self.term)
        self.carry_out(self.controller.begin(list(self.alive), self.now_s))

    def kill_controller(self) -> None:
        self.controller = None

    def kill(self, number: int) -> None:
        """It is started again, with its volume, as a deployment does."""
        before = self.alive[number]
        self._start(number, incarnation=before.incarnation + 1)

    def run(self, seconds: float, *, step_s: float = 0.5) -> None:
        until_s = self.now_s + seconds
        while self.now_s < until_s:
            self.now_s += step_s
            self._step()

    def _step(self) -> None:
        for consumer in list(self.alive.values()):
            free = self.now_s >= max(consumer.ready_s, consumer.paused_until_s)
            if free and self.now_s >= consumer.ready_s + consumer.cycles * CYCLE_S:
                consumer.cycles = int((self.now_s - consumer.ready_s) // CYCLE_S) + 1
                self._cycle(consumer)
        if self.controller is None:
            return
        while self.events:
            self.carry_out(self.controller.heard(self.events.popleft(), self.now_s))
        if self.now_s % 1.0 == 0:
            self.carry_out(self.controller.measured(self._measured(), self.now_s))
        self.carry_out(self.controller.tick(list(self.alive), self.now_s))

    def _measured(self) -> WriteSpeeds:
        speeds = []
        for partition, speed in self.speeds.items():
            topic, _, number = partition.rpartition("-")
            speeds.append(PartitionSpeed(topic=topic, number=int(number), bytes_per_s=speed, records_per_s=speed / 100))
        return WriteSpeeds(time_ms=int(self.now_s * 1000), speeds=tuple(speeds))

    def _cycle(self, consumer: Consumer) -> None:
        """Write what there is, then apply commands and tell about it."""
        for held in list(consumer.volume.values()):
            if self.lake.claim(held):
                self.lake.commits.append((self.now_s, held.partition, consumer.number, held.epoch))
            else:
                del consumer.volume[held.partition]
        if consumer.dying:
            del self.alive[consumer.number]
            return
        answer: int | None = None
        inbox = self.inboxes.setdefault(consumer.number, deque())
        while inbox:
            command = inbox.popleft()
            if command.term < consumer.term:
                continue
            consumer.term = command.term
            match command:
                case TellState():
                    answer = command.request
                case StopConsumingCommand():
                    for held in command.partitions:
                        own = consumer.volume.get(held.partition)
                        if own is not None and own.epoch <= held.epoch:
                            del consumer.volume[held.partition]
                    self.events.append(
                        StopConsumingEvent(
                            consumer=consumer.number, request=command.request, partitions=command.partitions
                        )
                    )
                case StartConsumingCommand():
                    taken = tuple(held for held in command.partitions if self.lake.claim(held))
                    consumer.volume |= {held.partition: held for held in taken}
                    self.events.append(
                        StartConsumingEvent(consumer=consumer.number, request=command.request, partitions=taken)
                    )
        self.volumes[consumer.number] = consumer.volume
        self.events.append(
            StateEvent(
                consumer=consumer.number,
                incarnation=str(consumer.incarnation),
                request=answer,
                partitions=tuple(consumer.volume.values()),
                time_ms=0,
                cycle_s=CYCLE_S,
                bytes_per_s=None,
            )
        )

    def carry_out(self, actions: list[Action]) -> None:
        for action in actions:
            match action:
                case Send(consumer, command):
                    self.inboxes.setdefault(consumer, deque()).append(command)
                case Create(consumer):
                    self._start(consumer)
                case Delete(consumer):
                    if consumer in self.alive:
                        self.alive[consumer].dying = True
                case Note():
                    self.notes.append((self.now_s, action))

    def _start(self, number: int, *, incarnation: int = 0) -> None:
        ready_s = self.now_s + START_S + self.chance.uniform(0, 5)
        self.alive[number] = Consumer(
            number=number, ready_s=ready_s, volume=dict(self.volumes.get(number, {})), incarnation=incarnation
        )

    # What is true of it

    def readers(self) -> dict[str, list[int]]:
        """Who could write records of each partition into the lake now."""
        found: dict[str, list[int]] = {partition: [] for partition in self.speeds}
        for consumer in self.alive.values():
            for held in consumer.volume.values():
                if held.epoch >= self.lake.epochs.get(held.partition, 0):
                    found.setdefault(held.partition, []).append(consumer.number)
        return found

    def loads(self) -> dict[int, float]:
        found: dict[int, float] = {}
        for partition, numbers in self.readers().items():
            for number in numbers:
                found[number] = found.get(number, 0.0) + self.speeds[partition]
        return found

    def codes(self) -> list[str]:
        return [note.code for _, note in self.notes]
