"""The micro-batch engine obeys arithmetic that can be done by hand."""

from __future__ import annotations

import pytest
from simulated_runs import exact, start

from headgate.core.allocation import Allocation
from headgate.core.sample import EventKind
from headgate.sim import SCENARIOS


def test_a_batch_takes_the_drivers_time_and_its_share_of_records_over_capacity() -> None:
    run = start(exact(), rate=1200, executors=2)
    run.go(100)
    batch = run.batches()[50]
    assert batch.records == pytest.approx(1200)
    assert batch.duration_s == pytest.approx(0.1 + 1200 / 2 / 1000)
    assert batch.run_s == pytest.approx(0.6)
    assert batch.tasks == 12
    assert batch.longest_task_s == pytest.approx(0.1)
    assert batch.mean_task_s == pytest.approx(0.1)


def test_batches_start_at_the_trigger_while_they_keep_up() -> None:
    run = start(exact(trigger_s=2.0), rate=900, executors=2)
    run.go(60)
    assert [batch.started_s for batch in run.batches()[:4]] == [2.0, 4.0, 6.0, 8.0]


def test_a_late_batch_is_followed_at_once_and_the_next_one_waits_for_the_trigger_again() -> None:
    # 3000 records wait at the start: the first batch takes 1.6 s, so the second starts late.
    run = start(exact(), rate=lambda t: 800 + 2200.0 * (t < 1), executors=2)
    run.go(20)
    starts = [round(batch.started_s, 6) for batch in run.batches()[:5]]
    first, second = run.batches()[:2]
    assert first.started_s == 1.0
    assert second.started_s == pytest.approx(first.finished_s) == 2.6
    assert second.records == pytest.approx(800 * 1.6)
    assert starts[2:] == [pytest.approx(max(3.0, second.finished_s)), 4.0, 5.0]


def test_a_trigger_without_new_records_runs_no_batch() -> None:
    run = start(exact(), rate=lambda t: 500.0 * (t % 10 < 1))
    run.go(100)
    starts = [batch.started_s for batch in run.batches()]
    assert starts == [1.0 + 10 * index for index in range(10)]


def test_an_overloaded_query_works_at_the_capacity_of_its_slots() -> None:
    for executors in (1, 2, 3, 4, 6, 12):
        run = start(exact(overhead_s=0.001), rate=20_000, executors=executors)
        sample = run.go(600)
        last = run.batches()[-1]
        rate = last.records / last.duration_s
        assert rate == pytest.approx(1000 * executors, rel=0.01)
        assert sample.operators[0].done_records < sample.operators[0].arrivals[-1].records


def test_twelve_tasks_on_five_slots_need_three_waves() -> None:
    run = start(exact(), rate=1200, executors=5)
    run.go(20)
    assert run.batches()[5].run_s == pytest.approx(3 * 100 / 1000)


def test_more_slots_than_tasks_bring_nothing() -> None:
    durations = []
    for executors in (12, 20):
        run = start(exact(), rate=6000, executors=executors)
        run.go(20)
        durations.append(run.batches()[5].duration_s)
    assert durations[0] == pytest.approx(durations[1])


def test_one_heavy_partition_limits_the_query_whatever_its_size() -> None:
    shares = (11.0, *[1.0] * 11)
    scenario = exact(shares=shares, overhead_s=0.001)
    for executors in (2, 12):
        run = start(scenario, rate=20_000, executors=executors)
        run.go(600)
        last = run.batches()[-1]
        assert last.records / last.duration_s == pytest.approx(1000 / 0.5, rel=0.01)
        assert last.longest_task_s is not None
        assert last.mean_task_s is not None
        assert last.longest_task_s / last.mean_task_s == pytest.approx(6.0)


def test_a_limit_of_records_per_trigger_is_a_ceiling() -> None:
    run = start(exact(records_per_trigger=500.0), rate=1000, executors=4)
    sample = run.go(300)
    assert max(batch.records for batch in run.batches()) == 500
    assert sample.operators[0].records_limit == 500
    assert sample.operators[0].done_records == pytest.approx(500 * 299)


def test_the_mean_latency_at_a_steady_rate_is_half_a_trigger_and_the_batch() -> None:
    run = start(exact(), rate=1000, executors=2)
    run.go(300)
    # Arrivals are even, so the mean record of a batch arrived half way through its span.
    latencies = [batch.finished_s - (batch.first_record + batch.end_record) / 2 / 1000 for batch in run.batches()[1:]]
    assert sum(latencies) / len(latencies) == pytest.approx(0.5 + 0.1 + 0.5)


