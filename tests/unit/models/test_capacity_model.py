"""Capacities by hand, with skew, of sizes seen and unseen, and of executors that tell little."""

from __future__ import annotations

import json
from collections.abc import Sequence

import pytest
from hypothesis import given
from hypothesis import strategies as st

from headgate.core.evaluation import CoursePoint
from headgate.models.capacity import Basis, CapacityModel


def line(slope: float, cpus: tuple[float, ...], intercept: float = 0.0) -> list[CoursePoint]:
    return seen([(cpu, intercept + slope * cpu) for cpu in cpus])


def seen(pairs: Sequence[tuple[float, float]]) -> list[CoursePoint]:
    return [CoursePoint(cpu, rate) for cpu, rate in pairs]


def test_two_executors_alike_carry_twice_what_one_does_at_full_cpu() -> None:
    model = CapacityModel()
    for name in "ab":
        model.learn(name, line(1000.0, (0.4, 0.5, 0.6), intercept=50.0))
    estimate = model.present(2)
    assert estimate is not None
    assert estimate.rate == pytest.approx(2 * 1050.0)
    assert estimate.basis is Basis.REGRESSION
    assert estimate.confidence == pytest.approx(1.0)
    assert estimate.points == 6


def test_a_skewed_executor_is_only_taken_as_far_as_its_proportion() -> None:
    """The busiest is at 0.8 and reaches 1; the other, at 0.6, reaches 0.75, where its line gives 750."""
    model = CapacityModel()
    model.learn("busy", line(1000.0, (0.7, 0.8, 0.9)))
    model.learn("calm", line(1000.0, (0.5, 0.6, 0.7)))
    estimate = model.present(2)
    assert estimate is not None
    assert estimate.rate == pytest.approx(1000.0 + 750.0)


def test_a_size_not_seen_is_the_average_executor_times_its_number() -> None:
    model = CapacityModel()
    model.learn("busy", line(1000.0, (0.7, 0.8, 0.9)))
    model.learn("calm", line(1000.0, (0.5, 0.6, 0.7)))
    model.observe(2, time_s=0.0)
    larger = model.at(4, current=2, time_s=60.0)
    assert larger is not None
    assert (larger.rate, larger.basis) == (pytest.approx(3500.0), Basis.AVERAGE)


def test_a_size_that_was_seen_beats_the_prediction_until_it_is_forgotten() -> None:
    model = CapacityModel(remembered_s=3600.0)
    for name in "ab":
        model.learn(name, line(1000.0, (0.4, 0.6)))
    model.observe(2, time_s=0.0)
    model.retain("a")
    model.learn("a", line(800.0, (0.5, 0.9)))
    seen = model.at(2, current=1, time_s=3600.0)
    assert seen is not None
    assert (seen.rate, seen.basis) == (pytest.approx(2000.0), Basis.OBSERVED)
    forgotten = model.at(2, current=1, time_s=3601.0)
    present = model.present(1)
    assert forgotten is not None
    assert present is not None
    assert (forgotten.rate, forgotten.basis) == (pytest.approx(2 * present.rate), Basis.AVERAGE)


def test_the_present_size_is_estimated_afresh_although_it_was_seen() -> None:
    model = CapacityModel()
    model.learn("a", line(1000.0, (0.4, 0.6)))
    model.observe(1, time_s=0.0)
    model.learn("a", line(3000.0, (0.5, 0.9)))
    now = model.at(1, current=1, time_s=1.0)
    assert now is not None
    assert now.basis is Basis.REGRESSION
    assert now.rate > 1500.0


@pytest.mark.parametrize(
    "points",
    [
        pytest.param([(0.5, 400.0)], id="one point"),
        pytest.param([(0.5, 380.0), (0.5, 420.0)], id="constant CPU"),
        pytest.param([(0.4, 500.0), (0.6, 300.0)], id="negative slope"),
    ],
)
def test_without_a_line_throughput_over_cpu_is_the_estimate(points: list[tuple[float, float]]) -> None:
    model = CapacityModel()
    model.learn("a", seen(points))
    estimate = model.present(1)
    assert estimate is not None
    assert (estimate.rate, estimate.basis, estimate.confidence) == (pytest.approx(800.0), Basis.RATIO, None)


