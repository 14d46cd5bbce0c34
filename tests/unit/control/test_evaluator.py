"""Samples to evaluations."""

from __future__ import annotations

import pytest

from headgate.control.evaluator import Evaluator
from headgate.core.knowledge import Engine
from headgate.core.sample import (
    AgentEvent,
    ArrivalPoint,
    Batch,
    EventKind,
    ExecutorSample,
    ExecutorState,
    NodeSample,
    OperatorSample,
    Sample,
)
from headgate.errors import NotReady


def executor(
    name: str, *, busy_s: float | None, records: float | None = None, age_s: float = 100, leaving: bool = False
) -> ExecutorSample:
    state = ExecutorState.LEAVING if leaving else ExecutorState.ACTIVE
    return ExecutorSample(name, "node", 1, age_s, busy_s, records, state)


def sample(time_s: float, *, executors: tuple[ExecutorSample, ...] = (), **operator: object) -> Sample:
    return Sample(time_s=time_s, operators=(OperatorSample(name="op", **operator),), executors=executors)  # type: ignore[arg-type]


def learned(*samples: Sample, engine: Engine = Engine.MICRO_BATCH) -> Evaluator:
    evaluator = Evaluator(keep_s=60, engine=engine)
    for each in samples:
        evaluator.learn(each)
    return evaluator


def test_rates_are_differences_of_counters() -> None:
    evaluator = learned(
        sample(0, arrivals=(ArrivalPoint(0, 1000),), done_records=900, output_records=90, busy_s=5.0),
        sample(
            10,
            arrivals=(ArrivalPoint(10, 3000),),
            done_records=2400,
            output_records=240,
            busy_s=20.0,
            batches=(Batch(0, 2, 5, 900, 1700, tasks=4), Batch(1, 6, 9, 1700, 2400, tasks=4)),
        ),
    )
    operator = evaluator.evaluate(now_s=10, window_s=10).operators[0]
    assert operator.arrival_rate == 200
    assert operator.input_rate == 150
    assert operator.output_rate == 15
    assert operator.selectivity == pytest.approx(0.1)
    assert operator.lag_records == 600
    assert operator.service_time_s == pytest.approx(0.01)
    assert operator.batch_delay_s == 2.0


def test_the_true_rate_counts_useful_time_of_the_instances_that_can_work() -> None:
    two = (executor("1", busy_s=0), executor("2", busy_s=0))
    operator = (
        learned(
            sample(0, executors=two, done_records=0, busy_s=0.0),
            sample(10, executors=two, done_records=1000, busy_s=5.0, batches=(Batch(0, 1, 2, 0, 1000, tasks=8),)),
        )
        .evaluate(now_s=10, window_s=10)
        .operators[0]
    )
    # 1000 records in 5 s of task time are 200/s for an instance; two slots can work at once.
    assert operator.true_processing_rate == pytest.approx(400)
    assert operator.busy == pytest.approx(0.25)


def test_more_slots_than_tasks_do_not_raise_the_true_rate() -> None:
    four = tuple(executor(str(n), busy_s=0) for n in range(4))
    operator = (
        learned(
            sample(0, executors=four, done_records=0, busy_s=0.0),
            sample(10, executors=four, done_records=1000, busy_s=5.0, batches=(Batch(0, 1, 2, 0, 1000, tasks=2),)),
        )
        .evaluate(now_s=10, window_s=10)
        .operators[0]
    )
    assert operator.true_processing_rate == pytest.approx(400)


def test_executors_busy_share_is_growth_of_task_time() -> None:
    evaluation = learned(
        sample(0, executors=(executor("1", busy_s=10, records=100),)),
        sample(10, executors=(executor("1", busy_s=18, records=600), executor("2", busy_s=1, age_s=4))),
    ).evaluate(now_s=10, window_s=10)
    first, second = evaluation.executors
    assert first.busy == pytest.approx(0.8)
    assert first.input_rate == pytest.approx(50)
    assert second.busy == pytest.approx(0.25)
    assert second.input_rate is None


def test_an_executor_that_left_is_gone_and_one_that_leaves_is_marked() -> None:
    evaluation = learned(
        sample(0, executors=(executor("1", busy_s=0), executor("2", busy_s=0))),
        sample(10, executors=(executor("2", busy_s=5, leaving=True),)),
    ).evaluate(now_s=10, window_s=10)
    assert [each.id for each in evaluation.executors] == ["2"]
    assert evaluation.allocation.executors == 0


