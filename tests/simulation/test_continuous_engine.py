"""The continuous engine: fluid queues, back pressure, and restarts that replay."""

from __future__ import annotations

import numpy as np
import pytest
from simulated_runs import Run, start

from headgate.core.allocation import Allocation
from headgate.core.sample import EventKind
from headgate.sim import Scenario


def fluid(**values: object) -> Scenario:
    plain: dict[str, object] = {
        "name": "fluid",
        "engine": "continuous",
        "operators": ({"name": "flow", "capacity": 1000.0},),
        "partitions": 12,
        "startup_s": 10.0,
        "stop_s": 5.0,
    }
    return Scenario.model_validate(plain | values)


def lag(run: Run, operator: int = 0) -> float:
    sample = run.samples[-1].operators[operator]
    return sample.arrivals[-1].records - sample.done_records


def test_what_arrives_below_capacity_is_finished_within_the_step() -> None:
    run = start(fluid(), rate=1500, executors=2)
    sample = run.go(100)
    assert lag(run) == pytest.approx(0)
    assert [batch.finished_s for batch in run.batches()[:3]] == [1.0, 2.0, 3.0]
    assert sample.operators[0].busy_s == pytest.approx(150.0)
    assert sample.operators[0].back_pressure == 0


@pytest.mark.parametrize("executors", [1, 2, 3, 4, 6, 12])
def test_throughput_under_overload_is_linear_in_executors(executors: int) -> None:
    run = start(fluid(), rate=20_000, executors=executors)
    sample = run.go(100)
    assert sample.operators[0].done_records == pytest.approx(100 * 1000 * executors)
    assert [executor.busy_s for executor in sample.executors] == pytest.approx([100.0] * executors)


def test_a_backlog_of_a_step_in_load_drains_at_the_spare_capacity() -> None:
    # 60 s at 1500/s over the capacity leave 90 000 records; 1000/s are spare afterwards.
    run = start(fluid(), rate=lambda t: 3500.0 - 2500 * (t >= 60), executors=2)
    run.go(60)
    assert lag(run) == pytest.approx(90_000)
    run.go(149)
    assert lag(run) == pytest.approx(1000)
    run.go(151)
    assert lag(run) == pytest.approx(0)


def test_skew_limits_the_flow_to_the_hottest_instance() -> None:
    run = start(fluid(shares=(11.0, *[1.0] * 11)), rate=20_000, executors=12)
    sample = run.go(100)
    assert sample.operators[0].done_records == pytest.approx(100 * 2000)


def test_finer_steps_bring_finer_latencies_and_the_same_volumes() -> None:
    run = start(fluid(step_s=0.1), rate=1500, executors=2)
    run.go(100)
    assert lag(run) == pytest.approx(0)
    assert len(run.batches()) == 1000
    assert run.batches()[0].finished_s == pytest.approx(0.1)


def test_a_restart_stops_the_flow_for_the_downtime_and_replays_since_the_checkpoint() -> None:
    run = start(
        fluid(rescale="restart", downtime_out_s=30.0, checkpoint_interval_s=10.0),
        rate=1000,
        executors=2,
        duration_s=900,
    )
    run.go(105)
    run.order(4)
    run.go(134)
    assert run.samples[-1].operators[0].done_records == pytest.approx(105_000)
    run.go(136, every_s=1)
    (stopped,), (restarted,) = run.events(EventKind.STOPPED), run.events(EventKind.RESTARTED)
    assert stopped.time_s == 105
    assert restarted.time_s == 135
    assert restarted.figures == {"downtime_s": 30.0, "replay_records": pytest.approx(5000)}
    # The first 5000 records at 4000/s are those since the checkpoint at 100 s.
    assert run.samples[-1].operators[0].done_records == pytest.approx(105_000)
    run.go(137)
    assert run.samples[-1].operators[0].done_records == pytest.approx(108_000)
    # 32 000 were waiting; 3000/s are spare, so that all is caught up 12 s after the restart.
    run.go(150)
    assert lag(run) == pytest.approx(0)


def test_restarting_smaller_takes_the_other_downtime() -> None:
    run = start(fluid(rescale="restart", downtime_in_s=15.0), rate=1000, executors=4)
    run.go(100)
    run.order(2)
    sample = run.go(200)
    (restarted,) = run.events(EventKind.RESTARTED)
    assert restarted.figures["downtime_s"] == 15.0
    assert restarted.figures["replay_records"] == 0
    assert len(sample.executors) == 2


def test_a_lost_executor_makes_a_restarting_engine_restart() -> None:
    run = start(fluid(rescale="restart"), rate=1000, executors=2)
    run.go(105)
    run.app.kill_executor("0")
    sample = run.go(300)
    assert len(run.events(EventKind.LOST)) == len(run.events(EventKind.RESTARTED)) == 1
    assert len(sample.executors) == 2
    assert lag(run) == pytest.approx(0)


def test_a_seamless_engine_never_stops() -> None:
    run = start(fluid(), rate=1000, executors=2)
    run.go(100)
    run.order(6)
    run.go(200)
    assert run.events(EventKind.STOPPED) == []
    assert len(run.batches()) == 200


