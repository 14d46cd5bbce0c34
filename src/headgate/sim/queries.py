"""Several Spark-like queries that share the executors: each operator reads what its upstreams wrote.

Every operator is a query of its own with micro-batches of its own. Slots are shared fairly: a batch
that gets half of the slots that it could use takes twice as long. What a batch writes arrives at
the operators downstream when it ends. One operator alone behaves as in ``microbatch.py``.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

from headgate.core.sample import AgentEvent, ArrivalPoint, ExecutorSample, OperatorSample
from headgate.sim.arrivals import Cumulative
from headgate.sim.batch import RunningBatch, next_boundary_s, same_executors, slow_batch_event
from headgate.sim.cluster import Cluster, Executor
from headgate.sim.engine import NOTHING
from headgate.sim.placement import Plan, fair_shares
from headgate.sim.running import RunningOperator, connect
from headgate.sim.scenario import OperatorScenario, Scenario


class _Flight(RunningBatch):
    """A batch that runs now; ``left_s`` is what it would still need if all slots were its own."""

    __slots__ = ("left_s", "run_s", "runs_from_s")

    def __init__(self, starts_s: float, runs_from_s: float, records: float, factor: float, plan: Plan) -> None:
        super().__init__(starts_s, records, factor, plan)
        self.runs_from_s = runs_from_s
        self.run_s = self.left_s = 0.0
        """``run_s`` is what was left when its work was last booked."""

    def set_off(self, plan: Plan) -> None:
        self.plan = plan
        self.run_s = self.left_s = self.longest_slot_s

    @property
    def passed(self) -> float:
        """How much of its unbooked work is done."""
        return 0.0 if math.isinf(self.left_s) or self.run_s <= 0 else 1.0 - self.left_s / self.run_s

    @property
    def slots(self) -> float:
        """That it could use."""
        return float(min(self.plan.tasks, self.plan.slots))


class _Query(RunningOperator):
    """One operator's query."""

    def __init__(
        self, scenario: Scenario, operator: OperatorScenario, cluster: Cluster, *, seed: int, number: int
    ) -> None:
        super().__init__(scenario, operator, cluster, seed=seed, number=number)
        self.flight: _Flight | None = None
        self.next_start_s = 0.0

    def arrived_by(self, now_s: float) -> float:
        return self.arrived if self.curve is None else self.curve.at(now_s)

    def receive(self, records: float, now_s: float) -> None:
        self.points.append(ArrivalPoint(now_s, self.arrived))
        self.arrived += records * self.operator.share
        self.points.append(ArrivalPoint(now_s, self.arrived))


