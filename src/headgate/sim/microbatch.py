"""A Spark-like query on its own: one micro-batch after the other, on all executors.

A batch starts at the trigger, or at once when its predecessor ended after it, takes what has
arrived up to its limit, and finishes all its records at its end. A trigger without new data runs
nothing. An executor that joins also gets tasks of the running batch that have not begun; one that
leaves finishes the tasks it has; the tasks of one that dies are run again by the others.

This is the case that most simulations consist of, so its loop is kept to plain floats;
``queries.py`` is the general case and must agree with it.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

from headgate.core.sample import AgentEvent, Batch, ExecutorSample, OperatorSample
from headgate.sim.arrivals import ArrivalCurve, Cumulative
from headgate.sim.batch import (
    NO_PHASES,
    POLL_S,
    RunningBatch,
    SlowNext,
    credit,
    next_boundary_s,
    same_executors,
    share_of_run,
    slow_batch_event,
)
from headgate.sim.cluster import Cluster, Executor
from headgate.sim.engine import NOTHING, OperatorCounters, Planner
from headgate.sim.placement import Plan
from headgate.sim.randomness import noise_factors
from headgate.sim.scenario import Scenario


class _Flight(RunningBatch):
    """The batch that runs now."""

    __slots__ = ("counts_from_s", "ends_s", "run_s")

    def __init__(self, starts_s: float, records: float, factor: float, plan: Plan) -> None:
        super().__init__(starts_s, records, factor, plan)
        self.ends_s = math.inf
        self.run_s = 0.0
        self.counts_from_s = starts_s
        """Since when its work is not booked."""


class SingleQuery:
    """The engine of a scenario with one micro-batch operator."""

    def __init__(
        self, scenario: Scenario, arrivals: Cumulative, cluster: Cluster, *, seed: int, events: list[AgentEvent]
    ) -> None:
        operator = scenario.operators[0]
        self._scenario = scenario
        self._arrivals = ArrivalCurve(arrivals, share=operator.share)
        self._cluster = cluster
        self._events = events
        self._counters = OperatorCounters(scenario, operator)
        self._planner = Planner(scenario, operator, cluster)
        self._slow = SlowNext(scenario, operator)
        self._noise = noise_factors(seed, 0, scenario.noise)
        self._plan = self._planner.plan(tasks=self._counters.tasks, now_s=0.0)
        self._flight: _Flight | None = None
        self._next_start_s = 0.0
        self._batch_id = 0
        self._sampled_s = -1.0
        self._forget_sums()

    def advance(self, until_s: float) -> None:
        if self._flight is not None and not self._land(until_s):
            return
        if self._plan is None:
            return
        self._run_batches(self._plan, until_s)

    def _run_batches(self, plan: Plan, until_s: float) -> None:
        """The inner loop: batches from start to end, until one reaches beyond ``until_s``."""
        new, noise, append = tuple.__new__, self._noise, self._counters.batches.append
        values, last, total = self._arrivals.values, self._arrivals.last, self._arrivals.total
        trigger_s, overhead_s = self._scenario.trigger_s or POLL_S, self._scenario.overhead_s
        waits = self._scenario.trigger_s > 0
        limit = self._scenario.records_per_trigger or math.inf
        tasks, task_s, longest, mean = plan.tasks, plan.task_overhead_s, plan.longest_task, plan.mean_task
        fixed_s, slope = plan.lines[0]
        lines = plan.lines if len(plan.lines) > 1 else None
        start_s, position, batch_id = self._next_start_s, self._counters.done, self._batch_id
        begun_id, begun_at, sum_factors, sum_weighted = batch_id, position, 0.0, 0.0
        while start_s < until_s:
            second = int(start_s)
            if second < last:
                before = values[second]
                records = before + (start_s - second) * (values[second + 1] - before) - position
            else:
                records = total - position
            count = int(start_s / trigger_s) + 1
            boundary_s = count * trigger_s
            if boundary_s <= start_s:
                boundary_s = (count + 1) * trigger_s
            if records <= NOTHING:
                if second >= last:
                    start_s = max(boundary_s, next_boundary_s(until_s, trigger_s) - trigger_s)
                else:
                    start_s = boundary_s
                continue
            if records > limit:
                records = limit
            factor = next(noise)
            if lines is None:
                run_s = (fixed_s + slope * records) * factor
            else:
                run_s = max([constant + each * records for constant, each in lines]) * factor
            end_s = start_s + overhead_s + run_s
            if end_s > until_s or self._slow.extra_s:
                flight = _Flight(start_s, records, factor, plan)
                flight.extra_s, flight.slowed_by = self._slow.take()
                flight.counts_from_s = start_s + overhead_s
                flight.run_s = run_s + flight.extra_s
                flight.ends_s = end_s + flight.extra_s
                self._flight = flight
                break
            end_position = position + records
            append(
                new(
                    Batch,
                    (
                        batch_id,
                        start_s,
                        end_s,
                        position,
                        end_position,
                        tasks,
                        run_s,
                        (task_s + longest * records) * factor,
                        (task_s + mean * records) * factor,
                        None,
                        NO_PHASES,
                    ),
                )
            )
            sum_factors += factor
            sum_weighted += records * factor
            position = end_position
            batch_id += 1
            start_s = boundary_s if waits and boundary_s > end_s else end_s
        self._next_start_s = start_s
        self._counters.done = position
        self._batch_id = batch_id
        self._sum_batches += batch_id - begun_id
        self._sum_records += position - begun_at
        self._sum_factors += sum_factors
        self._sum_weighted += sum_weighted
        if self._flight is not None and self._flight.ends_s <= until_s:
            self.advance(until_s)

    def _land(self, until_s: float) -> bool:
        """Finish the running batch, if it ends by then."""
        flight, counters = self._flight, self._counters
        if flight is None or flight.ends_s > until_s:
            return False
        counters.batches.append(flight.batch(self._batch_id, counters.done, ends_s=flight.ends_s, run_s=flight.run_s))
        counters.done += flight.records
        self._batch_id += 1
        if flight.plan is self._plan and not flight.extra_s and flight.unbooked == 1.0:
            self._sum_batches += 1
            self._sum_records += flight.records
            self._sum_factors += flight.factor
            self._sum_weighted += flight.records * flight.factor
        else:
            counters.busy_s += flight.book_rest()
        if flight.extra_s:
            self._events.append(slow_batch_event(flight.ends_s, flight.extra_s, flight.slowed_by))
        boundary_s = next_boundary_s(flight.starts_s, self._scenario.trigger_s) if self._scenario.trigger_s else 0.0
        self._next_start_s = max(flight.ends_s, boundary_s)
        self._flight = None
        return True

    def cluster_changed(
        self, now_s: float, *, joined: Sequence[Executor], lost: Sequence[Executor], left: bool = False
    ) -> None:
        self._book()
        self._slow.note(joined=joined, lost=lost, left=left)
        self._plan = self._planner.plan(tasks=self._counters.tasks, now_s=now_s)
        self._next_start_s = max(self._next_start_s, now_s)
        flight = self._flight
        if flight is None:
            return
        if math.isinf(flight.ends_s):
            self._begin_again(flight, now_s)
        elif lost:
            self._rerun(flight, lost, now_s)
        elif self._plan is not None and not same_executors(flight.plan, self._plan):
            self._respread(flight, self._plan, now_s)

    def _respread(self, flight: _Flight, plan: Plan, now_s: float) -> None:
        """Executors that joined help with the running batch; those that leave get no more of its tasks."""
        if now_s <= flight.counts_from_s and flight.unbooked == 1.0:
            flight.plan = plan
            flight.ends_s = flight.counts_from_s + flight.longest_slot_s
        else:
            booked_s, left_s = flight.respread(
                plan,
                passed=share_of_run(now_s, flight.counts_from_s, flight.ends_s),
                left_s=flight.ends_s - now_s,
                worked_s=now_s - flight.counts_from_s,
            )
            if flight.plan is not plan:
                return
            self._counters.busy_s += booked_s
            flight.counts_from_s = now_s
            flight.ends_s = now_s + left_s
        flight.run_s = flight.ends_s - flight.starts_s - self._scenario.overhead_s

    def _rerun(self, flight: _Flight, lost: Sequence[Executor], now_s: float) -> None:
        """The others run the tasks of executors that died in the middle of a batch."""
        left = [load.executor for load in flight.plan.loads if load.executor not in lost]
        plan = self._planner.plan(tasks=flight.plan.tasks, now_s=now_s, on=left)
        passed = share_of_run(now_s, flight.counts_from_s, flight.ends_s)
        booked_s, more_s = flight.lose(lost, plan, passed=passed)
        self._counters.busy_s += booked_s
        flight.worked_s += max(0.0, now_s - flight.counts_from_s)
        flight.counts_from_s = max(now_s, flight.counts_from_s)
        if plan is None:
            flight.ends_s = math.inf
            self._begin_again(flight, now_s)
        else:
            flight.run_s += more_s
            flight.ends_s += more_s

    def _begin_again(self, flight: _Flight, now_s: float) -> None:
        """A batch that has lost all its executors waits for the next one and starts over."""
        if self._plan is None:
            return
        flight.plan = self._plan
        flight.counts_from_s = max(now_s, flight.counts_from_s)
        flight.ends_s = flight.counts_from_s + flight.longest_slot_s
        flight.run_s = flight.ends_s - flight.starts_s - self._scenario.overhead_s

    def set_parallelism(self, parallelism: dict[str, int], now_s: float) -> None:
        wanted = parallelism.get(self._counters.operator.name)
        if wanted is not None and wanted != self._counters.tasks:
            self._book()
            self._counters.tasks = wanted
            self._plan = self._planner.plan(tasks=wanted, now_s=now_s)

    def idle_at_s(self, now_s: float) -> float:
        flight = self._flight
        if flight is None or math.isinf(flight.ends_s) or now_s <= flight.counts_from_s:
            return now_s
        if flight.waiting(share_of_run(now_s, flight.counts_from_s, flight.ends_s)) > 0.0:
            return min(flight.ends_s, now_s + flight.mean_task_s)
        return max(now_s, flight.ends_s)

    def operator_samples(self, now_s: float) -> tuple[OperatorSample, ...]:
        self._book()
        arrivals = self._arrivals.points(self._sampled_s, now_s)
        self._sampled_s = now_s
        busy_s = self._counters.busy_s
        flight = self._flight
        if flight is not None:
            busy_s += sum(part_s for part_s, _ in self._running(flight, now_s).values())
        return (self._counters.sample(arrivals, busy_s=busy_s, back_pressure=None),)

    def executor_samples(self, now_s: float) -> tuple[ExecutorSample, ...]:
        self._book()
        flight = self._flight
        return self._cluster.samples(now_s, running=None if flight is None else self._running(flight, now_s))

    def _running(self, flight: _Flight, now_s: float) -> dict[str, tuple[float, float]]:
        """Task time and records so far of each executor in the running batch."""
        passed = flight.unbooked * share_of_run(now_s, flight.counts_from_s, flight.ends_s)
        parts = flight.plan.parts(flight.records, flight.factor, flight.extra_s, flight.slowed_by)
        return {executor.id: (passed * busy_s, passed * records) for executor, busy_s, records in parts}

    def drained(self, now_s: float) -> bool:
        return now_s >= self._arrivals.last and self._counters.done >= self._arrivals.total - NOTHING

    def _book(self) -> None:
        if self._sum_batches and self._plan is not None:
            self._counters.busy_s += credit(
                self._plan,
                batches=self._sum_batches,
                records=self._sum_records,
                factors=self._sum_factors,
                weighted_records=self._sum_weighted,
            )
        self._forget_sums()

    def _forget_sums(self) -> None:
        self._sum_batches = 0
        self._sum_records = 0.0
        self._sum_factors = 0.0
        self._sum_weighted = 0.0
