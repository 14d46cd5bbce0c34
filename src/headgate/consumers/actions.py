"""What a controller of a consumer group is told beforehand, the states that it has, and what it may want done."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any

from headgate.consumers.messages import Command
from headgate.core.options import check_options, option
from headgate.packing import ALGORITHMS


class Phase(StrEnum):
    SYNCHRONIZE = "synchronize"
    SENTINEL = "sentinel"
    REASSIGN = "reassign"
    GROUP_MANAGEMENT = "group-management"


@dataclass(frozen=True, slots=True, kw_only=True)
class GroupSettings:
    """Of a controller; speeds and capacities in bytes per second."""

    algorithm: str = option("mbf", "how partitions are packed", choices=tuple(ALGORITHMS))
    algorithm_capacity: float = option(1.5e6, "bytes per second that packing gives a consumer", above=0)
    consumer_capacity: float = option(2.0e6, "bytes per second above which a consumer has too much", above=0)
    sentinel_s: float = option(10.0, "longest watch before it is seen whether fewer would do (MAX_S1_TIME)", above=0)
    lease_s: float = option(30.0, "silence after which a consumer is taken for lost", above=0)
    ready_within_s: float = option(120.0, "time that a new consumer has until it must be heard of", above=0)
    resend_s: float = option(5.0, "time after which an unacknowledged command is said again", above=0)
    rescue: bool = option(True, "let consumers that are there read what nobody reads until new ones are ready")
    most_consumers: int = option(8, "most consumers of the group", least=1, most=1000)

    def __post_init__(self) -> None:
        check_options("the consumer group", self)


@dataclass(frozen=True, slots=True)
class Send:
    consumer: int
    command: Command


@dataclass(frozen=True, slots=True)
class Create:
    consumer: int


@dataclass(frozen=True, slots=True)
class Delete:
    consumer: int


@dataclass(frozen=True, slots=True)
class Note:
    """Something to be kept and perhaps told: a code, a sentence, the figures."""

    code: str
    message: str
    figures: Mapping[str, Any] = field(default_factory=dict)


Action = Send | Create | Delete | Note
