"""What was measured at one moment, raw.

Counters are cumulative since the app's start, so that a lost sample loses no volume. Volumes are
offsets of the source, never re-counted rows. The parts that occur by the thousand are named tuples,
because a simulated day makes millions of them.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from typing import NamedTuple


class ArrivalPoint(NamedTuple):
    """How many records had arrived at an operator's input by a moment."""

    time_s: float
    records: float


class Batch(NamedTuple):
    """Records that were finished together.

    One micro-batch; or, on an engine that works record by record, what one step finished.
    ``first_record`` and ``end_record`` are cumulative positions in the operator's input.
    """

    id: int
    started_s: float
    finished_s: float
    first_record: float
    end_record: float
    tasks: int | None = None
    run_s: float | None = None
    """Time that executors worked on it (wall time of its tasks); the rest of it was the driver's."""
    longest_task_s: float | None = None
    mean_task_s: float | None = None
    sink_s: float | None = None
    """Wall time spent in committing its output, where the engine tells."""
    phases: Mapping[str, float] = {}
    """The engine's own names for parts of the batch, in seconds."""

    @property
    def records(self) -> float:
        return self.end_record - self.first_record

    @property
    def duration_s(self) -> float:
        return self.finished_s - self.started_s


class ExecutorState(StrEnum):
    STARTING = "starting"
    ACTIVE = "active"
    LEAVING = "leaving"


class ExecutorSample(NamedTuple):
    """Counters of one executor since it started."""

    id: str
    node: str
    cores: int
    age_s: float
    busy_s: float | None
    """Task time, summed over its cores."""
    records: float | None
    """Its part of the records that operators took in."""
    state: ExecutorState = ExecutorState.ACTIVE
    tasks_done: int = 0
    tasks_failed: int = 0


class NodeSample(NamedTuple):
    name: str
    free: bool
    latency_s: Mapping[str, float] = {}


@dataclass(frozen=True, slots=True, kw_only=True)
class OperatorSample:
    """Counters of one operator and what it finished since the previous sample."""

    name: str
    upstream: tuple[str, ...] = ()
    scalable: bool = False
    parallelism: int | None = None
    max_parallelism: int | None = None
    partitions: int | None = None
    """Partitions of its input: the most tasks that a read can be cut into."""
    records_limit: float | None = None
    """The most records that one micro-batch may take in, where the user set one."""
    arrivals: tuple[ArrivalPoint, ...] = ()
    """The curve of arrivals since the previous sample; the last point is now."""
    batches: tuple[Batch, ...] = ()
    """Finished since the previous sample, oldest first."""
    done_records: float = 0.0
    """Position in the input up to which everything is finished and committed."""
    busy_s: float | None = None
    """Task time of all instances since the start."""
    output_records: float | None = None
    back_pressure: float | None = None
    instance_busy_s: tuple[float, ...] = ()
    """Task time per instance, where the engine tells, to see skew."""


class EventKind(StrEnum):
    """What an agent may report."""

    REQUESTED = "executors-requested"
    JOINED = "executor-joined"
    WARM = "executor-warm"
    SLOW_BATCH = "slow-batch"
    LEAVING = "executor-leaving"
    REMOVED = "executor-removed"
    LOST = "executor-lost"
    SHORT = "executors-short"
    STOPPED = "engine-stopped"
    RESTARTED = "engine-restarted"
    QUERY_FAILED = "query-failed"
    OPERATOR_JOINED = "operator-joined"
    OPERATOR_LEFT = "operator-left"


@dataclass(frozen=True, slots=True, kw_only=True)
class AgentEvent:
    """Something that happened to the app's resources, said in a sentence and in figures."""

    time_s: float
    kind: EventKind
    message: str
    executor: str | None = None
    figures: Mapping[str, float] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class Sample:
    """Everything an agent knows at one moment."""

    time_s: float
    operators: tuple[OperatorSample, ...]
    executors: tuple[ExecutorSample, ...] = ()
    nodes: tuple[NodeSample, ...] = ()
    pending_executors: int = 0
    """Asked for and not there yet."""
    target_executors: int | None = None
    """What the agent is reconciling towards."""
    events: tuple[AgentEvent, ...] = ()
    """Since the previous sample."""
