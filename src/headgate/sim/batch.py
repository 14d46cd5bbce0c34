"""Micro-batches under way: what they cost, whose account it goes on, and what disturbs them.

Executors may come, leave and die in the middle of a batch. Its work is booked on executors when it
ends, or, whenever the executors change, as far as it is done.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence

from headgate.core.sample import AgentEvent, Batch, EventKind
from headgate.sim.cluster import Executor
from headgate.sim.placement import Plan
from headgate.sim.scenario import OperatorScenario, Scenario

NO_PHASES: Mapping[str, float] = {}

POLL_S = 0.01
"""How often a query without a trigger interval looks for data."""


class RunningBatch:
    """A batch that is under way: what it does, and how much of that is not booked yet."""

    __slots__ = ("extra_s", "factor", "plan", "records", "slowed_by", "starts_s", "unbooked", "worked_s")

    def __init__(self, starts_s: float, records: float, factor: float, plan: Plan) -> None:
        self.starts_s = starts_s
        self.records = records
        self.factor = factor
        self.plan = plan
        self.extra_s = 0.0
        self.slowed_by: str | None = None
        self.unbooked = 1.0
        self.worked_s = 0.0
        """How long it had run when its work was last booked."""

    @property
    def longest_slot_s(self) -> float:
        """How long the slot works that ends last."""
        longest_s = max([constant + slope * self.records for constant, slope in self.plan.lines])
        return longest_s * self.factor + self.extra_s

    @property
    def longest_task_s(self) -> float:
        return (self.plan.task_overhead_s + self.plan.longest_task * self.records) * self.factor + self.extra_s

    @property
    def mean_task_s(self) -> float:
        return (self.plan.task_overhead_s + self.plan.mean_task * self.records) * self.factor

    def waiting(self, passed: float) -> float:
        """The share of all its work in tasks that no slot has begun."""
        begun = 1.0 - self.unbooked * (1.0 - passed)
        return max(0.0, 1.0 - min(1.0, self.plan.slots / self.plan.tasks) - begun)

    def respread(self, plan: Plan, *, passed: float, left_s: float, worked_s: float) -> tuple[float, float]:
        """Waiting tasks go to the slots of a new plan: task time to book, and the time that is left then.

        ``passed`` is the share of the unbooked work that is done, after ``worked_s`` since it was
        last booked; tasks that have begun stay where they are.
        """
        waiting, rest = self.waiting(passed), self.unbooked * (1.0 - passed)
        if waiting <= 0.0 or rest <= 0.0:
            return 0.0, left_s
        booked_s = credit_part(self.plan, self, fraction=self.unbooked * passed)
        slots = [min(each.tasks, each.slots) for each in (self.plan, plan)]
        self.unbooked = rest
        self.worked_s += worked_s
        self.plan = plan
        faster_s = left_s * (1.0 - waiting / rest * (1.0 - slots[0] / slots[1]))
        return booked_s, max(faster_s, min(left_s, self.longest_task_s - self.worked_s))

    def lose(self, lost: Sequence[Executor], plan: Plan | None, *, passed: float) -> tuple[float, float]:
        """Executors died after a share of the work: task time to book, and time that is added to the run.

        What they had done is done again by the others, on the new plan.
        """
        booked_s = credit_part(self.plan, self, fraction=self.unbooked * passed)
        missing = [load for load in self.plan.loads if load.executor in lost]
        for load in missing:
            load.executor.tasks_failed += load.tasks
        if plan is None:
            self.unbooked = 1.0
            return booked_s, 0.0
        again_s = self.factor * sum(
            load.tasks * self.plan.task_overhead_s + load.seconds_per_record * self.records for load in missing
        )
        all_s = sum(busy_s for _, busy_s, _ in self.plan.parts(self.records, self.factor, 0.0, None))
        to_do = self.unbooked * (1.0 - passed)
        self.unbooked = to_do + (1.0 - to_do) * (again_s / all_s if all_s else 0.0)
        self.plan = plan
        return booked_s, again_s / plan.slots

    def batch(self, number: int, first_record: float, *, ends_s: float, run_s: float) -> Batch:
        return Batch(
            number,
            self.starts_s,
            ends_s,
            first_record,
            first_record + self.records,
            self.plan.tasks,
            run_s,
            self.longest_task_s,
            self.mean_task_s,
            None,
            NO_PHASES,
        )

    def book_rest(self) -> float:
        """The batch has ended; the task time that was booked."""
        for load in self.plan.loads:
            load.executor.tasks_done += load.tasks
        return credit_part(self.plan, self, fraction=self.unbooked)


def credit(plan: Plan, *, batches: int, records: float, factors: float, weighted_records: float) -> float:
    """Book finished batches on their executors; the task time of all of them.

    ``factors`` is the sum of the batches' noise factors, ``weighted_records`` that of records times
    factor: task time is linear in both, so that many batches are booked at once.
    """
    total_s = 0.0
    fixed_s = plan.task_overhead_s * factors
    for executor, tasks, share, seconds in plan.loads:
        busy_s = tasks * fixed_s + seconds * weighted_records
        executor.busy_s += busy_s
        executor.records += share * records
        executor.tasks_done += tasks * batches
        total_s += busy_s
    return total_s


def credit_part(plan: Plan, batch: RunningBatch, *, fraction: float) -> float:
    """Book a fraction of one batch's work on its executors; the task time of all of them."""
    total_s = 0.0
    for executor, busy_s, records in plan.parts(batch.records, batch.factor, batch.extra_s, batch.slowed_by):
        executor.busy_s += fraction * busy_s
        executor.records += fraction * records
        total_s += fraction * busy_s
    return total_s


def next_boundary_s(start_s: float, trigger_s: float) -> float:
    """The first trigger after a moment."""
    interval_s = trigger_s or POLL_S
    count = int(start_s / interval_s) + 1
    boundary_s = count * interval_s
    return boundary_s if boundary_s > start_s else (count + 1) * interval_s


def slow_batch_event(time_s: float, extra_s: float, executor: str | None) -> AgentEvent:
    return AgentEvent(
        time_s=time_s,
        kind=EventKind.SLOW_BATCH,
        message=f"a batch took {extra_s:.1f} s longer because the executors had changed",
        executor=executor,
        figures={"extra_s": extra_s},
    )


class SlowNext:
    """What a change of executors will add to an operator's next batch."""

    __slots__ = ("_operator", "_scenario", "executor", "extra_s")

    def __init__(self, scenario: Scenario, operator: OperatorScenario) -> None:
        self._scenario = scenario
        self._operator = operator
        self.extra_s = 0.0
        self.executor: str | None = None

    def note(self, *, joined: Sequence[Executor], lost: Sequence[Executor], left: bool) -> None:
        extra_s = self._scenario.slow_batch_s if joined else 0.0
        if self._operator.stateful and (joined or lost or left):
            extra_s += self._scenario.state_reload_s
        # Executors that join together start together: the batch waits for them once.
        self.extra_s = max(self.extra_s, extra_s)
        if joined:
            self.executor = joined[-1].id

    def take(self) -> tuple[float, str | None]:
        taken = (self.extra_s, self.executor)
        self.extra_s, self.executor = 0.0, None
        return taken


def same_executors(one: Plan, other: Plan) -> bool:
    return [load.executor for load in one.loads] == [load.executor for load in other.loads]


def share_of_run(now_s: float, begins_s: float, ends_s: float) -> float:
    """How much of a span has passed."""
    if now_s <= begins_s or math.isinf(ends_s):
        return 0.0
    return 1.0 if now_s >= ends_s else (now_s - begins_s) / (ends_s - begins_s)
