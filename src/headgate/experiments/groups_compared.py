"""A group that packs itself beside Kafka's own groups with a scaler that looks at lag, under the same load, simulated.

What a user has without it: a consumer group with one of Kafka's assignors, whose members a scaler adds and removes by
the lag (KEDA's way: lag divided by a threshold, looked at every 30 s, fewer only after 5 minutes). Members are alike in
both, and take as long to start. The load drifts from partition to partition, and swells and ebbs.
"""

from __future__ import annotations

import math
from collections import deque
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from statistics import mean
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from headgate.consumers.actions import Action, Create, Delete, GroupSettings, Send
from headgate.consumers.controller import GroupController
from headgate.consumers.messages import (
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
from headgate.packing import moved
from headgate.packing.assignors import ASSIGNORS, EAGER
from headgate.sim.consumer_group import PartitionQueues

Floats = NDArray[np.float64]

CAPACITY, LIMIT = 1.5e6, 2.0e6
"""Bytes per second that packing counts on, and that a consumer really takes."""
PARTITIONS, DURATION_S, RECORD_BYTES = 16, 3600, 500
START_S, CYCLE_S, WINDOW_S = 15.0, 2.5, 30
REBALANCE_S = 3.0
MOST_CONSUMERS = 8
POLL_S, STABILIZATION_S = 30, 300
THRESHOLD_S = 10.0
"""A member more for each so many seconds of a member's work that wait."""


@dataclass(frozen=True, slots=True, kw_only=True)
class GroupRow:
    """How one group fared."""

    label: str
    consumers: float
    moved: int
    lag_mean_s: float
    lag_max_s: float
    """What waits, in seconds of one consumer's work."""


class _GroupAtWork(Protocol):
    moves: int

    def second(self, now_s: int, queues: PartitionQueues) -> Mapping[str, int]:
        """Do what is due; who reads what in the next second."""
        ...

    @property
    def consumers(self) -> int: ...


def drifting_load(seed: int) -> Floats:
    """Bytes per second by second and partition: a sine of 20 minutes, skewed, with the skew moving on every minute."""
    seconds = np.arange(DURATION_S)
    total = 4.5e6 * (0.6 + 0.4 * np.sin(2 * np.pi * seconds / 1200))
    chance = np.random.default_rng(seed)
    weights = (np.arange(PARTITIONS) + 1.0) ** -0.6
    weights = chance.permutation(weights / weights.sum())
    turns = seconds / 60
    whole, part = np.divmod(turns, 1.0)
    ranks = np.arange(PARTITIONS)
    now = weights[(ranks[None, :] - whole.astype(int)[:, None]) % PARTITIONS]
    then = weights[(ranks[None, :] - whole.astype(int)[:, None] - 1) % PARTITIONS]
    found: Floats = total[:, None] * ((1 - part[:, None]) * now + part[:, None] * then)
    return found


def compare_groups(seed: int = 0) -> tuple[GroupRow, ...]:
    """All of them under the same load."""
    load = drifting_load(seed)
    groups: dict[str, _GroupAtWork] = {
        f"packed ({name})": _Packed(GroupSettings(algorithm=name, most_consumers=MOST_CONSUMERS))
        for name in ("mbf", "mwf", "mbfp")
    }
    groups |= {f"Kafka's, {name}, by lag": _ByLag(name) for name in ASSIGNORS}
    return tuple(_row(label, group, load) for label, group in groups.items())


def _row(label: str, group: _GroupAtWork, load: Floats) -> GroupRow:
    queues = PartitionQueues([f"rows-{number}" for number in range(PARTITIONS)])
    sizes, lags = [], []
    for second in range(DURATION_S):
        readers = group.second(second, queues)
        queues.advance(load[second], readers, capacity=LIMIT)
        sizes.append(group.consumers)
        lags.append(float(queues.waiting.sum()) / LIMIT)
    return GroupRow(
        label=label,
        consumers=float(np.mean(sizes)),
        moved=group.moves,
        lag_mean_s=float(np.mean(lags)),
        lag_max_s=float(np.max(lags)),
    )


@dataclass
class _Member:
    ready_s: float
    held: dict[str, Held] = field(default_factory=dict)


class _Packed:
    """The controller of ``headgate.consumers`` over members in virtual time."""

    def __init__(self, settings: GroupSettings) -> None:
        self._controller = GroupController(settings, term=1)
        self._members: dict[int, _Member] = {}
        self._inboxes: dict[int, deque[object]] = {}
        self._written: deque[Floats] = deque(maxlen=WINDOW_S + 1)
        self._last: dict[str, int] = {}
        self.moves = 0
        self._do(self._controller.begin([], 0.0), 0.0)

    @property
    def consumers(self) -> int:
        return len(self._members)

    def second(self, now_s: int, queues: PartitionQueues) -> Mapping[str, int]:
        self._written.append(queues.written.copy())
        if len(self._written) > 1:
            span_s = len(self._written) - 1
            speeds = (self._written[-1] - self._written[0]) / span_s
            told = tuple(
                PartitionSpeed(topic="rows", number=number, bytes_per_s=float(speed), records_per_s=0.0)
                for number, speed in enumerate(speeds)
            )
            self._do(self._controller.measured(WriteSpeeds(time_ms=now_s * 1000, speeds=told), now_s), now_s)
        for number, member in list(self._members.items()):
            if now_s >= member.ready_s and (now_s - member.ready_s) % CYCLE_S < 1.0:
                for event in self._cycle(number, member):
                    self._do(self._controller.heard(event, now_s), now_s)
        self._do(self._controller.tick(list(self._members), now_s), now_s)
        readers = {name: number for number, member in self._members.items() for name in member.held}
        self.moves += len(moved(self._last, readers))
        self._last |= readers
        return readers

    def _cycle(self, number: int, member: _Member) -> list[Event]:
        events: list[Event] = []
        answer: int | None = None
        inbox = self._inboxes.setdefault(number, deque())
        while inbox:
            command = inbox.popleft()
            if isinstance(command, TellState):
                answer = command.request
            elif isinstance(command, StopConsumingCommand):
                for held in command.partitions:
                    member.held.pop(held.partition, None)
                events.append(
                    StopConsumingEvent(consumer=number, request=command.request, partitions=command.partitions)
                )
            elif isinstance(command, StartConsumingCommand):
                member.held |= {held.partition: held for held in command.partitions}
                events.append(
                    StartConsumingEvent(consumer=number, request=command.request, partitions=command.partitions)
                )
        state = StateEvent(
            consumer=number,
            incarnation="one",
            request=answer,
            partitions=tuple(member.held.values()),
            time_ms=0,
            cycle_s=CYCLE_S,
            bytes_per_s=None,
        )
        return [*events, state]

    def _do(self, actions: list[Action], now_s: float) -> None:
        for action in actions:
            if isinstance(action, Send):
                self._inboxes.setdefault(action.consumer, deque()).append(action.command)
            elif isinstance(action, Create):
                self._members[action.consumer] = _Member(ready_s=now_s + START_S)
            elif isinstance(action, Delete):
                self._members.pop(action.consumer, None)


class _ByLag:
    """A group of Kafka's, and a scaler that divides its lag by a threshold."""

    def __init__(self, assignor: str) -> None:
        self._assign = ASSIGNORS[assignor]
        self._eager = assignor in EAGER
        self._members: dict[int, float] = {1: 0.0}
        """When each is ready."""
        self._joined: tuple[int, ...] = ()
        self._assignment: dict[str, int] = {}
        self._paused: dict[str, float] = {}
        self._wanted: deque[tuple[int, int]] = deque()
        self.moves = 0

    @property
    def consumers(self) -> int:
        return len(self._members)

    def second(self, now_s: int, queues: PartitionQueues) -> Mapping[str, int]:
        if now_s % POLL_S == 0:
            self._scale(now_s, float(queues.waiting.sum()))
        joined = tuple(sorted(number for number, ready_s in self._members.items() if ready_s <= now_s))
        if joined and joined != self._joined:
            self._rebalance(now_s, joined, queues.partitions)
        return {name: number for name, number in self._assignment.items() if self._paused.get(name, 0.0) <= now_s}

    def _scale(self, now_s: int, waiting: float) -> None:
        wanted = min(MOST_CONSUMERS, max(1, math.ceil(waiting / (THRESHOLD_S * LIMIT))))
        self._wanted.append((now_s, wanted))
        while self._wanted[0][0] < now_s - STABILIZATION_S:
            self._wanted.popleft()
        size = max(wanted, min(len(self._members), max(each for _, each in self._wanted)))
        for number in range(1, MOST_CONSUMERS + 1):
            if len(self._members) < size and number not in self._members:
                self._members[number] = now_s + START_S
        for number in sorted(self._members, reverse=True)[: max(0, len(self._members) - size)]:
            del self._members[number]

    def _rebalance(self, now_s: int, joined: tuple[int, ...], partitions: tuple[str, ...]) -> None:
        after = self._assign(partitions, joined, self._assignment)
        changed = moved(self._assignment, after)
        self.moves += len(changed)
        still = partitions if self._eager else changed
        self._paused = dict.fromkeys(still, now_s + REBALANCE_S)
        self._joined, self._assignment = joined, after


def averaged(runs: Sequence[tuple[GroupRow, ...]]) -> tuple[GroupRow, ...]:
    """Over several loads."""
    return tuple(
        GroupRow(
            label=rows[0].label,
            consumers=mean(row.consumers for row in rows),
            moved=round(mean(row.moved for row in rows)),
            lag_mean_s=mean(row.lag_mean_s for row in rows),
            lag_max_s=mean(row.lag_max_s for row in rows),
        )
        for rows in zip(*runs, strict=True)
    )
