"""Records one by one, against what queueing theory says of them."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import pytest
from simulated_runs import Run, start

from headgate.core.allocation import Allocation
from headgate.models.queueing import Station
from headgate.sim import Scenario
from headgate.workloads import arrivals
from headgate.workloads.workload import Workload


def scenario(*operators: dict[str, object], cores: int = 1) -> Scenario:
    plain = [{"name": "work", "capacity": 1.0, "service_scv": 1.0, "scalable": True, "parallelism": 1}]
    made = [plain[0] | operator for operator in operators] or plain
    return Scenario.model_validate(
        {"name": "queue", "engine": "continuous", "operators": tuple(made), "cores": cores, "startup_s": 5.0}
    )


def poisson(rate: float, duration_s: int, seed: int = 3) -> np.ndarray:
    return arrivals(Workload(name="even", rates=np.full(duration_s, rate)), process="poisson", seed=seed)


def ran(made: Scenario, rate: float, *, executors: int, duration_s: int = 20_000) -> Run:
    counts = np.diff(poisson(rate, duration_s))
    run = start(made, lambda _: counts.astype(float), duration_s=duration_s, executors=executors)
    run.go(duration_s, every_s=15.0)
    return run


def response_s(run: Run, operator: int = 0) -> float:
    """The first to be finished is counted as the first that came, and so on: on average that is the same."""
    points = [point for sample in run.samples for point in sample.operators[operator].arrivals]
    came = [after.time_s for before, after in pairwise(points) if after.records > before.records]
    done = [batch.finished_s for batch in run.batches(operator)]
    return float(np.mean(np.array(done) - np.array(came[: len(done)])))


@pytest.mark.parametrize(("rate", "instances"), [(0.5, 1), (0.8, 1), (1.6, 2), (3.0, 4)])
def test_response_times_are_those_of_m_m_k(rate: float, instances: int) -> None:
    run = ran(scenario({"parallelism": instances}), rate, executors=instances)
    expected = Station(arrival_rate=rate, service_rate=1.0).response_s(instances)
    assert response_s(run) == pytest.approx(expected, rel=0.15)


def test_steady_service_halves_the_wait() -> None:
    run = ran(scenario({"service_scv": 0.0}), 0.8, executors=1)
    assert response_s(run) == pytest.approx(1.0 + 2.0, rel=0.15)


def test_nothing_is_lost_and_busy_time_is_service_time() -> None:
    run = ran(scenario({"parallelism": 2}), 1.0, executors=2, duration_s=2000)
    (operator,) = run.samples[-1].operators
    assert operator.arrivals[-1].records - operator.done_records <= 20
    assert operator.busy_s == pytest.approx(sum(executor.busy_s or 0.0 for executor in run.samples[-1].executors))
    assert operator.busy_s == pytest.approx(operator.done_records * 1.0, rel=0.1)


def test_instances_need_slots_and_slots_need_instances() -> None:
    many = ran(scenario({"parallelism": 8}), 3.0, executors=2, duration_s=500)
    assert many.samples[-1].operators[0].done_records == pytest.approx(1000, rel=0.1)
    few = ran(scenario({"parallelism": 1}), 3.0, executors=4, duration_s=500)
    assert few.samples[-1].operators[0].done_records == pytest.approx(500, rel=0.1)


def test_operators_share_slots_in_turn_and_records_flow_on() -> None:
    made = scenario({"name": "a", "selectivity": 2.0}, {"name": "b", "upstream": ("a",), "capacity": 4.0})
    run = ran(made, 0.4, executors=2, duration_s=3000)
    first, second = run.samples[-1].operators
    assert second.arrivals[-1].records == pytest.approx(2 * first.done_records)
    assert second.done_records == pytest.approx(second.arrivals[-1].records, abs=10)


def test_more_instances_take_effect_at_once_and_a_lost_executor_costs_no_record() -> None:
    made = scenario({"parallelism": 1})
    counts = np.diff(poisson(1.5, 600))
    run = start(made, lambda _: counts.astype(float), duration_s=600, executors=2)
    run.go(200)
    behind = run.samples[-1].operators[0]
    assert behind.arrivals[-1].records - behind.done_records > 40
    run.order(Allocation(executors=3, parallelism={"work": 3}))
    run.go(210)
    run.app.kill_executor(run.samples[-1].executors[0].id)
    run.go(700)
    after = run.samples[-1].operators[0]
    assert after.done_records == after.arrivals[-1].records == counts.sum()