class QueryGraph:
    """The engine of a scenario with several micro-batch operators."""

    def __init__(
        self,
        scenario: Scenario,
        arrivals: Cumulative,
        cluster: Cluster,
        *,
        seed: int,
        events: list[AgentEvent],
    ) -> None:
        self._scenario = scenario
        self._cluster = cluster
        self._events = events
        self._now_s = 0.0
        self._sampled_s = -1.0
        self._queries = connect(_Query, scenario, arrivals, cluster, seed=seed)

    def advance(self, until_s: float) -> None:
        while True:
            rates = self._rates()
            moments = [self._next_moment_s(query, rates.get(query, 0.0), until_s) for query in self._queries]
            at_s = max(self._now_s, min(moments))
            if at_s > until_s:
                break
            self._work(rates, at_s)
            for query, moment_s in zip(self._queries, moments, strict=True):
                if query.flight is None:
                    if query.plan is not None and query.next_start_s <= at_s < until_s:
                        self._start(query, query.plan, at_s)
                elif query in rates and moment_s <= at_s:
                    self._land(query, query.flight, at_s)
        self._work(rates, until_s)

    def _rates(self) -> dict[_Query, float]:
        """How fast each running batch gets on, against having all slots to itself."""
        running = [
            (query, query.flight)
            for query in self._queries
            if query.flight is not None
            and query.flight.runs_from_s <= self._now_s
            and not math.isinf(query.flight.left_s)
        ]
        if not running:
            return {}
        supply = max(flight.plan.slots for _, flight in running)
        granted = fair_shares([flight.slots for _, flight in running], float(supply))
        return {query: slots / flight.slots for (query, flight), slots in zip(running, granted, strict=True)}

    def _next_moment_s(self, query: _Query, rate: float, until_s: float) -> float:
        flight = query.flight
        if flight is None:
            waiting = query.plan is None or query.next_start_s >= until_s
            return math.inf if waiting else query.next_start_s
        if flight.runs_from_s > self._now_s:
            return flight.runs_from_s
        return self._now_s + flight.left_s / rate if rate else math.inf

    def _work(self, rates: dict[_Query, float], until_s: float) -> None:
        passed_s = until_s - self._now_s
        if passed_s > 0:
            for query, rate in rates.items():
                if query.flight is not None:
                    query.flight.left_s = max(0.0, query.flight.left_s - rate * passed_s)
            self._now_s = until_s

    def _start(self, query: _Query, plan: Plan, now_s: float) -> None:
        records = query.arrived_by(now_s) - query.counters.done
        if records <= NOTHING:
            query.next_start_s = next_boundary_s(now_s, self._scenario.trigger_s)
            return
        records = min(records, query.counters.records_limit or math.inf)
        flight = _Flight(now_s, now_s + self._scenario.overhead_s, records, next(query.noise), plan)
        flight.extra_s, flight.slowed_by = query.slow.take()
        flight.set_off(plan)
        query.flight = flight

    def _land(self, query: _Query, flight: _Flight, now_s: float) -> None:
        counters = query.counters
        run_s = now_s - flight.starts_s - self._scenario.overhead_s
        counters.batches.append(flight.batch(query.batch_id, counters.done, ends_s=now_s, run_s=run_s))
        counters.done += flight.records
        counters.busy_s += flight.book_rest()
        if flight.extra_s:
            self._events.append(slow_batch_event(now_s, flight.extra_s, flight.slowed_by))
        trigger_s = self._scenario.trigger_s
        query.next_start_s = max(now_s, next_boundary_s(flight.starts_s, trigger_s)) if trigger_s else now_s
        query.batch_id += 1
        query.flight = None
        for reader in query.downstream:
            reader.receive(flight.records * query.operator.selectivity, now_s)

    def cluster_changed(
        self, now_s: float, *, joined: Sequence[Executor], lost: Sequence[Executor], left: bool = False
    ) -> None:
        for query in self._queries:
            query.slow.note(joined=joined, lost=lost, left=left)
            query.plan = query.planner.plan(tasks=query.counters.tasks, now_s=now_s)
            query.next_start_s = max(query.next_start_s, now_s)
            flight = query.flight
            if flight is None:
                continue
            if math.isinf(flight.left_s):
                if query.plan is not None:
                    flight.set_off(query.plan)
                    flight.runs_from_s = max(now_s, flight.runs_from_s)
            elif lost:
                self._rerun(query, flight, lost, now_s)
            elif query.plan is not None and not same_executors(flight.plan, query.plan):
                self._respread(query, flight, query.plan, now_s)

    def _respread(self, query: _Query, flight: _Flight, plan: Plan, now_s: float) -> None:
        if now_s <= flight.runs_from_s and flight.unbooked == 1.0:
            flight.set_off(plan)
            return
        booked_s, left_s = flight.respread(
            plan, passed=flight.passed, left_s=flight.left_s, worked_s=flight.run_s - flight.left_s
        )
        if flight.plan is plan:
            query.counters.busy_s += booked_s
            flight.run_s = flight.left_s = left_s

    def _rerun(self, query: _Query, flight: _Flight, lost: Sequence[Executor], now_s: float) -> None:
        left = [load.executor for load in flight.plan.loads if load.executor not in lost]
        plan = query.planner.plan(tasks=flight.plan.tasks, now_s=now_s, on=left)
        booked_s, more_s = flight.lose(lost, plan, passed=flight.passed)
        query.counters.busy_s += booked_s
        flight.worked_s += flight.run_s - flight.left_s
        if plan is None:
            flight.left_s = math.inf
            if query.plan is not None:
                flight.set_off(query.plan)
        else:
            flight.left_s += more_s
            flight.run_s = flight.left_s

    def set_parallelism(self, parallelism: dict[str, int], now_s: float) -> None:
        for query in self._queries:
            wanted = parallelism.get(query.operator.name)
            if wanted is not None and wanted != query.counters.tasks:
                query.counters.tasks = wanted
                query.plan = query.planner.plan(tasks=wanted, now_s=now_s)

    def idle_at_s(self, now_s: float) -> float:
        """An estimate: what runs beside a batch may change before it ends."""
        rates = self._rates()
        ends = []
        for query, rate in rates.items():
            flight = query.flight
            if flight is not None and now_s > flight.runs_from_s:
                tasks_s = flight.mean_task_s if flight.waiting(flight.passed) > 0.0 else math.inf
                ends.append(now_s + min(tasks_s, flight.left_s / rate))
        return max(ends, default=now_s)

    def operator_samples(self, now_s: float) -> tuple[OperatorSample, ...]:
        samples = []
        for query in self._queries:
            busy_s = query.counters.busy_s + sum(busy_s for _, busy_s, _ in _parts(query.flight))
            if query.curve is not None:
                arrivals = query.curve.points(self._sampled_s, now_s)
            else:
                arrivals = (*query.points, ArrivalPoint(now_s, query.arrived))
                query.points.clear()
            samples.append(query.counters.sample(arrivals, busy_s=busy_s, back_pressure=None))
        self._sampled_s = now_s
        return tuple(samples)

    def executor_samples(self, now_s: float) -> tuple[ExecutorSample, ...]:
        running: dict[str, tuple[float, float]] = {}
        for query in self._queries:
            for executor, busy_s, records in _parts(query.flight):
                before = running.get(executor.id, (0.0, 0.0))
                running[executor.id] = (before[0] + busy_s, before[1] + records)
        return self._cluster.samples(now_s, running=running)

    def drained(self, now_s: float) -> bool:
        return all(
            query.flight is None
            and query.arrived_by(now_s) - query.counters.done <= NOTHING
            and (query.curve is None or now_s >= query.curve.last)
            for query in self._queries
        )


def _parts(flight: _Flight | None) -> list[tuple[Executor, float, float]]:
    """Task time and records so far of each executor in a running batch."""
    if flight is None or not (passed := flight.passed * flight.unbooked):
        return []
    return [
        (executor, passed * busy_s, passed * records)
        for executor, busy_s, records in flight.plan.parts(
            flight.records, flight.factor, flight.extra_s, flight.slowed_by
        )
    ]