def test_busy_time_is_the_time_of_the_tasks() -> None:
    run = start(exact(), rate=1000, executors=2)
    sample = run.go(300)
    done = sample.operators[0].done_records
    assert sample.operators[0].busy_s == pytest.approx(done / 1000)
    assert [executor.busy_s for executor in sample.executors] == pytest.approx([done / 2000] * 2)
    assert sum(executor.records or 0 for executor in sample.executors) == pytest.approx(done)
    assert [executor.tasks_done for executor in sample.executors] == [299 * 6] * 2


def test_a_running_batch_already_counts_as_busy_time() -> None:
    run = start(exact(), rate=lambda t: 100_000.0 * (t < 1), executors=2)
    run.go(1.1 + 25.0, every_s=26.1)
    assert run.batches() == []
    assert run.samples[-1].executors[0].busy_s == pytest.approx(25.0)


def test_a_joining_executor_slows_one_batch_and_then_helps() -> None:
    run = start(exact(slow_batch_s=3.0), rate=1000, executors=2)
    run.go(50)
    run.order(4)
    run.go(100)
    (slow,) = run.events(EventKind.SLOW_BATCH)
    joined = run.events(EventKind.JOINED)
    assert [event.time_s for event in joined] == [60.0, 60.0]
    assert [event.figures["join_s"] for event in joined] == [10.0, 10.0]
    assert slow.figures["extra_s"] == 3.0
    by_start = {batch.started_s: batch for batch in run.batches()}
    assert by_start[59.0].duration_s == pytest.approx(0.6)
    assert by_start[60.0].duration_s == pytest.approx(0.1 + 0.25 + 3.0)
    assert by_start[80.0].duration_s == pytest.approx(0.1 + 0.25)


def test_a_new_executor_is_slower_until_it_is_warm() -> None:
    run = start(exact(warm_up_s=5.0, warm_up_speed=0.5), rate=600, executors=1)
    run.go(30)
    run.order(2)
    run.go(100)
    (warm,) = run.events(EventKind.WARM)
    assert warm.time_s == 45.0
    by_start = {batch.started_s: batch for batch in run.batches()}
    # While it is cold: eight tasks of 0.05 s on the other one, four of 0.1 s on the new one.
    assert [by_start[start_s].run_s for start_s in (39, 40, 44, 45)] == pytest.approx([0.6, 0.4, 0.4, 0.3])


def test_a_stateful_query_reloads_its_state_when_executors_leave() -> None:
    scenario = exact(operators=({"name": "query", "capacity": 1000.0, "stateful": True},), state_reload_s=2.0)
    run = start(scenario, rate=500, executors=3)
    run.go(50)
    run.order(2)
    run.go(100)
    (slow,) = run.events(EventKind.SLOW_BATCH)
    assert slow.figures["extra_s"] == 2.0


def test_a_leaving_executor_finishes_its_tasks_first() -> None:
    # 3000 records in 3 tasks of 1 s each, so that none is waiting for a slot.
    run = start(exact(partitions=3), rate=lambda t: 30_000.0 * (t < 1) + 10, executors=3)
    run.go(5)
    run.order(1)
    sample = run.go(40)
    first = run.batches()[0]
    (leaving, _), removed = run.events(EventKind.LEAVING), run.events(EventKind.REMOVED)
    assert leaving.time_s == 5.0
    assert first.duration_s == pytest.approx(0.1 + 30_010 / 3 / 1000)
    assert [event.time_s for event in removed] == pytest.approx([first.finished_s + 5.0] * 2)
    assert len(sample.executors) == 1
    assert sample.executors[0].tasks_failed == 0


def test_tasks_that_wait_are_left_to_those_that_stay() -> None:
    # 12 tasks of 1 s on 3 slots: after 2 s of work 6 wait, which the one that stays must run alone.
    run = start(exact(), rate=lambda t: 12_000.0 * (t < 1), executors=3)
    run.go(3.1, every_s=3.1)
    run.order(1)
    run.go(40)
    (batch,) = run.batches()
    removed = run.events(EventKind.REMOVED)
    assert [event.time_s for event in removed] == pytest.approx([3.1 + 1.0 + 5.0] * 2)
    # By the fluid picture 3 tasks are under way at 3.1 s and 3 are waiting: 1 s each, on one slot.
    assert batch.run_s == pytest.approx(2 + 1 + 3)
    assert run.samples[-1].operators[0].busy_s == pytest.approx(12.0)


