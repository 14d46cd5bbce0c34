"""What a scenario's executors can carry, without noise and once they are warm: the yardstick for peaks of workloads."""

from __future__ import annotations

import math

from headgate.sim.cluster import Cluster
from headgate.sim.placement import make_plan
from headgate.sim.scenario import Scenario


def carried(scenario: Scenario, executors: int, *, seed: int = 0) -> float:
    """Records per second of the sources that so many executors can work off.

    >>> carried(Scenario(name="even"), 12)
    60000.0
    """
    if len(scenario.operators) > 1:
        return executors * scenario.cores / scenario.record_s
    cluster = Cluster(scenario.changed(starts_cold=False), executors=executors, seed=seed, events=[])
    (operator,) = scenario.operators
    tasks = operator.parallelism or scenario.partitions
    plan = make_plan(scenario, operator, cluster, tasks=tasks, now_s=math.inf, on=cluster.active)
    return 0.0 if plan is None else round(1.0 / plan.seconds_per_record, 6)