def test_a_slow_operator_holds_up_the_one_before_it() -> None:
    operators = (
        {"name": "source", "capacity": 10_000.0, "parallelism": 1},
        {"name": "slow", "upstream": ("source",), "capacity": 1000.0, "parallelism": 1},
    )
    run = start(fluid(operators=operators, buffer_records=2000.0), rate=3000, executors=2)
    sample = run.go(100)
    source, slow = sample.operators
    assert slow.done_records == pytest.approx(100 * 1000)
    assert lag(run, 1) <= 2000 + 1e-6
    assert source.done_records == pytest.approx(100 * 1000 + 2000)
    assert source.back_pressure == pytest.approx(0.9, abs=0.01)
    assert slow.back_pressure == 0


def test_operators_share_the_slots_fairly_when_there_are_too_few() -> None:
    operators = (
        {"name": "a", "capacity": 1000.0},
        {"name": "b", "upstream": ("a",), "capacity": 1000.0},
    )
    run = start(fluid(operators=operators), rate=5000, executors=2)
    sample = run.go(200)
    assert [operator.done_records for operator in sample.operators] == pytest.approx([200_000, 200_000], rel=0.02)
    assert sum(executor.busy_s or 0 for executor in sample.executors) == pytest.approx(400, rel=0.02)


def test_latency_between_nodes_lowers_what_they_carry() -> None:
    nodes = ({"name": "near"}, {"name": "far", "latency_s": {"near": 0.1}})
    scenario = fluid(nodes=nodes, round_trips_per_record=0.01)
    alone = start(scenario, rate=5000, executors=1)
    both = start(scenario, rate=5000, executors=2)
    assert alone.go(100).operators[0].done_records == pytest.approx(100_000)
    # A record takes 1 ms of work and 1 ms of waiting for the other node.
    assert both.go(100).operators[0].done_records == pytest.approx(100_000)
    far = both.samples[-1].nodes[1]
    assert far.name == "far"
    assert not far.free
    assert far.latency_s == {"near": 0.1}


def test_executors_may_get_in_each_others_way() -> None:
    run = start(fluid(scaling_exponent=0.5), rate=50_000, executors=4)
    assert run.go(100).operators[0].done_records == pytest.approx(100 * 1000 * 2)


def test_the_queue_of_random_arrivals_is_as_long_as_theory_says() -> None:
    """Poisson groups of 100 records, 9 a second, and a server of 10 groups a second: a queue with a known chain."""
    generator = np.random.default_rng(11)
    run = start(fluid(), lambda t: 100.0 * generator.poisson(9.0, len(t)), executors=1, duration_s=100_000)
    run.go(100_000, every_s=500)
    done = np.array([point.records for sample in run.samples for point in sample.operators[0].arrivals][1:])
    finished = np.zeros(len(done))
    for batch in run.batches():
        finished[int(batch.finished_s) - 1] = batch.records
    measured = float(np.mean(done - np.cumsum(finished))) / 100

    waiting = np.zeros(400)
    waiting[0] = 1.0
    groups = np.exp(-9.0) * np.cumprod(np.concatenate([[1.0], 9.0 / np.arange(1, 60)]))
    for _ in range(2000):
        present = np.convolve(waiting, groups)
        waiting = np.concatenate([[present[:11].sum()], present[11:]])[:400]
    expected = float(np.sum(np.arange(400) * waiting))
    assert 2 < expected < 6
    assert measured == pytest.approx(expected, rel=0.1)


def test_an_order_that_the_cluster_cannot_follow_does_not_restart_anything() -> None:
    run = start(fluid(rescale="restart", size_limit=3), rate=1000, executors=3)
    run.go(50)
    run.order(5)
    sample = run.go(100)
    assert run.events(EventKind.STOPPED) == []
    assert len(run.events(EventKind.SHORT)) == 1
    assert sample.target_executors == 5


def test_changing_parallelism_restarts_a_restarting_engine() -> None:
    operators = ({"name": "flow", "capacity": 1000.0, "scalable": True, "parallelism": 2},)
    run = start(fluid(rescale="restart", operators=operators), rate=1000, executors=4)
    run.go(50)
    run.order(Allocation(executors=4, parallelism={"flow": 4}))
    sample = run.go(200)
    assert len(run.events(EventKind.RESTARTED)) == 1
    assert sample.operators[0].parallelism == 4


def test_orders_during_a_restart_prolong_it() -> None:
    run = start(fluid(rescale="restart"), rate=1000, executors=2)
    run.go(50)
    run.order(4)
    run.go(60)
    run.order(6)
    sample = run.go(200)
    (restarted,) = run.events(EventKind.RESTARTED)
    assert restarted.time_s == 90
    assert restarted.figures["downtime_s"] == 40
    assert len(sample.executors) == 6


def test_a_stateful_operator_pauses_while_its_state_moves() -> None:
    operators = ({"name": "flow", "capacity": 1000.0, "stateful": True},)
    run = start(fluid(operators=operators, state_reload_s=3.0), rate=1000, executors=2)
    run.go(50)
    run.order(1)
    run.go(53)
    assert lag(run) == pytest.approx(3000)
    (slow,) = run.events(EventKind.SLOW_BATCH)
    assert slow.figures["extra_s"] == 3.0