def test_an_executor_never_carries_less_than_it_does() -> None:
    """The line was drawn in slower times; at present it does 900 at 0.9."""
    model = CapacityModel()
    model.learn("a", line(100.0, (0.1, 0.2, 0.3, 0.4, 0.5)))
    model.learn("a", seen([(0.9, 900.0)]))
    estimate = model.present(1)
    assert estimate is not None
    assert estimate.rate >= 900.0


def batches(*periods_and_loads: tuple[float, float], working: float | None = None) -> list[CoursePoint]:
    """Batches whose tasks take 0.2 s and 1 ms a record, so many seconds apart, at so many records a second."""
    return [
        CoursePoint(0.2 / period + rate / 1000, rate, 1 / period, None if working is None else working)
        for period, rate in periods_and_loads
    ]


def test_with_micro_batches_capacity_is_that_of_long_ones_in_which_their_own_costs_hardly_count() -> None:
    """A batch of 10 s has 9.8 s for records. Throughput ÷ CPU would be 667, and a line through seconds 800."""
    model = CapacityModel()
    model.learn("a", batches((1.0, 300.0), (1.0, 400.0), (1.0, 500.0)))
    estimate = model.present(1)
    assert estimate is not None
    assert (estimate.rate, estimate.basis) == (pytest.approx(9_800 / 10), Basis.REGRESSION)


def test_the_longer_batches_may_get_the_more_is_carried() -> None:
    """0.2 s of each batch are its own: 1.8 s of 2 s are left for records, and 29.8 s of 30 s."""
    rates = []
    for longest_s in (2.0, 30.0):
        model = CapacityModel(longest_batch_s=longest_s)
        model.learn("a", batches((1.0, 300.0), (1.0, 400.0), (1.0, 500.0)))
        model = CapacityModel.restored(model.state, longest_batch_s=longest_s)
        estimate = model.present(1)
        assert estimate is not None
        rates.append(estimate.rate)
    assert rates == [pytest.approx(1800 / 2), pytest.approx(29_800 / 30)]


def test_an_executor_that_waits_for_others_while_a_batch_runs_will_do_so_in_long_ones() -> None:
    """At 0.6 while tasks ran for 0.75 of the time: 0.8 of a batch of 10 s, less 0.2 s, at 1000 a second."""
    model = CapacityModel()
    model.learn("a", batches((1.0, 300.0), (1.0, 400.0), (1.0, 500.0), working=0.75))
    estimate = model.present(1)
    assert estimate is not None
    assert estimate.rate == pytest.approx(1000 * (8.0 - 0.2) / 10)


def test_with_micro_batches_executors_come_as_far_as_the_one_with_most_records() -> None:
    """In 10 s it has done 9 800 records, and the other one, who always has half as many, 4 900.

    By their shares of CPU, 0.6 and 0.4, the other one would have done 6 467 in two thirds of the time.
    """
    model = CapacityModel()
    model.learn("a", batches((1.0, 300.0), (1.0, 400.0), (1.0, 500.0)))
    model.learn("b", batches((1.0, 150.0), (1.0, 200.0), (1.0, 250.0)))
    estimate = model.present(2)
    assert estimate is not None
    assert (estimate.rate, estimate.basis) == (pytest.approx((9_800 + 4_900) / 10), Basis.REGRESSION)


def test_a_line_that_chance_has_drawn_low_does_not_hold_the_others_back() -> None:
    """Both have the same records, so both count: the one whose line may as well be higher does not set the limit."""
    exact = batches((1.0, 300.0), (1.0, 400.0), (1.0, 500.0))
    away = (-0.03, 0.0, 0.05, 0.02, 0.0, -0.01)
    noisy = [point._replace(busy=point.busy + more) for point, more in zip(exact * 2, away, strict=True)]
    alone, together = [], CapacityModel()
    for name, points in (("a", exact), ("b", noisy)):
        model = CapacityModel()
        for each in (model, together):
            each.learn(name, points)
        estimate = model.present(1)
        assert estimate is not None
        alone.append(estimate.rate)
    both = together.present(2)
    assert both is not None
    assert max(alone) > 1.05 * min(alone)
    assert both.rate == pytest.approx(sum(alone))


def test_batches_of_one_size_have_no_line() -> None:
    model = CapacityModel()
    model.learn("a", [CoursePoint(0.6 + wobble, 400.0, 1.0) for wobble in (-0.01, 0.0, 0.02, -0.02, 0.01)])
    estimate = model.present(1)
    assert estimate is not None
    assert (estimate.rate, estimate.basis) == (pytest.approx(400 / 0.6), Basis.RATIO)


