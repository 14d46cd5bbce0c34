"""One operator of the continuous engine: its queue, its limits within a step, and what it replays."""

from __future__ import annotations

import math

from headgate.core.sample import ArrivalPoint, Batch
from headgate.sim.batch import credit
from headgate.sim.cluster import Cluster
from headgate.sim.engine import NOTHING
from headgate.sim.running import RunningOperator
from headgate.sim.scenario import OperatorScenario, Scenario


class Stage(RunningOperator):
    """A fluid queue with the instances that empty it."""

    def __init__(
        self, scenario: Scenario, operator: OperatorScenario, cluster: Cluster, *, seed: int, number: int
    ) -> None:
        super().__init__(scenario, operator, cluster, seed=seed, number=number)
        self.debt = 0.0
        """Records that must be processed again."""
        self.checkpoint = 0.0
        """Position that a restart goes back to."""
        self.next_checkpoint_s = scenario.checkpoint_interval_s
        self.quiet_until_s = 0.0
        """Until when it stands still."""
        self.queue = 0.0
        self.could = 0.0
        """The most records of this step, by its own speed; ``allowed`` also by those downstream."""
        self.allowed = 0.0
        self.accepts = math.inf
        """Records that it can be given in this step."""
        self.slots = 0.0
        self.span_s = 0.0
        self._buffer = math.inf if not operator.upstream else scenario.buffer_records or math.inf
        self._factor = 1.0
        self._blocked_s = 0.0
        self._records = 0.0
        self._weighted = 0.0

    def begin_step(self, start_s: float, end_s: float) -> None:
        self._factor = next(self.noise)
        useful_s = end_s - max(start_s, min(self.quiet_until_s, end_s))
        plan = self.plan
        self.could = 0.0 if plan is None else useful_s * self._factor / plan.seconds_per_record
        self.slots = 0.0 if plan is None else float(min(plan.tasks, plan.slots))
        if self.curve is not None:
            self.arrived = self.curve.at(end_s)
        self.queue = self.arrived - self.counters.done

    def limit_by_downstream(self) -> None:
        self.allowed = self.could
        for reader in self.downstream:
            produced = self.operator.selectivity * reader.operator.share
            if produced > 0:
                self.allowed = min(self.allowed, reader.accepts / produced)
        room = max(0.0, self._buffer - self.queue)
        self.accepts = (room + max(0.0, self.allowed - self.debt)) / max(1, len(self.operator.upstream))

    def finish_step(self, start_s: float, end_s: float, interval_s: float) -> None:
        """Process; what flowed in from upstream in this step is already in ``arrived``."""
        self.queue = self.arrived - self.counters.done
        again = min(self.debt, self.could)
        self.debt -= again
        records = max(0.0, min(self.queue, self.allowed, self.could - again))
        seconds = self.plan.seconds_per_record / self._factor if self.plan is not None else 0.0
        if self.could > 0 and records + again < min(self.queue + again, self.could) - NOTHING:
            self._blocked_s += (end_s - start_s) * (1.0 - (records + again) / self.could)
        self.span_s += end_s - start_s
        if self.plan is not None:
            self.note_work(records=records, weighted=(records + again) / self._factor)
        done = self.counters.done
        if records > NOTHING:
            run_s = (records + again) * seconds
            self.counters.batches.append(Batch(self.batch_id, start_s, end_s, done, done + records, run_s=run_s))
            self.batch_id += 1
            self.counters.done = done + records
            for reader in self.downstream:
                reader.receive(records * self.operator.selectivity, start_s, end_s)
        if end_s >= self.next_checkpoint_s:
            if start_s >= self.quiet_until_s:
                self.checkpoint = self.counters.done - self.debt
            missed = math.floor((end_s - self.next_checkpoint_s) / interval_s)
            self.next_checkpoint_s += interval_s * (missed + 1)

    def receive(self, records: float, start_s: float, end_s: float) -> None:
        """What an upstream passes on during a step arrives evenly within it."""
        if not self.points or self.points[-1].time_s < start_s:
            self.points.append(ArrivalPoint(start_s, self.arrived))
        elif self.points[-1].time_s == end_s:
            self.points.pop()
        self.arrived += records * self.operator.share
        self.points.append(ArrivalPoint(end_s, self.arrived))

    def note_work(self, *, records: float, weighted: float) -> None:
        """To be booked on the executors that the present plan names."""
        self._records += records
        self._weighted += weighted

    def book(self) -> None:
        """Put the work since the last call on the executors' accounts."""
        if self.plan is not None and (self._weighted or self._records):
            self.counters.busy_s += credit(
                self.plan, batches=0, records=self._records, factors=0.0, weighted_records=self._weighted
            )
        self._records = self._weighted = 0.0

    def take_back_pressure(self) -> float:
        """Share of the time since the last call in which it was held up from downstream."""
        share = self._blocked_s / self.span_s if self.span_s else 0.0
        self._blocked_s = self.span_s = 0.0
        return share