def test_an_executor_that_joins_helps_with_the_batch_that_runs() -> None:
    # 60 tasks of 2 s on 1 slot take 120 s; a second slot from 22 s on takes half of what waits.
    run = start(exact(partitions=60), rate=lambda t: 120_000.0 * (t < 1), executors=1)
    run.go(11.1)
    run.order(2)
    run.go(200)
    (batch,) = run.batches()
    worked_s = 21.1 - 1.1
    assert batch.run_s == pytest.approx(worked_s + 2 + (120 - worked_s - 2) / 2)
    assert run.samples[-1].operators[0].busy_s == pytest.approx(120)
    assert sum(executor.records or 0 for executor in run.samples[-1].executors) == pytest.approx(120_000)


def test_a_batch_of_one_wave_gains_nothing_from_an_executor_that_joins() -> None:
    run = start(exact(partitions=2), rate=lambda t: 60_000.0 * (t < 1), executors=2)
    run.go(5)
    run.order(4)
    run.go(60)
    assert run.batches()[0].run_s == pytest.approx(30)


def test_an_executor_killed_in_a_batch_has_its_tasks_run_again_and_is_replaced() -> None:
    run = start(exact(), rate=lambda t: 12_000.0 * (t < 1) + 10, executors=2)
    run.go(3)
    run.app.kill_executor("1")
    sample = run.go(100)
    first = run.batches()[0]
    assert first.duration_s == pytest.approx(0.1 + 12_010 / 2 / 1000 * 2, rel=0.01)
    (lost,) = run.events(EventKind.LOST)
    assert lost.executor == "1"
    assert [executor.id for executor in sample.executors] == ["0", "2"]
    # The 1.9 s that the dead one had worked were worked again.
    assert sample.operators[0].busy_s == pytest.approx(sample.operators[0].done_records / 1000 + 1.9)
    assert sample.pending_executors == 0


def test_a_query_that_loses_every_executor_waits_for_a_new_one_and_loses_no_record() -> None:
    run = start(exact(), rate=500, executors=1, duration_s=200)
    run.go(20.3)
    run.app.kill_executor("0")
    run.go(300)
    assert run.app.drained
    assert run.batches()[-1].end_record == pytest.approx(200 * 500)
    # The batch of 20.0 s was killed at 20.3 s and begun again by the executor that joined at 30.3 s.
    assert max(batch.duration_s for batch in run.batches()) == pytest.approx(10.3 + 0.5)


def test_parallelism_takes_effect_at_the_next_batch() -> None:
    operators = ({"name": "query", "capacity": 1000.0, "scalable": True, "parallelism": 2, "max_parallelism": 8},)
    run = start(exact(operators=operators), rate=400, executors=4)
    run.go(20)
    assert run.batches()[-1].run_s == pytest.approx(0.2)
    run.order(Allocation(executors=4, parallelism={"query": 4}))
    sample = run.go(40)
    assert next(batch for batch in run.batches() if batch.started_s >= 20).run_s == pytest.approx(0.1)
    assert sample.operators[0].parallelism == 4


def test_noise_spreads_the_durations_around_the_same_mean() -> None:
    run = start(exact(noise=0.2, overhead_s=0.001), rate=1000, executors=2, duration_s=5000)
    run.go(5000, every_s=100)
    factors = [(batch.run_s or 0) / (batch.records / 2000) for batch in run.batches()]
    mean = sum(factors) / len(factors)
    sd = (sum((factor - mean) ** 2 for factor in factors) / len(factors)) ** 0.5
    assert mean == pytest.approx(1.0, abs=0.02)
    assert sd == pytest.approx(0.2, abs=0.02)


def test_the_default_scenario_carries_what_it_says() -> None:
    run = start(SCENARIOS["spark"], rate=6 * 5000 * 0.85, executors=6, duration_s=600)
    sample = run.go(600)
    lag = sample.operators[0].arrivals[-1].records - sample.operators[0].done_records
    assert lag < 2 * 6 * 5000
