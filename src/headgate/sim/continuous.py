"""An engine that works record by record: fluid queues between operators, in steps of a second or less.

Records that are processed in a step finish at its end, so latencies are true to one step. Where the
queues between operators are bounded, a slow operator holds up those before it. A rescale is
seamless, or a restart: nothing is processed during the downtime, and what had been processed since
the last checkpoint is processed again, which costs capacity but moves no position.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

from headgate.core.sample import AgentEvent, ArrivalPoint, Batch, EventKind, ExecutorSample, OperatorSample
from headgate.sim.arrivals import ArrivalCurve, Cumulative
from headgate.sim.batch import NO_PHASES, slow_batch_event
from headgate.sim.cluster import Cluster, Executor
from headgate.sim.engine import NOTHING
from headgate.sim.placement import fair_shares
from headgate.sim.running import connect
from headgate.sim.scenario import Scenario
from headgate.sim.stage import Stage


class ContinuousEngine:
    """The engine of every scenario with ``engine = "continuous"``."""

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
        self._steps = 0
        self._sampled_s = -1.0
        self._stopped_s: float | None = None
        self._resumes_s = 0.0
        self._stages = connect(Stage, scenario, arrivals, cluster, seed=seed)

    def advance(self, until_s: float) -> None:
        step_s = self._scenario.step_s
        last = int(until_s / step_s + 1e-9)
        if last > self._steps:
            first, self._steps = self._steps, last
            stage = self._stages[0]
            if len(self._stages) == 1 and stage.curve is not None:
                self._run_alone(stage, stage.curve, first, last)
            else:
                for step in range(first, last):
                    self._run_step(step * step_s, (step + 1) * step_s)
        if self._stopped_s is not None and until_s >= self._resumes_s:
            self._restarted(self._resumes_s - self._stopped_s)

    def _run_alone(self, stage: Stage, curve: ArrivalCurve, first: int, last: int) -> None:
        """The steps of an app with one operator, in plain floats."""
        plan = stage.plan
        if plan is None:
            return
        step_s, interval_s = self._scenario.step_s, self._scenario.checkpoint_interval_s
        new, noise, append = tuple.__new__, stage.noise, stage.counters.batches.append
        values, count, total, whole = curve.values, curve.last, curve.total, step_s == 1.0
        seconds = plan.seconds_per_record
        done, debt, batch_id, quiet_until_s = stage.counters.done, stage.debt, stage.batch_id, stage.quiet_until_s
        begun_at, weighted = done, 0.0
        checkpoint, next_checkpoint_s = stage.checkpoint, stage.next_checkpoint_s
        for step in range(first, last):
            start_s, end_s = step * step_s, (step + 1) * step_s
            factor = next(noise)
            useful_s = step_s
            if start_s < quiet_until_s:
                useful_s = max(0.0, end_s - quiet_until_s)
            capacity = useful_s * factor / seconds
            again = 0.0
            if debt > 0.0:
                again = min(debt, capacity)
                debt -= again
                capacity -= again
            arrived = curve.at(end_s) if not whole else values[step + 1] if step < count else total
            records = arrived - done
            if records > capacity:
                records = capacity
            weighted += (records + again) / factor
            if records > NOTHING:
                end = done + records
                run_s = (records + again) * seconds / factor
                append(new(Batch, (batch_id, start_s, end_s, done, end, None, run_s, None, None, None, NO_PHASES)))
                done = end
                batch_id += 1
            if end_s >= next_checkpoint_s:
                if start_s >= quiet_until_s:
                    checkpoint = done - debt
                next_checkpoint_s += interval_s * max(1, math.floor((end_s - next_checkpoint_s) / interval_s) + 1)
        stage.counters.done, stage.debt, stage.batch_id = done, debt, batch_id
        stage.checkpoint, stage.next_checkpoint_s = checkpoint, next_checkpoint_s
        stage.note_work(records=done - begun_at, weighted=weighted)
        stage.span_s += (last - first) * step_s

    def _run_step(self, start_s: float, end_s: float) -> None:
        """One step of a graph: what each operator could do, may use of the slots, may pass on, and does."""
        for stage in self._stages:
            stage.begin_step(start_s, end_s)
        self._share_slots()
        # From the sinks upwards: how much an operator can take in bounds how much its upstreams may do.
        for stage in reversed(self._stages):
            stage.limit_by_downstream()
        for stage in self._stages:
            stage.finish_step(start_s, end_s, self._scenario.checkpoint_interval_s)

    def _share_slots(self) -> None:
        slots = sum(executor.cores for executor in self._cluster.active)
        inflow: dict[Stage, float] = dict.fromkeys(self._stages, 0.0)
        demands = []
        for stage in self._stages:
            wanted = min(stage.queue + stage.debt + inflow[stage], stage.could)
            for reader in stage.downstream:
                inflow[reader] += wanted * stage.operator.selectivity * reader.operator.share
            demands.append(stage.slots * wanted / stage.could if stage.could > 0 else 0.0)
        if sum(demands) <= slots:
            return
        for stage, demand, granted in zip(self._stages, demands, fair_shares(demands, float(slots)), strict=True):
            if demand > 0:
                stage.could = min(stage.could, stage.could * granted / stage.slots)

    def save(self) -> None:
        """Take a checkpoint now, unless the engine stands still."""
        if self._stopped_s is None:
            for stage in self._stages:
                stage.checkpoint = stage.counters.done - stage.debt

    def stop(self, now_s: float, downtime_s: float) -> float:
        """Stand still from now on; the moment when work goes on."""
        if self._stopped_s is None:
            self._stopped_s = now_s
            for stage in self._stages:
                stage.debt = stage.counters.done - stage.checkpoint
            self._events.append(
                AgentEvent(time_s=now_s, kind=EventKind.STOPPED, message="the engine stopped to be restarted")
            )
        self._resumes_s = now_s + downtime_s
        for stage in self._stages:
            stage.quiet_until_s = self._resumes_s
        return self._resumes_s

    def _restarted(self, downtime_s: float) -> None:
        replayed = sum(stage.debt for stage in self._stages if not stage.operator.upstream)
        self._events.append(
            AgentEvent(
                time_s=self._resumes_s,
                kind=EventKind.RESTARTED,
                message=f"the engine restarted after {downtime_s:.1f} s and replays {replayed:.0f} records",
                figures={"downtime_s": downtime_s, "replay_records": replayed},
            )
        )
        self._stopped_s = None

    def changes(self, parallelism: dict[str, int]) -> bool:
        return any(
            parallelism.get(stage.operator.name, stage.counters.tasks) != stage.counters.tasks for stage in self._stages
        )

    def cluster_changed(
        self, now_s: float, *, joined: Sequence[Executor], lost: Sequence[Executor], left: bool = False
    ) -> None:
        seamless = self._scenario.rescale == "seamless"
        slowest_s = 0.0
        for stage in self._stages:
            stage.book()
            stage.plan = stage.planner.plan(tasks=stage.counters.tasks, now_s=now_s)
            if seamless:
                stage.slow.note(joined=joined, lost=lost, left=left)
                extra_s, _ = stage.slow.take()
                slowest_s = max(slowest_s, extra_s)
                stage.quiet_until_s = max(stage.quiet_until_s, now_s + extra_s if extra_s else 0.0)
        if slowest_s:
            self._events.append(slow_batch_event(now_s, slowest_s, joined[-1].id if joined else None))

    def set_parallelism(self, parallelism: dict[str, int], now_s: float) -> None:
        for stage in self._stages:
            wanted = parallelism.get(stage.operator.name)
            if wanted is not None and wanted != stage.counters.tasks:
                stage.book()
                stage.counters.tasks = wanted
                stage.plan = stage.planner.plan(tasks=wanted, now_s=now_s)

    def idle_at_s(self, now_s: float) -> float:
        return now_s

    def operator_samples(self, now_s: float) -> tuple[OperatorSample, ...]:
        samples = []
        for stage in self._stages:
            stage.book()
            if stage.curve is not None:
                arrivals = stage.curve.points(self._sampled_s, now_s)
            else:
                arrivals = (*stage.points, ArrivalPoint(now_s, stage.arrived))
                stage.points.clear()
            samples.append(
                stage.counters.sample(arrivals, busy_s=stage.counters.busy_s, back_pressure=stage.take_back_pressure())
            )
        self._sampled_s = now_s
        return tuple(samples)

    def executor_samples(self, now_s: float) -> tuple[ExecutorSample, ...]:
        return self._cluster.samples(now_s)

    def drained(self, now_s: float) -> bool:
        return all(
            (stage.curve is None or now_s >= stage.curve.last)
            and (stage.arrived if stage.curve is None else stage.curve.total) - stage.counters.done <= NOTHING
            for stage in self._stages
        )
