"""One operator as it runs, and a scenario's operators connected: what every engine begins with."""

from __future__ import annotations

from typing import Self, TypeVar

from headgate.core.sample import ArrivalPoint
from headgate.sim.arrivals import ArrivalCurve, Cumulative
from headgate.sim.batch import SlowNext
from headgate.sim.cluster import Cluster
from headgate.sim.engine import OperatorCounters, Planner
from headgate.sim.randomness import noise_factors
from headgate.sim.scenario import OperatorScenario, Scenario

O = TypeVar("O", bound="RunningOperator")  # noqa: E741 - an operator


class RunningOperator:
    """Its counters, its place in the graph, and what it needs to work."""

    def __init__(
        self, scenario: Scenario, operator: OperatorScenario, cluster: Cluster, *, seed: int, number: int
    ) -> None:
        self.operator = operator
        self.counters = OperatorCounters(scenario, operator)
        self.planner = Planner(scenario, operator, cluster)
        self.slow = SlowNext(scenario, operator)
        self.noise = noise_factors(seed, number, scenario.noise)
        self.plan = self.planner.plan(tasks=self.counters.tasks, now_s=0.0)
        self.curve: ArrivalCurve | None = None
        """What arrives from outside; none for an operator that reads from others."""
        self.downstream: list[Self] = []
        self.arrived = 0.0
        self.points: list[ArrivalPoint] = []
        self.batch_id = 0


def connect(kind: type[O], scenario: Scenario, arrivals: Cumulative, cluster: Cluster, *, seed: int) -> list[O]:
    """The scenario's operators, each after those it reads from, with the arrivals at the sources."""
    graph = scenario.graph()
    numbers = {operator.name: number for number, operator in enumerate(scenario.operators)}
    by_name = {
        node.name: kind(scenario, scenario.operators[numbers[node.name]], cluster, seed=seed, number=numbers[node.name])
        for node in graph
    }
    for name, running in by_name.items():
        running.downstream = [by_name[other] for other in graph.downstream(name)]
        if not running.operator.upstream:
            running.curve = ArrivalCurve(arrivals, share=running.operator.share)
    return list(by_name.values())
