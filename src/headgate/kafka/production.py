"""Paced production in processes of its own, so that it neither disturbs its caller nor is disturbed by it.

``Production(settings, plan)``: ``start()``, ``status()``, ``wait()``, ``result()``, ``stop()``. The
processes end with their parent, however that ends: they watch a pipe that only it holds open.
"""

from __future__ import annotations

import time
from dataclasses import dataclass
from types import TracebackType

import numpy as np

from headgate.errors import HeadgateError, NotReady, Permanent, Temporary
from headgate.kafka.plan import ProductionPlan
from headgate.kafka.sending_child import SendingChild
from headgate.kafka.settings import KafkaSettings
from headgate.kafka.topics import partitions_of
from headgate.workloads import count_at
from headgate.workloads.records import arrival_times_us

__all__ = ["Production", "ProductionPlan", "ProductionResult", "ProductionStatus"]

KEPT_UP = 0.98
"""Share of the asked rate below which a production was too slow."""
_SLACK_S = 0.5
"""A shorter delay of the end is only the way to the broker and back."""
_READY_S = 60.0
_LEAD_S = 0.25
_STOP_S = 20.0


@dataclass(frozen=True, slots=True, kw_only=True)
class ProductionStatus:
    """How far a production is."""

    asked: int
    """Records that the schedule has by now."""
    sent: int
    acknowledged: int
    failed: int
    """Records that will never arrive."""
    total: int
    late_s: float
    """How far it is behind its schedule."""
    trouble: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class ProductionResult:
    """What has come of a production."""

    topic: str
    total: int
    sent: int
    acknowledged: int
    failed: int
    start_time_s: float
    asked_per_s: float
    achieved_per_s: float
    ended_late_s: float
    """Last acknowledgement against the schedule's end."""
    most_late_s: float
    """How far it was behind at worst."""

    @property
    def exact(self) -> bool:
        """Whether the whole workload has arrived."""
        return self.acknowledged == self.total

    @property
    def kept_up(self) -> bool:
        return self.ended_late_s <= _SLACK_S or self.achieved_per_s >= KEPT_UP * self.asked_per_s


class Production:
    """A plan being carried out."""

    def __init__(self, settings: KafkaSettings, plan: ProductionPlan) -> None:
        plan.record_kind()
        plan.record_keys()
        self._settings = settings
        self._plan = plan
        self._curve = plan.curve()
        self._children: list[SendingChild] = []
        self._start_time_s: float | None = None
        self._stopped_s: float | None = None

    @property
    def plan(self) -> ProductionPlan:
        return self._plan

    @property
    def total(self) -> int:
        """Records of the whole workload."""
        return int(self._curve[-1])

    @property
    def start_time_s(self) -> float:
        """When the workload began, in seconds since 1970."""
        if self._start_time_s is None:
            raise NotReady("the production has not been started")
        return self._start_time_s

    def start(self) -> None:
        """Returns when all processes are ready and know when to begin."""
        if self._children:
            raise Permanent("the production has been started already; make another one")
        partitions = len(partitions_of(self._settings, [self._plan.topic])[self._plan.topic])
        self._children = [
            SendingChild(self._settings, self._plan, index=index, partitions=partitions)
            for index in range(self._plan.processes)
        ]
        deadline_s = time.monotonic() + _READY_S
        try:
            for child in self._children:
                if not child.ready.wait(max(0.0, deadline_s - time.monotonic())):
                    raise Temporary(f"the producer was not ready after {_READY_S:.0f} s; try again")
                if child.problem is not None:
                    raise child.problem
        except BaseException:
            self._end(timeout_s=0.0)
            raise
        given_s = self._plan.start_time_s
        self._start_time_s = time.time() + _LEAD_S if given_s is None else given_s
        for child in self._children:
            child.tell({"start_time_s": self._start_time_s})

    def status(self) -> ProductionStatus:
        """As of the processes' last reports, some tenths of a second old."""
        reports = [child.report for child in self._children]
        return ProductionStatus(
            asked=self._asked(),
            sent=sum(report.sent for report in reports),
            acknowledged=sum(report.acknowledged for report in reports),
            failed=sum(report.failed for report in reports),
            total=self.total,
            late_s=max((report.late_s for report in reports), default=0.0),
            trouble=next((report.trouble for report in reports if report.trouble is not None), None),
        )

    @property
    def pids(self) -> tuple[int, ...]:
        """The sending processes."""
        return tuple(child.process.pid for child in self._children)

    @property
    def finished(self) -> bool:
        """Whether every process has ended, with success or without."""
        return bool(self._children) and all(child.ended.is_set() for child in self._children)

    @property
    def problem(self) -> HeadgateError | None:
        """Why not everything has arrived, if a process said so."""
        return next((child.problem for child in self._children if child.problem is not None), None)

    def wait(self, timeout_s: float | None = None) -> bool:
        """Wait for the end; whether it has come."""
        deadline_s = None if timeout_s is None else time.monotonic() + timeout_s
        for child in self._children:
            if not child.ended.wait(None if deadline_s is None else max(0.0, deadline_s - time.monotonic())):
                return False
        return self.finished

    def result(self) -> ProductionResult:
        """What has come of it, after the end."""
        if not self.finished:
            raise NotReady("the production has not ended")
        reports = [child.report for child in self._children]
        acknowledged = sum(report.acknowledged for report in reports)
        planned = self.total if self._stopped_s is None else min(self.total, self._asked())
        planned_s = int(arrival_times_us(self._curve, np.array([planned - 1]))[0]) / 1e6 if planned else 0.0
        taken_s = max(report.ended_s or self.start_time_s for report in reports) - self.start_time_s
        return ProductionResult(
            topic=self._plan.topic,
            total=self.total,
            sent=sum(report.sent for report in reports),
            acknowledged=acknowledged,
            failed=sum(report.failed for report in reports),
            start_time_s=self.start_time_s,
            asked_per_s=planned / planned_s if planned_s else 0.0,
            achieved_per_s=acknowledged / taken_s if taken_s > 0 else 0.0,
            ended_late_s=max(0.0, taken_s - planned_s),
            most_late_s=max(report.most_late_s for report in reports),
        )

    def stop(self) -> None:
        """End it now: what was sent is waited for, what was not is left out. Also needed after the end."""
        if self._stopped_s is None and not self.finished:
            self._stopped_s = time.time()
        self._end(timeout_s=_STOP_S)

    def _end(self, *, timeout_s: float) -> None:
        for child in self._children:
            child.tell("stop")
        for child in self._children:
            child.close(timeout_s)

    def _asked(self) -> int:
        if self._start_time_s is None:
            return 0
        now_s = time.time() if self._stopped_s is None else self._stopped_s
        return count_at(self._curve, now_s - self._start_time_s)

    def __enter__(self) -> Production:
        self.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self.stop()
