"""What monitor, controller and consumers say to each other.

``monitor.writeSpeed`` has the speeds. Of ``consumer.metadata`` partition 0 is the controller's inbox, and partition *i*
that of consumer *i*, so everyone reads what is meant for it and nothing else, in the order in which it was said.

A **term** is the number of a controller: the offset that its announcement got, so a later controller has a greater
one, and consumers do not listen to an earlier any more. A partition is read under an **epoch**, which grows each time
it is given to somebody; the lake takes nothing under an older one.
"""

from __future__ import annotations

from dataclasses import dataclass

from headgate.consumers.avro import Vocabulary

SPEEDS_TOPIC = "monitor.writeSpeed"
METADATA_TOPIC = "consumer.metadata"
CONTROLLER = 0
"""The controller's partition."""
_EPOCHS_PER_TERM = 1 << 24


@dataclass(frozen=True, slots=True, kw_only=True)
class PartitionSpeed:
    topic: str
    number: int
    bytes_per_s: float
    records_per_s: float


@dataclass(frozen=True, slots=True, kw_only=True)
class WriteSpeeds:
    """Of all partitions of interest, at one moment."""

    time_ms: int
    speeds: tuple[PartitionSpeed, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Held:
    """A partition, and the epoch under which it is read."""

    topic: str
    number: int
    epoch: int

    @property
    def partition(self) -> str:
        """As packing calls it.

        >>> Held(topic="a-b", number=3, epoch=1).partition
        'a-b-3'
        """
        return f"{self.topic}-{self.number}"


@dataclass(frozen=True, slots=True, kw_only=True)
class Leads:
    """A controller has begun; the offset of this message is its term."""

    controller: str


@dataclass(frozen=True, slots=True, kw_only=True)
class StartConsumingCommand:
    term: int
    request: int
    partitions: tuple[Held, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class StopConsumingCommand:
    term: int
    request: int
    partitions: tuple[Held, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class TellState:
    """Asks a consumer what it reads."""

    term: int
    request: int


@dataclass(frozen=True, slots=True, kw_only=True)
class StartConsumingEvent:
    consumer: int
    request: int
    partitions: tuple[Held, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class StopConsumingEvent:
    consumer: int
    request: int
    partitions: tuple[Held, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class StateEvent:
    """What a consumer reads, and that it lives: said after each of its cycles, and in the middle of long ones."""

    consumer: int
    incarnation: str
    """Another one after each start."""
    request: int | None
    """Of the question, if this is an answer."""
    partitions: tuple[Held, ...]
    time_ms: int
    cycle_s: float | None
    """How long the last cycle took."""
    bytes_per_s: float | None
    """What went through it in the last cycle."""


Command = StartConsumingCommand | StopConsumingCommand | TellState
Event = StartConsumingEvent | StopConsumingEvent | StateEvent | Leads

SPEEDS = Vocabulary([WriteSpeeds], namespace="headgate.consumers.v1")
METADATA = Vocabulary(
    [
        Leads,
        StartConsumingCommand,
        StopConsumingCommand,
        TellState,
        StartConsumingEvent,
        StopConsumingEvent,
        StateEvent,
    ],
    namespace="headgate.consumers.v1",
)


def first_epoch(term: int) -> int:
    """The first one of a term: greater than all of earlier ones.

    >>> first_epoch(3) - first_epoch(2)
    16777216
    """
    return term * _EPOCHS_PER_TERM + 1


def split(partition: str) -> tuple[str, int]:
    """
    >>> split("a-b-3")
    ('a-b', 3)
    """
    topic, _, number = partition.rpartition("-")
    return topic, int(number)
