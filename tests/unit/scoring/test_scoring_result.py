"""The result document, figure by figure, from journals small enough to check by hand."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
from recorded_runs import RecordedRun, batch, executors, operator, steady_run, tick

from headgate import codec
from headgate.core.allocation import Bounds
from headgate.core.decision import Outcome
from headgate.core.evaluation import Evaluation, ExecutorEvaluation, OperatorEvaluation
from headgate.core.sample import Sample
from headgate.errors import UserMistake
from headgate.scoring import Result, RunSeries, demand, estimated_capacity, score, score_recorded


def numbers(value: Any) -> list[Any]:
    if isinstance(value, dict):
        return [number for part in value.values() for number in numbers(part)]
    return [value]


def test_every_figure_of_a_steady_run() -> None:
    """Capacity 4 means that 10 records/s need 3 executors; 2, 2, 2 and 3 were active."""
    document = score(
        steady_run(), workload="constant:rate=10", scenario="hand", seed=3, slo_latency_s=4, capacity=4
    ).to_document()
    assert document == {
        "policy": "hpa:target=0.7",
        "workload": "constant:rate=10",
        "scenario": "hand",
        "seed": 3,
        "duration_s": 20,
        "records": {"in": 200, "out": 150},
        "executors": {"mean": 2.5, "min": 2, "max": 3},
        "executor_seconds": 50,
        "rescalings": 0,
        "latency_s": {
            "mean": pytest.approx(4.5),
            "p50": pytest.approx(4.5),
            "p95": pytest.approx(6.75),
            "p99": pytest.approx(6.95),
            "max": pytest.approx(7),
        },
        "lag_records": {"mean": 50, "max": 50, "final": 50},
        # 5 of 10 records/s in the first ten seconds (one batch), all in the second (two batches)
        "throughput_degradation": pytest.approx(0.25),
        "executors_saved": pytest.approx(1 - 2.5 / 4),
        "elasticity": {
            "accuracy_o": 0,
            "accuracy_u": pytest.approx(15 / 20),
            "timeshare_o": 0,
            "timeshare_u": pytest.approx(15 / 20),
            # the 50 records that are left take the 2 executors of the end 6.25 s
            "excess_time": pytest.approx(6.25 / 20),
        },
        # of 150, 90 took longer than 4 s, and of the 50 that wait, 10 are older than that
        "slo": {"latency_s": 4, "violation_share": pytest.approx(100 / 160)},
    }


def test_a_document_can_be_read_again_and_has_a_schema() -> None:
    result = score(steady_run(), capacity=4)
    assert Result.from_document(result.to_document(), where="row 1") == result
    assert codec.from_json(Result, codec.to_json(result).replace(b'"in_"', b'"in"'), where="x") == result
    schema = codec.schema(Result)
    assert list(schema["$defs"]["Records"]["properties"]) == ["in", "out"]
    assert set(schema["required"]) == set(result.to_document())
    with pytest.raises(UserMistake, match="row 1"):
        Result.from_document({"policy": 3}, where="row 1")


def test_what_cannot_be_known_is_none_and_never_zero() -> None:
    run = RecordedRun(run_samples=[Sample(time_s=5, operators=(operator([(5, 10)]),))], started_s=5)
    result = score(run)
    assert result.duration_s == 0
    assert result.latency_s.mean is None
    assert result.latency_s.max is None
    assert result.throughput_degradation is None
    assert result.slo.violation_share is None
    assert result.elasticity.accuracy_o is None
    assert result.elasticity.excess_time is None


def test_elasticity_without_a_capacity_is_not_known() -> None:
    elasticity = score(steady_run()).elasticity
    assert (elasticity.accuracy_o, elasticity.accuracy_u, elasticity.excess_time) == (None, None, None)


def test_a_journal_without_samples_is_the_users_mistake() -> None:
    with pytest.raises(UserMistake, match="the journal of 'orders' has no samples"):
        score(RecordedRun())


def test_one_sample_is_a_short_run() -> None:
    sample = Sample(
        time_s=10,
        operators=(operator([(0, 0), (10, 100)], [batch(0, 100, 5, 10)]),),
        executors=executors(active=3),
    )
    result = score(RecordedRun(run_samples=[sample], sampling_interval_s=10), capacity=5)
    assert result.duration_s == 10
    assert (result.records.in_, result.records.out) == (100, 100)
    assert result.executors.mean == 3
    assert result.latency_s.mean == pytest.approx(5)
    assert result.throughput_degradation == pytest.approx(0)
    assert result.elasticity.timeshare_o == 1
    assert result.elasticity.accuracy_o == pytest.approx(1)
    assert result.elasticity.excess_time == 0


def test_an_app_without_operators_has_costs_only() -> None:
    run = RecordedRun(
        run_samples=[Sample(time_s=time_s, operators=(), executors=executors(active=2)) for time_s in (0.0, 10.0)]
    )
    result = score(run, capacity=5)
    assert result.executor_seconds == 20
    assert (result.records.in_, result.latency_s.mean, result.throughput_degradation) == (0, None, None)
    assert (result.elasticity.accuracy_o, result.elasticity.excess_time) == (1, None)


def test_figures_do_not_depend_on_when_the_run_began() -> None:
    early, late = (score(steady_run(started_s=started_s), capacity=4).to_document() for started_s in (0.0, 1.8e9))
    for before, after in zip(numbers(early), numbers(late), strict=True):
        assert after == pytest.approx(before, abs=1e-4)


def test_a_run_whose_input_ended_is_measured_until_its_last_record_is_finished() -> None:
    parts = [
        Sample(time_s=10, operators=(operator([(0, 0), (10, 100)]),), executors=executors(active=1)),
        Sample(time_s=40, operators=(operator([(40, 100)], [batch(0, 100, 10, 30)]),), executors=executors(active=1)),
    ]
    result = score(RecordedRun(run_samples=parts, sampling_interval_s=10))
    assert result.elasticity.excess_time == pytest.approx((30 - 10) / 40)


def test_only_applied_changes_are_rescalings() -> None:
    ticks = [
        tick(5, before=2, wanted=3, outcome=Outcome.APPLIED),
        tick(10, before=3, wanted=3, outcome=Outcome.APPLIED),
        tick(15, before=3, wanted=4, outcome=Outcome.DRY_RUN),
        tick(16, before=3, wanted=4, outcome=Outcome.FAILED),
        tick(20, before=3, wanted=2, outcome=Outcome.APPLIED),
    ]
    series = RunSeries.from_journal(steady_run(run_ticks=ticks))
    assert series.rescalings == 2
    assert [point.granted for point in series.ticks] == [3, 3, 4, 4, 2]
    assert [point.rescales for point in series.ticks] == [True, False, False, False, True]


def test_the_target_is_what_was_there_where_the_agent_does_not_say() -> None:
    series = RunSeries.from_journal(steady_run())
    assert series.target.tolist() == [2, 3, 3, 3]
    assert series.active.tolist() == [2, 2, 3, 2]


def evaluated(*operators: OperatorEvaluation, count: int = 4, cores: int = 1) -> Evaluation:
    there = tuple(ExecutorEvaluation(id=str(number), cores=cores) for number in range(count))
    return Evaluation(time_s=5, operators=operators, executors=there)


@pytest.mark.parametrize(
    ("evaluation", "cores", "capacity"),
    [
        (evaluated(OperatorEvaluation(name="a", true_processing_rate=400)), 1, 100),
        (evaluated(OperatorEvaluation(name="a", true_processing_rate=400), cores=2), 2, 100),
        (evaluated(OperatorEvaluation(name="a", true_processing_rate=400, parallelism=2)), 1, 200),
        (evaluated(OperatorEvaluation(name="a", true_processing_rate=400, parallelism=99)), 1, 100),
        (evaluated(OperatorEvaluation(name="a", true_processing_rate=400, parallelism=2), count=0), 1, 200),
        (evaluated(OperatorEvaluation(name="a", service_time_s=0.01), cores=2), 2, 200),
        # two operators: a source record costs 10 ms at the first and, for every second record, 20 ms at the next
        (
            evaluated(
                OperatorEvaluation(name="a", input_rate=10, service_time_s=0.01),
                OperatorEvaluation(name="b", upstream=("a",), input_rate=5, service_time_s=0.02),
            ),
            1,
            50,
        ),
        (evaluated(OperatorEvaluation(name="a")), 1, None),
        (evaluated(OperatorEvaluation(name="a", true_processing_rate=400), count=0), 1, None),
        (evaluated(), 1, None),
        (None, 1, None),
    ],
)
def test_the_capacity_of_an_executor_is_read_from_evaluations(
    evaluation: Evaluation | None, cores: int, capacity: float | None
) -> None:
    run = RunSeries.from_journal(steady_run(run_ticks=[tick(5, evaluation=evaluation)], cores=cores))
    found = estimated_capacity(run)
    assert found == (None if capacity is None else pytest.approx(capacity))


def test_the_median_capacity_decides_about_elasticity() -> None:
    rates = (4, 16, 20)
    ticks = [
        tick(5, evaluation=evaluated(OperatorEvaluation(name="a", true_processing_rate=rate), count=4))
        for rate in rates
    ]
    assert score(steady_run(run_ticks=ticks)).elasticity == score(steady_run(), capacity=4).elasticity


def test_demand_keeps_to_the_lower_bound_and_does_not_round_up_whole_numbers() -> None:
    run = RunSeries.from_journal(steady_run())
    assert demand(run, capacity=2.5).values.tolist() == [4, 4]
    assert demand(run, capacity=100).values.tolist() == [1, 1]
    least = RunSeries.from_journal(steady_run(bounds=Bounds(2, 4)))
    assert demand(least, capacity=100).values.tolist() == [2, 2]


def test_most_executors_can_stand_in_for_the_bound() -> None:
    assert score(steady_run(), most_executors=5).executors_saved == pytest.approx(0.5)


def test_a_recorded_run_is_named_by_its_header() -> None:
    extra = {"workload": "sine", "scenario": "spark", "seed": 7}
    result = score_recorded(steady_run(extra=extra), slo_latency_s=5)
    assert (result.workload, result.scenario, result.seed, result.slo.latency_s) == ("sine", "spark", 7, 5)
    bare = score_recorded(steady_run(extra={"seed": "?"}))
    assert (bare.workload, bare.scenario, bare.seed) == ("", "", 0)


def test_a_journal_whose_beginning_was_dropped_scores_what_is_left() -> None:
    whole = steady_run()
    result = score(RecordedRun(run_samples=whole.run_samples[2:], started_s=-1000), capacity=4)
    assert result.duration_s == 5
    assert result.records.in_ == 50
    assert result.lag_records.final == 50


def test_attaching_to_a_running_stream_does_not_count_what_came_before() -> None:
    parts = [
        Sample(time_s=105, operators=(operator([(105, 10_000)], done=9_990),)),
        Sample(time_s=110, operators=(operator([(110, 10_050)], [batch(9_990, 10_000, 105, 106)]),)),
    ]
    result = score(RecordedRun(run_samples=parts, started_s=100))
    assert result.records.in_ == 50
    assert result.throughput_degradation is not None


def test_a_gap_in_the_samples_keeps_the_last_known_size() -> None:
    parts = [
        Sample(time_s=0, operators=(operator([(0, 0)]),), executors=executors(active=1)),
        Sample(time_s=10, operators=(operator([(10, 100)]),), executors=executors(active=3)),
        Sample(time_s=100, operators=(operator([(100, 1000)], done=900),), executors=executors(active=1)),
    ]
    result = score(RecordedRun(run_samples=parts))
    assert result.executor_seconds == 10 * 1 + 90 * 3
    assert result.records.in_ == 1000
    assert result.records.out == 900
    # no batch was reported: what is done was done since the sample before
    assert result.latency_s.mean is not None
    assert math.isfinite(result.latency_s.mean)


def test_a_restart_whose_counters_go_on_is_one_run() -> None:
    whole = steady_run()
    again = Sample(
        time_s=60,
        operators=(operator([(55, 200), (60, 250)], [batch(100, 150, 40, 45), batch(150, 200, 50, 52)]),),
        executors=executors(active=2),
    )
    result = score(RecordedRun(run_samples=[*whole.run_samples, again]), capacity=4)
    assert result.duration_s == 60
    assert result.records.in_ == 250
    assert result.records.out == 200
    assert result.latency_s.max == pytest.approx(52 - 15)


def test_windows_without_input_do_not_count_as_degraded() -> None:
    points = [(0, 0), (10, 100), (30, 100)]
    sample = Sample(time_s=30, operators=(operator(points, [batch(0, 100, 5, 15)]),))
    result = score(RecordedRun(run_samples=[sample], sampling_interval_s=30))
    assert result.throughput_degradation == pytest.approx(0.5)


def test_the_last_window_takes_what_is_left_over() -> None:
    series = RunSeries.from_journal(steady_run())
    assert series.windows(10).tolist() == [0, 10, 20]
    assert series.windows(15).tolist() == [0, 20]
    assert series.windows(100).tolist() == [0, 20]
    assert series.arrival_rate(series.windows(5)) == pytest.approx([10] * 4)


def test_the_arrival_curve_can_be_replayed() -> None:
    series = RunSeries.from_journal(steady_run(started_s=1000.0))
    assert series.arrival_curve_s.tolist() == [1000, 1005, 1010, 1015, 1020]
    assert series.arrival_curve == pytest.approx([0, 50, 100, 150, 200])


def test_operators_that_read_from_unseen_ones_count_as_sources() -> None:
    part = operator([(0, 0), (10, 100)], [batch(0, 100, 9, 10)], upstream=("elsewhere",))
    result = score(RecordedRun(run_samples=[Sample(time_s=10, operators=(part,))], sampling_interval_s=10))
    assert result.records.in_ == 100


def test_no_figure_is_ever_nan() -> None:
    runs = [
        steady_run(),
        RecordedRun(run_samples=steady_run().run_samples[:1]),
        RecordedRun(run_samples=[Sample(time_s=0, operators=())]),
    ]
    for run in runs:
        for number in numbers(score(run, capacity=1).to_document()):
            assert number is None or isinstance(number, str) or np.isfinite(number)