def test_what_micro_batches_of_one_size_carried_is_not_remembered_as_what_they_could() -> None:
    model = CapacityModel()
    model.learn("a", [CoursePoint(0.9, 400.0, 1.0)] * 3)
    assert model.observe(1, 0.0) is not None
    model.retain(())
    model.learn("b", batches((1.0, 300.0), (1.0, 400.0), (1.0, 500.0)))
    model.learn("c", batches((1.0, 300.0), (1.0, 400.0), (1.0, 500.0)))
    model.observe(2, 60.0)
    estimate = model.at(1, current=2, time_s=60.0)
    assert estimate is not None
    assert (estimate.rate, estimate.basis) == (pytest.approx(9_800 / 10), Basis.AVERAGE)


def test_an_idle_or_new_executor_counts_as_an_average_one() -> None:
    model = CapacityModel(ignored_s=60.0)
    model.learn("a", line(1000.0, (0.4, 0.6)), age_s=500.0)
    model.learn("idle", seen([(0.0, 0.0)]) * 3, age_s=500.0)
    model.learn("new", line(10.0, (0.9, 1.0)), age_s=59.0)
    estimate = model.present(3)
    assert estimate is not None
    assert estimate.rate == pytest.approx(3000.0)


def test_an_executor_that_is_busy_and_has_finished_nothing_says_nothing() -> None:
    """The first micro-batch may run for longer than a window."""
    model = CapacityModel()
    model.learn("a", seen([(1.0, 0.0), (1.0, 0.0)]))
    assert model.present(1) is None
    model.learn("b", seen([(0.5, 500.0)]))
    known = model.present(2)
    assert known is not None
    assert known.rate == pytest.approx(2 * 500.0)


def test_nothing_is_known_of_an_app_that_did_nothing() -> None:
    model = CapacityModel()
    assert model.present(2) is None
    model.learn("a", seen([(0.0, 0.0)]) * 60)
    assert model.observe(1, time_s=0.0) is None
    assert model.at(4, current=1, time_s=0.0) is None


def test_an_executor_that_left_is_forgotten() -> None:
    model = CapacityModel()
    model.learn("a", line(1000.0, (0.4, 0.6)))
    model.learn("b", line(500.0, (0.4, 0.6)))
    model.retain({"b"})
    estimate = model.present(1)
    assert estimate is not None
    assert estimate.rate == pytest.approx(500.0)


def test_noise_widens_the_interval_and_points_narrow_it() -> None:
    few, many = CapacityModel(), CapacityModel()
    noisy = seen([(0.4 + 0.01 * n, 1000 * (0.4 + 0.01 * n) + (20 if n % 2 else -20)) for n in range(20)])
    few.learn("a", noisy)
    for _ in range(50):
        many.learn("a", noisy)
    rough, sure = few.present(1), many.present(1)
    assert rough is not None
    assert sure is not None
    assert rough.low is not None
    assert rough.high is not None
    assert rough.low < 1000 < rough.high
    assert (rough.confidence or 0) < (sure.confidence or 0) < 1


def test_what_was_learned_comes_back_from_json() -> None:
    model = CapacityModel()
    for name in "ab":
        model.learn(name, line(1000.0, (0.4, 0.5, 0.6)))
    model.observe(2, time_s=5.0)
    assert CapacityModel.restored(json.loads(json.dumps(model.state))) == model


@given(
    st.recursive(
        st.none() | st.floats() | st.text(max_size=3),
        lambda inner: st.lists(inner, max_size=9) | st.dictionaries(st.text(max_size=9), inner, max_size=3),
        max_leaves=20,
    )
)
def test_any_memory_can_be_restored_from(state: object) -> None:
    model = CapacityModel.restored({"executors": state, "seen": state})
    model.learn("a", seen([(0.5, 100.0)]))
    estimate = model.at(2, current=1, time_s=0.0)
    assert estimate is None or estimate.rate >= 0


@given(
    points=st.lists(st.tuples(st.floats(allow_nan=True), st.floats(allow_nan=True)), max_size=20),
    size=st.integers(1, 20),
)
def test_whatever_is_measured_a_capacity_is_a_number_or_unknown(points: list[tuple[float, float]], size: int) -> None:
    model = CapacityModel()
    model.learn("a", seen([(min(x, 1e3), min(y, 1e9)) for x, y in points]))
    estimate = model.at(size, current=1, time_s=0.0)
    assert estimate is None or 0 <= estimate.rate < float("inf")
