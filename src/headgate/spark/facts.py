"""What the driver tells about itself, as plain values, and the two seams through which it is asked.

Everything else in the agent is logic on these values and knows no JVM: tests give it a gateway of
their own. Times are epoch seconds of the driver's clock.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple, Protocol


class ExecutorFact(NamedTuple):
    """One live executor in Spark's status store."""

    id: str
    node: str
    cores: int
    added_s: float
    busy_s: float
    """Wall time of its finished tasks, summed."""
    tasks_running: int = 0
    tasks_done: int = 0
    tasks_failed: int = 0
    stored_bytes: int = 0
    """Cached blocks in its memory and on its disk: what would have to be made again."""


class JobFact(NamedTuple):
    """One Spark job; a micro-batch runs as one or several under its query's run id."""

    id: int
    group: str | None
    batch_id: int | None
    stage_ids: tuple[int, ...]
    submitted_s: float | None
    finished: bool


class StageShare(NamedTuple):
    """What one executor did of one stage."""

    task_s: float
    tasks: int
    records: float
    """Read from sources."""
    shuffled_records: float = 0.0
    """Read from the stages before it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class StageFact:
    """One finished stage, all its attempts together."""

    id: int
    tasks: int
    launched_s: float | None = None
    completed_s: float | None = None
    longest_task_s: float | None = None
    shares: Mapping[str, StageShare] = field(default_factory=dict)
    """By executor."""


class RunningTask(NamedTuple):
    executor: str
    launched_s: float


class ActiveStage(NamedTuple):
    """A stage that is being worked on."""

    id: int
    done_task_s: float
    """Time of those of its tasks that are finished."""
    running: tuple[RunningTask, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class QueryState:
    """What a query says it is doing."""

    active: bool
    trigger_active: bool = False
    """A micro-batch, or the look for one, is under way."""
    data_available: bool = True
    """False: its last look at the sources found nothing new."""
    failure: str | None = None
    """Why it ended, if not by its owner's will."""


class QueryView(Protocol):
    """One streaming query, read only: nothing here can stop or slow it."""

    name: str
    run_id: str
    trigger_s: float
    """Longest time between two looks at its sources while it has nothing to do; 0 for at once."""

    def state(self) -> QueryState: ...

    def progress_after(self, timestamp: str) -> Sequence[Mapping[str, Any]]:
        """Progress events that are still kept and began after a time (as Spark writes it), oldest first."""
        ...

    def source_options(self) -> Sequence[Mapping[str, str]]:
        """Options of each source, with keys in lower case; empty where Spark does not tell."""
        ...

    def first_offset(self, source: int) -> Any:
        """Where the query began to read its source of that number; ``None`` where its checkpoint does not tell."""
        ...


class OperatorControl(Protocol):
    """An operator: a query that was started so that its parallelism can be set."""

    @property
    def name(self) -> str: ...

    @property
    def reads(self) -> Sequence[str]:
        """Topics."""
        ...

    @property
    def writes(self) -> str | None:
        """Topic."""
        ...

    @property
    def scalable(self) -> bool: ...

    @property
    def parallelism(self) -> int: ...

    @property
    def max_parallelism(self) -> int: ...

    def set_parallelism(self, parallelism: int) -> None: ...


class Gateway(Protocol):
    """The driver, as far as an agent needs it.

    Every method raises ``Temporary`` when the driver does not answer this time and ``Permanent``
    when it never will again.
    """

    def executors(self) -> tuple[ExecutorFact, ...]: ...

    def registered(self) -> Mapping[str, float]:
        """When each live executor registered; newer than the status store."""
        ...

    def decommissioning(self) -> frozenset[str]: ...

    def jobs(self, newest: int) -> tuple[JobFact, ...]:
        """That many of the newest jobs, newest first."""
        ...

    def stage(self, stage_id: int) -> StageFact | None:
        """``None`` once Spark has forgotten it."""
        ...

    def active_stages(self) -> tuple[ActiveStage, ...]: ...

    def request_total(self, executors: int) -> bool:
        """Ask the cluster manager to have that many, those that are leaving included."""
        ...

    def decommission(self, executor: str) -> bool:
        """Give an executor no more tasks; it stays until it is removed."""
        ...

    def remove(self, executor: str, *, force: bool) -> bool:
        """End an executor and do not replace it; without ``force`` only if it runs no task."""
        ...
