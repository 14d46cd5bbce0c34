"""DS2 comes to the parallelism that the source's rate needs in three decisions at most, from wherever it starts."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest

from headgate.core.allocation import Bounds
from headgate.core.decision import Outcome
from headgate.sim import Scenario
from headgate.wiring.simulation import simulate
from headgate.workloads.workload import Workload

CASES = 100
CHAIN: dict[str, tuple[str, ...]] = {"a": (), "b": ("a",), "c": ("b",), "d": ("c",)}
DIAMOND: dict[str, tuple[str, ...]] = {"a": (), "b": ("a",), "c": ("a",), "d": ("b", "c")}
MOST, STEPS = 30, 8


def case(graph: dict[str, tuple[str, ...]], seed: int) -> tuple[Scenario, float, dict[str, int]]:
    """Random capacities, selectivities, rate and start, and the instances that this needs."""
    random = np.random.default_rng([seed, len(graph["d"])])
    rate = float(random.uniform(200, 2000))
    operators: list[dict[str, Any]] = []
    flows: dict[str, float] = {}
    needed: dict[str, int] = {}
    for name, upstream in graph.items():
        arriving = sum(flows[each] for each in upstream) if upstream else rate
        selectivity = float(random.uniform(0.3, 2.5))
        # Not so near a whole number that it is a matter of the last digits.
        exact = float(random.integers(1, 12)) - float(random.uniform(0.05, 0.9))
        operators.append(
            {
                "name": name,
                "upstream": upstream,
                "capacity": arriving / exact,
                "selectivity": selectivity,
                "scalable": True,
                "parallelism": int(random.integers(1, MOST)),
                "max_parallelism": MOST,
            }
        )
        flows[name] = arriving * selectivity
        needed[name] = math.ceil(exact)
    scenario = Scenario.model_validate(
        {
            "name": "known",
            "engine": "continuous",
            "operators": tuple(operators),
            "executors": sum(operator["parallelism"] for operator in operators),
            "startup_s": 1.0,
            "stop_s": 0.0,
        }
    )
    return scenario, rate, needed


@pytest.mark.parametrize("graph", [CHAIN, DIAMOND], ids=["chain", "diamond"])
def test_three_decisions_are_enough(graph: dict[str, tuple[str, ...]]) -> None:
    taken = []
    for seed in range(CASES):
        scenario, rate, needed = case(graph, seed)
        workload = Workload(name="constant", rates=np.full(30 * STEPS, rate))
        run = simulate(policy="ds2", workload=workload, scenario=scenario, bounds=Bounds(1, 4 * MOST))
        ticks = list(run.journal.ticks())
        changes = [tick for tick in ticks if tick.outcome is Outcome.APPLIED]
        assert dict(ticks[-1].decision.granted.parallelism) == needed, f"case {seed}"
        assert ticks[-1].decision.granted.executors == sum(needed.values())
        taken.append(len(changes))
    assert max(taken) <= 3
