"""Latencies per record, worked out by hand and, for odd runs, record by record."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from recorded_runs import RecordedRun, batch, operator, steady_run

from headgate.core.evaluation import Spread
from headgate.core.knowledge import Engine
from headgate.core.sample import ArrivalPoint, Sample
from headgate.scoring import RunSeries
from headgate.scoring.curves import ArrivalCurve, CompletionCurve
from headgate.scoring.distribution import Distribution


def spread_of(run: RecordedRun) -> Spread:
    latencies = RunSeries.from_journal(run).latencies()
    assert latencies is not None
    return latencies.spread()


def as_numbers(spread: Spread) -> list[float]:
    return [spread.mean, spread.p50, spread.p95, spread.p99, spread.max]


def test_a_record_waits_for_its_batch_and_for_the_batchs_end() -> None:
    assert as_numbers(spread_of(steady_run())) == pytest.approx([4.5, 4.5, 6.75, 6.95, 7])


def test_times_since_1970_cost_no_precision() -> None:
    assert as_numbers(spread_of(steady_run(started_s=1.8e9))) == pytest.approx([4.5, 4.5, 6.75, 6.95, 7], abs=1e-4)


def test_a_continuous_engine_finishes_records_one_by_one() -> None:
    sample = Sample(time_s=20, operators=(operator([(0, 0), (10, 100)], [batch(0, 100, 5, 15)]),))
    run = RecordedRun(run_samples=[sample], engine=Engine.CONTINUOUS, sampling_interval_s=20)
    assert as_numbers(spread_of(run)) == pytest.approx([5] * 5)


def test_latency_is_weighted_by_records_and_not_by_batches() -> None:
    points = [(0, 0), (0, 900), (10, 900), (10, 1000)]
    batches = [batch(0, 900, 0, 1), batch(900, 1000, 10, 31)]
    run = RecordedRun(run_samples=[Sample(time_s=40, operators=(operator(points, batches),))], sampling_interval_s=40)
    assert as_numbers(spread_of(run)) == pytest.approx([(900 * 1 + 100 * 21) / 1000, 1, 21, 21, 21])


def test_a_record_that_arrives_before_a_quiet_time_has_waited_through_it() -> None:
    points = [(0, 0), (10, 100), (60, 100), (70, 200)]
    batches = [batch(0, 100, 10, 11), batch(100, 200, 70, 71)]
    run = RecordedRun(run_samples=[Sample(time_s=80, operators=(operator(points, batches),))], sampling_interval_s=80)
    assert spread_of(run).max == pytest.approx(11)


def test_a_diamond_takes_as_long_as_its_slowest_way() -> None:
    parts = (
        operator([(0, 0), (10, 100)], [batch(0, 100, 9, 10)], name="a"),
        operator([(10, 0), (10, 100)], [batch(0, 100, 10, 13)], name="b", upstream=("a",)),
        operator([(10, 0), (10, 100)], [batch(0, 100, 10, 17)], name="c", upstream=("a",)),
        operator(
            [(13, 0), (13, 100), (17, 100), (17, 200)],
            [batch(0, 100, 13, 14), batch(100, 200, 17, 20)],
            name="d",
            upstream=("b", "c"),
        ),
    )
    run = RecordedRun(run_samples=[Sample(time_s=30, operators=parts)], sampling_interval_s=30)
    assert as_numbers(spread_of(run)) == pytest.approx([15, 15, 19.5, 19.9, 20])


def test_where_ways_part_the_slowest_sink_counts() -> None:
    parts = (
        operator([(0, 0), (10, 100)], [batch(0, 100, 9, 10)], name="a"),
        operator([(10, 0), (10, 100)], [batch(0, 100, 10, 19)], name="slow", upstream=("a",)),
        operator([(10, 0), (10, 100)], [batch(0, 100, 10, 11)], name="fast", upstream=("a",)),
    )
    run = RecordedRun(run_samples=[Sample(time_s=30, operators=parts)], sampling_interval_s=30)
    assert spread_of(run).max == pytest.approx(19)
    assert RunSeries.from_journal(run).throughput(np.array([0.0, 10.0, 19.0, 30.0])) == pytest.approx([0, 100 / 9, 0])


def test_a_record_is_not_finished_before_the_last_operator_is() -> None:
    parts = (
        operator([(0, 0), (10, 100)], [batch(0, 50, 4, 5), batch(50, 100, 9, 10)], name="a"),
        operator([(5, 0), (5, 50), (10, 50), (10, 100)], [batch(0, 50, 5, 8)], name="b", upstream=("a",)),
    )
    run = RunSeries.from_journal(RecordedRun(run_samples=[Sample(time_s=30, operators=parts)], sampling_interval_s=30))
    assert run.records.records[run.records.finished].sum() == pytest.approx(50)
    assert run.latencies().max == pytest.approx(8)  # type: ignore[union-attr]
    assert run.records.ages(30).max == pytest.approx(25)  # type: ignore[union-attr]


def test_a_filter_that_lets_nothing_through_ends_a_records_way() -> None:
    parts = (
        operator([(0, 0), (10, 100)], [batch(0, 100, 9, 10)], name="a"),
        operator([(0, 0), (30, 0)], name="b", upstream=("a",)),
    )
    run = RecordedRun(run_samples=[Sample(time_s=30, operators=parts)], sampling_interval_s=30)
    assert run.samples
    assert RunSeries.from_journal(run).latencies() is None


def test_sources_weigh_as_much_as_they_bring() -> None:
    parts = (
        operator([(0, 0), (0, 300)], [batch(0, 300, 0, 2)], name="a"),
        operator([(0, 0), (0, 100)], [batch(0, 100, 0, 6)], name="b"),
    )
    run = RecordedRun(run_samples=[Sample(time_s=10, operators=parts)], sampling_interval_s=10)
    assert spread_of(run).mean == pytest.approx(3)
    assert RunSeries.from_journal(run).arrived_by(np.array([10.0])) == pytest.approx([400])


def test_a_lost_sample_loses_no_records() -> None:
    """The batch from 100 to 200 is lost: its records were finished between its neighbours, 11 s and 21 s."""
    points = [(0, 0), (10, 100), (20, 200), (30, 300)]
    batches = [batch(0, 100, 10, 11), batch(200, 300, 21, 31)]
    run = RecordedRun(run_samples=[Sample(time_s=40, operators=(operator(points, batches),))], sampling_interval_s=40)
    series = RunSeries.from_journal(run)
    assert series.records.records.sum() == 300
    assert series.records.finished.all()
    # 1..11 (mean 6), 1 throughout (arrived 10..20, finished 11..21), 1..11 (mean 6)
    assert spread_of(run).mean == pytest.approx((6 + 1 + 6) / 3)


def test_an_empty_batch_after_lost_ones_ends_the_hole() -> None:
    curve = CompletionCurve.of(
        [batch(0, 100, 0, 1), batch(300, 300, 5, 6), batch(300, 400, 6, 8)], [], at_once=True, since_s=0
    )
    assert curve.end.tolist() == [100, 300, 400]
    assert curve.first_finished_s.tolist() == [1, 1, 8]
    assert curve.finished_s.tolist() == [1, 5, 8]


def test_a_batch_that_is_run_again_counts_when_it_was_first_done() -> None:
    curve = CompletionCurve.of(
        [batch(0, 100, 0, 1), batch(0, 100, 5, 6), batch(50, 150, 7, 9)], [], at_once=True, since_s=0
    )
    assert curve.first.tolist() == [0, 100]
    assert curve.finished_s.tolist() == [1, 9]


def test_a_batch_that_ends_after_its_samples_clock_is_still_taken_at_its_word() -> None:
    sample = Sample(time_s=10, operators=(operator([(0, 0), (0, 100)], [batch(0, 100, 5, 10.01)]),))
    run = RecordedRun(run_samples=[sample], sampling_interval_s=10)
    assert as_numbers(spread_of(run)) == pytest.approx([10.01] * 5)


def test_positions_without_batches_are_finished_between_samples() -> None:
    curve = CompletionCurve.of([], [(0, 0), (10, 100), (20, 100), (30, 250)], at_once=True, since_s=0)
    assert curve.end.tolist() == [100, 250]
    assert curve.first_finished_s.tolist() == [0, 20]
    assert curve.finished_s.tolist() == [10, 30]
    began, finished = curve.through(np.array([50.0, 250.0, 251.0]))
    assert finished.tolist() == [5, 30, np.inf]
    assert began.tolist() == [0, 20, np.inf]


def test_an_empty_curve_has_no_records() -> None:
    curve = ArrivalCurve.of([])
    assert curve.at(np.array([1.0])).tolist() == [0]
    assert curve.ended_s is None


def test_latency_over_time_says_when_it_was_bad() -> None:
    over_time = RunSeries.from_journal(steady_run()).latency_over_time(window_s=10)
    assert over_time.time_s.tolist() == [5, 15]
    assert over_time.mean_s == pytest.approx([4.5, 4.5])
    assert over_time.p95_s == pytest.approx([6.75, 6.75])


def test_latency_over_time_is_exact_within_a_batch() -> None:
    """Ten records a second. Latencies of 0 to 8 s and of 1 to 3 s in the first window, of 2 to 7 s in the second.

    In the first, 80 and 20 of 100 records: above x there are 80 (8 − x) ÷ 8, which are 5 at x = 7.5.
    """
    batches = [batch(0, 80, 8, 8), batch(80, 100, 10, 11), batch(100, 150, 15, 17)]
    sample = Sample(time_s=20, operators=(operator([(0, 0), (15, 150)], batches),))
    run = RecordedRun(run_samples=[sample], sampling_interval_s=20)
    over_time = RunSeries.from_journal(run).latency_over_time(window_s=12)
    assert over_time.time_s.tolist() == [6, 18]
    assert over_time.mean_s == pytest.approx([(80 * 4 + 20 * 2) / 100, 4.5])
    assert over_time.p95_s == pytest.approx([7.5, 6.75])


def test_latency_over_time_does_not_depend_on_how_much_came_in_other_windows() -> None:
    points = [(0, 0), (1, 10**9), (20, 10**9), (22, 10**9 + 4)]
    batches = [batch(0, 10**9, 1, 5), batch(10**9, 10**9 + 4, 22, 23)]
    run = RecordedRun(run_samples=[Sample(time_s=30, operators=(operator(points, batches),))], sampling_interval_s=30)
    over_time = RunSeries.from_journal(run).latency_over_time(window_s=10)
    assert over_time.p95_s == pytest.approx([4.95, 2.9], abs=1e-4)


def test_latency_over_time_takes_the_95th_of_a_hundred_records() -> None:
    points = [(0, 0), (0, 94), (1, 94), (1, 100)]
    batches = [batch(0, 94, 0, 2), batch(94, 100, 2, 9)]
    run = RecordedRun(run_samples=[Sample(time_s=10, operators=(operator(points, batches),))], sampling_interval_s=10)
    over_time = RunSeries.from_journal(run).latency_over_time(window_s=10)
    assert over_time.mean_s == pytest.approx([(94 * 2 + 6 * 8) / 100])
    assert over_time.p95_s == pytest.approx([8])


def test_latency_over_time_of_nothing_is_empty() -> None:
    run = RecordedRun(run_samples=[Sample(time_s=5, operators=(operator([(5, 10)]),))])
    assert len(RunSeries.from_journal(run).latency_over_time().time_s) == 0


def test_a_distribution_of_points_has_the_usual_quantiles() -> None:
    places = np.arange(1.0, 101.0)
    found = Distribution.of(places, places, np.ones(100))
    assert found is not None
    assert [found.quantile(share) for share in (0.5, 0.95, 0.99, 1)] == pytest.approx([50, 95, 99, 100])
    assert found.share_above(90) == pytest.approx(0.1)
    assert Distribution.of(places, places, np.zeros(100)) is None


pieces = st.lists(
    st.tuples(st.floats(0, 100), st.one_of(st.just(0.0), st.floats(0.01, 50)), st.floats(0.1, 100)),
    min_size=1,
    max_size=30,
)


@given(pieces, st.floats(0.01, 0.99))
def test_quantiles_of_overlapping_pieces_agree_with_the_sum_of_their_shares(
    pieces: list[tuple[float, float, float]], share: float
) -> None:
    low, width, weight = (np.array(column) for column in zip(*pieces, strict=True))
    found = Distribution.of(low, low + width, weight)
    assert found is not None
    place = found.quantile(share)

    def weight_below(edge: float) -> float:
        with np.errstate(divide="ignore", invalid="ignore"):
            inside = np.where(width > 0, np.clip((edge - low) / width, 0, 1), edge >= low)
        return float((weight * inside).sum())

    tolerance = 1e-6 * weight.sum()
    assert weight_below(place - 1e-6) <= share * weight.sum() + tolerance + 1e-4 * weight.max()
    assert weight_below(place + 1e-6) >= share * weight.sum() - tolerance


@given(
    st.lists(st.integers(0, 20), min_size=3, max_size=30),
    st.lists(st.tuples(st.integers(1, 5), st.integers(1, 4)), min_size=1, max_size=10),
)
def test_any_micro_batch_run_has_the_mean_latency_of_its_single_records(
    per_second: list[int], rhythm: list[tuple[int, int]]
) -> None:
    counts = np.concatenate([[0], np.cumsum(per_second)])
    points = [ArrivalPoint(float(second), float(count)) for second, count in enumerate(counts)]
    batches, now, done = [], 0, 0
    for wait, took in rhythm:
        started = now + wait
        arrived_by_then = int(counts[min(started, len(per_second))])
        if arrived_by_then > done:
            batches.append(batch(done, arrived_by_then, started, started + took))
            done = arrived_by_then
        now = started + took
    end_s = float(max(now, len(per_second)))
    sample = Sample(time_s=end_s, operators=(operator(points, batches),))
    series = RunSeries.from_journal(RecordedRun(run_samples=[sample], sampling_interval_s=end_s))
    fine = np.arange(0, done, 0.05) + 0.025  # twenty slices of every record
    arrived = np.interp(fine, counts + np.arange(len(counts)) * 1e-9, np.arange(len(counts)))
    finished = np.array([next(one.finished_s for one in batches if place < one.end_record) for place in fine])
    latencies = series.latencies()
    if not done:
        assert latencies is None
        return
    assert latencies is not None
    assert latencies.weight == pytest.approx(done)
    assert latencies.mean == pytest.approx((finished - arrived).mean(), abs=1e-3)
    assert latencies.max == pytest.approx((finished - arrived).max(), abs=0.06)
