"""What went on within a window."""

from __future__ import annotations

from dataclasses import replace

import pytest

from headgate.control.courses import executor_courses, per_second
from headgate.control.evaluator import Evaluator, fields_for
from headgate.core.evaluation import CoursePoint
from headgate.core.knowledge import Engine
from headgate.core.sample import ArrivalPoint, Batch, ExecutorSample, OperatorSample, Sample
from headgate.policies import Daedalus, Hpa


def sample(time_s: float, *, arrived: float, done: float, busy_s: float, records: float) -> Sample:
    return Sample(
        time_s=time_s,
        operators=(OperatorSample(name="op", arrivals=(ArrivalPoint(time_s, arrived),), done_records=done),),
        executors=(ExecutorSample("a", "", 2, time_s, busy_s, records),),
    )


def minute() -> list[Sample]:
    """100 records a second, then 200; the executor of two cores is half busy."""
    return [
        sample(
            float(second),
            arrived=100.0 * second + 100.0 * max(0, second - 30),
            done=90.0 * second,
            busy_s=1.0 * second,
            records=90.0 * second,
        )
        for second in range(61)
    ]


def test_arrivals_are_cut_into_seconds() -> None:
    window = minute()
    curve = [(each.time_s, each.operators[0].arrivals[0].records) for each in window]
    assert per_second(curve, window) == pytest.approx([100.0] * 30 + [200.0] * 30)


def test_a_sample_that_is_missing_costs_resolution_and_no_volume() -> None:
    window = [each for each in minute() if each.time_s % 7 == 0 or each.time_s == 60]
    curve = [(each.time_s, each.operators[0].arrivals[0].records) for each in window]
    seconds = per_second(curve, window)
    assert len(seconds) == 60
    assert sum(seconds) == pytest.approx(9000.0)


@pytest.mark.parametrize("curve", [[], [(0.0, 1.0)], [(5.0, 1.0), (5.0, 2.0)]])
def test_without_two_moments_there_is_no_course(curve: list[tuple[float, float]]) -> None:
    assert per_second(curve, minute()) == ()


def test_an_executor_has_a_point_for_every_ten_seconds() -> None:
    course = executor_courses(minute(), since_s=0.0, at_batch_end=False)["a"]
    assert len(course) == 6
    assert all((point.busy, point.rate) == pytest.approx((0.5, 90.0)) for point in course)
    assert {(point.batches_per_s, point.working) for point in course} == {(None, None)}
    assert "b" not in executor_courses(minute(), since_s=0.0, at_batch_end=False)


def in_batches() -> list[Sample]:
    """Batches of 12 s, one after the other; records are known when a batch has ended, task time all the while."""
    return [
        replace(
            each,
            operators=(
                replace(
                    each.operators[0],
                    batches=(Batch(0, each.time_s - 12, each.time_s, 0.0, 0.0, run_s=9.0),)
                    if each.time_s % 12 == 0
                    else (),
                ),
            ),
            executors=(ExecutorSample("a", "", 2, each.time_s, 1.5 * each.time_s, 1200.0 * (each.time_s // 12)),),
        )
        for each in minute()
    ]


def test_with_micro_batches_a_step_ends_with_a_batch_so_that_time_and_records_are_those_of_the_same_one() -> None:
    course = executor_courses(in_batches(), since_s=0.0, at_batch_end=True)["a"]
    assert course == (CoursePoint(0.75, 100.0, 1 / 12, 0.75),) * 5
    anywhere = executor_courses(in_batches(), since_s=0.0, at_batch_end=False)["a"]
    assert {point.rate for point in anywhere} != {100.0}


def test_a_batch_that_is_longer_than_the_window_counts_where_it_ends() -> None:
    """Windows of five seconds, batches of twelve."""
    ended = executor_courses(in_batches()[:26], since_s=20.0, at_batch_end=True)["a"]
    assert ended == (CoursePoint(0.75, 100.0, 1 / 12, 0.75),)
    assert executor_courses(in_batches()[:31], since_s=25.0, at_batch_end=True) == {}
    # Without the end of the batch before it, it is not known where it began.
    assert executor_courses(in_batches()[13:26], since_s=20.0, at_batch_end=True) == {}


def test_an_evaluator_keeps_what_came_before_its_window_for_that() -> None:
    evaluator = Evaluator(keep_s=6, engine=Engine.MICRO_BATCH)
    for each in in_batches()[:26]:
        evaluator.learn(each)
    seen = evaluator.evaluate(now_s=25.0, window_s=5.0, fields=frozenset({"course"}))
    assert seen.window_s == 5.0
    assert len(seen.executors[0].course) == 1


def test_only_policies_that_ask_for_it_get_the_course() -> None:
    assert fields_for(Daedalus()) == {"arrivals_per_s", "finished_per_s", "course"}
    assert not fields_for(Hpa())
    evaluator = Evaluator(keep_s=61, engine=Engine.CONTINUOUS)
    for each in minute():
        evaluator.learn(each)
    plain = evaluator.evaluate(now_s=60.0, window_s=60.0)
    detailed = evaluator.evaluate(now_s=60.0, window_s=60.0, fields=fields_for(Daedalus()))
    assert plain.operators[0].arrivals_per_s == plain.executors[0].course == ()
    assert len(detailed.operators[0].arrivals_per_s) == len(detailed.operators[0].finished_per_s) == 60
    assert detailed.operators[0].finished_per_s == pytest.approx([90.0] * 60)
    assert len(detailed.executors[0].course) == 6
