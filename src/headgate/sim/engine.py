"""What every simulated engine offers to the agent, and what the engines have in common.

An engine is advanced from one change of the cluster to the next, so that within one call of
``advance`` the executors are constant. What is due exactly at the end of a call and begins
something (a batch) is left to the next call: an order given at that moment still counts for it.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

from headgate.core.sample import ArrivalPoint, Batch, ExecutorSample, OperatorSample
from headgate.sim.cluster import Cluster, Executor
from headgate.sim.placement import Plan, make_plan
from headgate.sim.scenario import OperatorScenario, Scenario

NOTHING = 1e-4
"""Fewer records than this are none: positions are sums of floats, and runs are long."""


class Engine(Protocol):
    def advance(self, until_s: float) -> None:
        """Work until then, with the executors of the moment."""
        ...

    def cluster_changed(
        self, now_s: float, *, joined: Sequence[Executor], lost: Sequence[Executor], left: bool = False
    ) -> None:
        """Executors joined, died, or (``left``) began to leave."""
        ...

    def set_parallelism(self, parallelism: dict[str, int], now_s: float) -> None: ...

    def idle_at_s(self, now_s: float) -> float:
        """When the tasks that run now will have ended."""
        ...

    def operator_samples(self, now_s: float) -> tuple[OperatorSample, ...]:
        """Counters, and what was finished since the previous call."""
        ...

    def executor_samples(self, now_s: float) -> tuple[ExecutorSample, ...]: ...

    def drained(self, now_s: float) -> bool:
        """Whether everything that will ever arrive is finished."""
        ...


class OperatorCounters:
    """One operator's identity and counters, as they appear in samples."""

    __slots__ = ("batches", "busy_s", "done", "operator", "partitions", "records_limit", "tasks")

    def __init__(self, scenario: Scenario, operator: OperatorScenario) -> None:
        self.operator = operator
        self.partitions = scenario.partitions
        self.records_limit = scenario.records_per_trigger if not operator.upstream else None
        self.tasks = operator.parallelism or scenario.partitions
        self.batches: list[Batch] = []
        self.done = 0.0
        self.busy_s = 0.0

    def sample(
        self, arrivals: tuple[ArrivalPoint, ...], *, busy_s: float, back_pressure: float | None
    ) -> OperatorSample:
        batches, self.batches = tuple(self.batches), []
        operator = self.operator
        return OperatorSample(
            name=operator.name,
            upstream=operator.upstream,
            scalable=operator.scalable,
            parallelism=self.tasks,
            max_parallelism=operator.max_parallelism,
            partitions=self.partitions,
            records_limit=self.records_limit,
            arrivals=arrivals,
            batches=batches,
            done_records=self.done,
            busy_s=busy_s,
            output_records=self.done * operator.selectivity,
            back_pressure=back_pressure,
        )


class Planner:
    """Makes an operator's plan for the executors of the moment."""

    __slots__ = ("_cluster", "_operator", "_scenario")

    def __init__(self, scenario: Scenario, operator: OperatorScenario, cluster: Cluster) -> None:
        self._scenario = scenario
        self._operator = operator
        self._cluster = cluster

    def plan(self, *, tasks: int, now_s: float, on: Sequence[Executor] | None = None) -> Plan | None:
        return make_plan(
            self._scenario,
            self._operator,
            self._cluster,
            tasks=tasks,
            now_s=now_s,
            on=self._cluster.active if on is None else on,
        )
