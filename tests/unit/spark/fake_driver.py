"""A driver made of lists and dictionaries, with a clock that is moved by hand."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any

from headgate.errors import HeadgateError
from headgate.spark.facts import ActiveStage, ExecutorFact, JobFact, QueryState, StageFact

IDLE = QueryState(active=True, trigger_active=False, data_available=False)
WORKING = QueryState(active=True, trigger_active=True, data_available=True)


@dataclass
class HandClock:
    time_s: float = 1000.0

    def __call__(self) -> float:
        return self.time_s


@dataclass
class FakeGateway:
    facts: dict[str, ExecutorFact] = field(default_factory=dict)
    times: dict[str, float] = field(default_factory=dict)
    leaving: set[str] = field(default_factory=set)
    job_list: list[JobFact] = field(default_factory=list)
    stages: dict[int, StageFact] = field(default_factory=dict)
    active: tuple[ActiveStage, ...] = ()
    fault: HeadgateError | None = None
    calls: list[tuple[Any, ...]] = field(default_factory=list)
    jobs_asked_for: list[int] = field(default_factory=list)

    def add(self, executor: str, *, since_s: float = 0.0, **figures: Any) -> None:
        self.times[executor] = since_s
        defaults: dict[str, Any] = {"node": "node-1", "cores": 1, "added_s": since_s, "busy_s": 0.0}
        self.facts[executor] = ExecutorFact(id=executor, **(defaults | figures))

    def lose(self, executor: str) -> None:
        self.times.pop(executor)
        self.facts.pop(executor)
        self.leaving.discard(executor)

    def executors(self) -> tuple[ExecutorFact, ...]:
        self._answer()
        return tuple(self.facts.values())

    def registered(self) -> Mapping[str, float]:
        self._answer()
        return dict(self.times)

    def decommissioning(self) -> frozenset[str]:
        return frozenset(self.leaving)

    def jobs(self, newest: int) -> tuple[JobFact, ...]:
        self._answer()
        self.jobs_asked_for.append(newest)
        return tuple(sorted(self.job_list, reverse=True))[:newest]

    def stage(self, stage_id: int) -> StageFact | None:
        return self.stages.get(stage_id)

    def active_stages(self) -> tuple[ActiveStage, ...]:
        return self.active

    def request_total(self, executors: int) -> bool:
        self._answer()
        self.calls.append(("total", executors))
        return True

    def decommission(self, executor: str) -> bool:
        self.calls.append(("decommission", executor))
        self.leaving.add(executor)
        return True

    def remove(self, executor: str, *, force: bool) -> bool:
        self.calls.append(("remove", executor, force))
        return True

    def _answer(self) -> None:
        if self.fault is not None:
            raise self.fault


@dataclass
class FakeQuery:
    name: str = "orders"
    run_id: str = "run-1"
    trigger_s: float = 0.0
    current: QueryState = WORKING
    events: list[Mapping[str, Any]] = field(default_factory=list)
    options: Sequence[Mapping[str, str]] = ()
    first: Any = None

    def state(self) -> QueryState:
        return self.current

    def progress_after(self, timestamp: str) -> Sequence[Mapping[str, Any]]:
        return [event for event in self.events if event["timestamp"] > timestamp]

    def source_options(self) -> Sequence[Mapping[str, str]]:
        return self.options

    def first_offset(self, source: int) -> Any:
        return self.first


def progress(
    batch_id: int,
    *,
    at_s: float,
    source: Mapping[str, Any],
    took_s: float = 1.0,
    rows: int = 0,
    executed: bool = True,
    run_id: str = "run-1",
) -> dict[str, Any]:
    """A progress event as Spark writes it."""
    phases = {"latestOffset": 100, "triggerExecution": int(took_s * 1000)}
    if executed:
        phases |= {"addBatch": int(took_s * 600), "walCommit": 20, "commitOffsets": 30}
    return {
        "id": "f92d11ca-f1c0-43ff-9161-1a3d056c9b7f",
        "runId": run_id,
        "name": "orders",
        "timestamp": datetime.fromtimestamp(at_s, UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z"),
        "batchId": batch_id,
        "numInputRows": rows,
        "durationMs": phases,
        "stateOperators": [],
        "sources": [{"description": "headgate-trace", "numInputRows": rows, **source}],
        "sink": {"description": "NoopTable", "numOutputRows": rows},
    }


def records(start: int, end: int, latest: int | None = None) -> dict[str, Any]:
    return {
        "startOffset": {"records": start},
        "endOffset": {"records": end},
        "latestOffset": {"records": end if latest is None else latest},
    }
