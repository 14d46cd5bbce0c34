"""What follows from the samples of a window: the only thing that a policy sees of the stream.

The fields are a promise to users, who may write evaluations by hand for ``headgate decide``.
Unknown is ``None``, never 0 and never NaN.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import NamedTuple

from headgate.core.allocation import Allocation
from headgate.core.sample import AgentEvent


@dataclass(frozen=True, slots=True, kw_only=True)
class Spread:
    """How a quantity was distributed over the window, weighted by records."""

    mean: float
    p50: float
    p95: float
    p99: float
    max: float


@dataclass(frozen=True, slots=True, kw_only=True)
class BatchEvaluation:
    """A typical micro-batch of the window (means over its batches)."""

    count: int
    duration_s: float
    records: float
    largest_records: float
    tasks: float | None = None
    run_s: float | None = None
    """Wall time in which executors worked; ``duration_s`` minus this is the driver's share."""
    longest_task_s: float | None = None
    mean_task_s: float | None = None
    sink_s: float | None = None
    records_limit: float | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class OperatorEvaluation:
    name: str
    upstream: tuple[str, ...] = ()
    scalable: bool = False
    parallelism: int | None = None
    max_parallelism: int | None = None
    waiting_instances: int | None = None
    """Of its parallelism, what there is no slot for at present."""
    arrival_rate: float | None = None
    """Records that came to its input, per second."""
    input_rate: float | None = None
    """Records that it took in and finished, per second."""
    output_rate: float | None = None
    true_processing_rate: float | None = None
    """Records per second that all its instances together manage while they do useful work."""
    selectivity: float | None = None
    """Records out per record in."""
    lag_records: float | None = None
    """Arrived and not finished."""
    busy: float | None = None
    """Share of its instances' time that was useful work."""
    back_pressure: float | None = None
    service_time_s: float | None = None
    """Useful time per record of one instance."""
    arrival_scv: float | None = None
    service_scv: float | None = None
    batch_delay_s: float | None = None
    """What collecting records into batches adds to every response: mean wait for a batch to start."""
    partitions: int | None = None
    arrivals_per_s: tuple[float, ...] = ()
    """Records that came to its input in each second of the window, oldest first; only where the policy needs it."""
    finished_per_s: tuple[float, ...] = ()
    """Records that it finished, likewise."""
    latency_s: Spread | None = None
    """Arrival to the end of the batch that wrote the record."""
    batch: BatchEvaluation | None = None


class CoursePoint(NamedTuple):
    """What an executor did in one part of a window."""

    busy: float
    """Share of its cores' time spent in tasks."""
    rate: float
    """Records per second: its part of what operators took in."""
    batches_per_s: float | None = None
    """Micro-batches that ended; ``None`` on an engine that has none."""
    working: float | None = None
    """Share of the time in which tasks of a batch ran on any executor; ``None`` where operators take turns."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ExecutorEvaluation:
    id: str
    node: str = ""
    cores: int = 1
    busy: float | None = None
    """Share of its cores' time spent in tasks."""
    input_rate: float | None = None
    age_s: float | None = None
    course: tuple[CoursePoint, ...] = ()
    """Parts of the window, oldest first; only where the policy needs it."""
    leaving: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class NodeEvaluation:
    name: str
    free: bool = True
    latency_s: Mapping[str, float] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class Evaluation:
    time_s: float
    operators: tuple[OperatorEvaluation, ...] = ()
    executors: tuple[ExecutorEvaluation, ...] = ()
    nodes: tuple[NodeEvaluation, ...] = ()
    pending_executors: int = 0
    window_s: float | None = None
    """Length of the window that the figures describe."""
    age_s: float | None = None
    """How old the newest figures are: the time since the stream last showed progress or idleness."""
    events: tuple[AgentEvent, ...] = ()
    """What the agent reported during the window's newest period."""

    @property
    def sources(self) -> tuple[OperatorEvaluation, ...]:
        """Operators that read from outside the app."""
        return tuple(operator for operator in self.operators if not operator.upstream)

    @property
    def working_executors(self) -> tuple[ExecutorEvaluation, ...]:
        return tuple(executor for executor in self.executors if not executor.leaving)

    @property
    def allocation(self) -> Allocation:
        """What is there, as seen in this evaluation."""
        return Allocation(
            executors=len(self.working_executors),
            parallelism={
                operator.name: operator.parallelism
                for operator in self.operators
                if operator.scalable and operator.parallelism is not None
            },
        )
