"""What Daedalus' model says of simulated executors whose capacity is known."""

from __future__ import annotations

import numpy as np
import pytest
from simulated_runs import exact, start

from headgate.control.evaluator import Evaluator
from headgate.core.knowledge import Engine
from headgate.models.capacity import LONGEST_BATCH_S, CapacityModel
from headgate.sim.capacity import carried
from headgate.sim.scenario import Scenario

MINUTES, WINDOW_S = 5, 60.0


def learned(scenario: Scenario, executors: int) -> float:
    """After some minutes of loads between 35 and 65 % of what they carry."""
    true = carried(scenario, executors)
    run = start(
        scenario,
        lambda seconds: true * (0.5 + 0.15 * np.sin(2 * np.pi * seconds / 150)),
        duration_s=int(MINUTES * WINDOW_S),
        executors=executors,
        seed=1,
    )
    engine = Engine.MICRO_BATCH if scenario.engine == "spark" else Engine.CONTINUOUS
    evaluator, model = Evaluator(keep_s=WINDOW_S, engine=engine), CapacityModel(ignored_s=0.0)
    for minute in range(1, MINUTES + 1):
        run.go(minute * WINDOW_S, every_s=1.0)
        for sample in run.samples:
            evaluator.learn(sample)
        run.samples.clear()
        seen = evaluator.evaluate(now_s=minute * WINDOW_S, window_s=WINDOW_S, fields=frozenset({"course"}))
        for executor in seen.working_executors:
            model.learn(executor.id, executor.course, age_s=executor.age_s)
    found = model.present(executors)
    assert found is not None
    return found.rate / true


@pytest.mark.parametrize("task_overhead_s", [0.02, 0.2])
@pytest.mark.parametrize("skew", [0.0, 0.8])
@pytest.mark.parametrize("executors", [1, 3, 4])
def test_micro_batches_with_costs_of_their_own(executors: int, skew: float, task_overhead_s: float) -> None:
    """With skew, tasks of few records make executors look busier, compared with each other, than long batches do."""
    scenario = exact(overhead_s=0.3, task_overhead_s=task_overhead_s, skew=skew, noise=0.05)
    own_costs_s = task_overhead_s * 12 / executors
    assert learned(scenario, executors) == pytest.approx(1.0 - own_costs_s / LONGEST_BATCH_S, abs=0.05)


def test_tasks_that_cannot_be_dealt_out_evenly() -> None:
    """Of 12 tasks, 5 executors get 2 or 3 each: they carry 4 times what one does, and not 5 times."""
    scenario = exact(overhead_s=0.3, task_overhead_s=0.02, noise=0.05)
    assert carried(scenario, 5) == pytest.approx(4000.0)
    assert learned(scenario, 5) == pytest.approx(1.0, abs=0.05)


@pytest.mark.parametrize("engine", ["spark", "continuous"])
def test_skewed_partitions(engine: str) -> None:
    scenario = exact(engine=engine, skew=0.8, noise=0.05)
    assert learned(scenario, 4) == pytest.approx(1.0, abs=0.05)