def test_unknown_stays_unknown() -> None:
    evaluation = learned(sample(0, executors=(executor("1", busy_s=None),)), sample(10)).evaluate(now_s=10, window_s=10)
    operator = evaluation.operators[0]
    assert operator.arrival_rate is None
    assert operator.lag_records is None
    assert operator.true_processing_rate is None
    assert operator.latency_s is None
    assert evaluation.age_s is None


def test_the_window_reaches_back_to_the_sample_at_its_start() -> None:
    samples = [sample(t, arrivals=(ArrivalPoint(t, 100.0 * t * t),), done_records=0) for t in range(0, 40, 5)]
    evaluation = learned(*samples).evaluate(now_s=35, window_s=10)
    assert evaluation.window_s == 10
    assert evaluation.operators[0].arrival_rate == pytest.approx(100 * (35**2 - 25**2) / 10)


def test_one_sample_is_not_enough() -> None:
    with pytest.raises(NotReady):
        learned(sample(0)).evaluate(now_s=0, window_s=10)


def test_a_sample_from_the_past_is_ignored() -> None:
    evaluator = learned(sample(5), sample(10), sample(7))
    assert evaluator.newest is not None
    assert evaluator.newest.time_s == 10


def test_the_age_counts_from_the_last_sign_of_the_stream() -> None:
    evaluation = learned(
        sample(0, arrivals=(ArrivalPoint(0, 0),)), sample(10, batches=(Batch(0, 3, 7, 0, 10),))
    ).evaluate(now_s=12, window_s=10)
    assert evaluation.age_s == 5


def test_events_since_a_moment_are_handed_on() -> None:
    event = AgentEvent(time_s=9, kind=EventKind.JOINED, message="executor 2 joined")
    later = Sample(time_s=10, operators=(), events=(event,), nodes=(NodeSample("a", True, {"b": 0.1}),))
    evaluation = learned(sample(0), later).evaluate(now_s=10, window_s=10, events_since_s=5)
    assert evaluation.events == (event,)
    assert evaluation.nodes[0].latency_s == {"b": 0.1}


def test_an_operator_that_just_appeared_has_a_name_and_no_rates() -> None:
    fresh = Sample(time_s=10, operators=(OperatorSample(name="new", parallelism=3, scalable=True),))
    operator = learned(sample(0), fresh).evaluate(now_s=10, window_s=10).operators[0]
    assert (operator.name, operator.parallelism, operator.input_rate) == ("new", 3, None)


def test_a_typical_batch_is_the_mean_of_the_windows_batches() -> None:
    batches = (
        Batch(0, 0, 2, 0, 100, tasks=4, run_s=1.5, longest_task_s=1.0, mean_task_s=0.5, sink_s=0.1),
        Batch(1, 2, 6, 100, 400, tasks=4, run_s=2.5, longest_task_s=2.0, mean_task_s=0.5, sink_s=0.3),
    )
    batch = (
        learned(sample(0), sample(10, batches=batches, records_limit=300))
        .evaluate(now_s=10, window_s=10)
        .operators[0]
        .batch
    )
    assert batch is not None
    assert (batch.count, batch.duration_s, batch.records, batch.largest_records) == (2, 3.0, 200.0, 300.0)
    assert (batch.run_s, batch.longest_task_s, batch.sink_s) == (2.0, 1.5, pytest.approx(0.2))
    assert batch.records_limit == 300


def test_record_by_record_engines_have_no_batches() -> None:
    operator = (
        learned(sample(0), sample(10, batches=(Batch(0, 0, 1, 0, 5),)), engine=Engine.CONTINUOUS)
        .evaluate(now_s=10, window_s=10)
        .operators[0]
    )
    assert operator.batch is None
    assert operator.batch_delay_s is None


def test_instances_without_a_slot_are_seen_at_the_operators_that_wait() -> None:
    """Six instances on four slots: the operators share them evenly, so the larger one waits for two."""

    def both(time_s: float) -> Sample:
        operators = (OperatorSample(name="a", parallelism=2), OperatorSample(name="b", parallelism=4))
        there = tuple(executor(str(number), busy_s=time_s) for number in range(4))
        leaving = executor("4", busy_s=time_s, leaving=True)
        return Sample(time_s=time_s, operators=operators, executors=(*there, leaving))

    seen = learned(both(0), both(10)).evaluate(now_s=10, window_s=10)
    assert {operator.name: operator.waiting_instances for operator in seen.operators} == {"a": 0, "b": 2}
