"""Recovery times worked out by hand, and downtimes that are learned."""

from __future__ import annotations

import json
import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from headgate.models.recovery import Direction, Downtimes, joining_recovery_s, recovery_s, replayed

RATES = st.integers(0, 200_000).map(lambda hundredths: hundredths / 100)


def test_downtime_backlog_and_spare_capacity() -> None:
    """15 s × 200/s wait, and 10 s × 200/s are replayed: 5000 records, with 100/s to spare: 50 s after the restart."""
    assert recovery_s(capacity=300.0, forecast=[200.0] * 900, downtime_s=15.0, replayed_records=2000.0) == 65.0


def test_a_load_that_rises_above_the_capacity_lengthens_it() -> None:
    """2000 wait after 10 s. 10 s at 100 to spare: 1000 left. 10 s at −100: 2000 left. Then 200 to spare: 10 s."""
    forecast = [200.0] * 20 + [400.0] * 10 + [100.0] * 100
    assert recovery_s(capacity=300.0, forecast=forecast, downtime_s=10.0) == pytest.approx(40.0)


def test_lag_that_is_there_already_counts_if_it_is_given() -> None:
    without = recovery_s(capacity=300.0, forecast=[200.0] * 900, downtime_s=10.0)
    assert recovery_s(capacity=300.0, forecast=[200.0] * 900, downtime_s=10.0, lag_records=500.0) == without + 5.0


def test_parts_of_a_second_count() -> None:
    """0.5 s of 100/s wait; with 100/s to spare they take as long again."""
    assert recovery_s(capacity=200.0, forecast=[100.0] * 10, downtime_s=0.5) == pytest.approx(1.0)


def test_without_downtime_and_backlog_there_is_nothing_to_recover_from() -> None:
    assert recovery_s(capacity=10.0, forecast=[200.0] * 900, downtime_s=0.0) == 0.0


def test_too_little_capacity_never_recovers() -> None:
    assert recovery_s(capacity=200.0, forecast=[200.0] * 900, downtime_s=10.0) == math.inf
    assert recovery_s(capacity=100.0, forecast=[200.0] * 900, downtime_s=10.0) == math.inf
    assert recovery_s(capacity=100.0, forecast=[], downtime_s=10.0) == math.inf


def test_beyond_the_forecast_its_last_value_stays() -> None:
    """1000 wait after 10 s; 50 s at 10 to spare leave 500, which take 50 s more."""
    assert recovery_s(capacity=110.0, forecast=[100.0] * 60, downtime_s=10.0) == pytest.approx(110.0)
    assert recovery_s(capacity=200.0, forecast=[100.0] * 5, downtime_s=10.0) == pytest.approx(20.0)


@given(
    forecast=st.lists(RATES, min_size=1, max_size=50),
    capacity=RATES,
    downtime_s=st.floats(0, 60),
    backlog=st.floats(1, 1e5),
)
def test_until_then_something_waits_and_then_nothing_does(
    forecast: list[float], capacity: float, downtime_s: float, backlog: float
) -> None:
    found = recovery_s(capacity=capacity, forecast=forecast, downtime_s=downtime_s, replayed_records=backlog)

    def waiting(time_s: float) -> float:
        seconds = np.arange(len(forecast) + 1)
        arrived = float(np.interp(time_s, seconds, np.concatenate(([0.0], np.cumsum(forecast)))))
        arrived += forecast[-1] * max(0.0, time_s - len(forecast))
        return backlog + arrived - capacity * max(0.0, time_s - downtime_s)

    assert found >= downtime_s
    slack = 1e-6 * (backlog + 1e5)
    if found == math.inf:
        assert capacity <= forecast[-1]
        assert all(waiting(downtime_s + after_s) > -slack for after_s in range(200))
    else:
        assert waiting(found) == pytest.approx(0.0, abs=1e-6 * (1 + capacity * found + backlog))
        assert all(waiting(time_s) > -slack for time_s in np.linspace(downtime_s, min(found, 1e4), 50))


def test_more_capacity_is_never_slower() -> None:
    forecast = 500 + 300 * np.sin(np.arange(900) / 100)
    times = [recovery_s(capacity=float(rate), forecast=forecast, downtime_s=30.0) for rate in range(300, 3000, 50)]
    assert times == sorted(times, reverse=True)


def test_replayed_records_are_those_of_the_last_interval() -> None:
    assert replayed([1.0, 2.0, 3.0, 4.0], 2.0) == 7.0
    assert replayed([1.0, 2.0], 10.0) == 3.0
    assert replayed([], 10.0) == 0.0


def test_directions() -> None:
    assert [Direction.of(2, after) for after in (1, 2, 3)] == ["in", "same", "out"]


def test_downtimes_begin_with_the_papers_guesses_and_follow_what_is_measured() -> None:
    known = Downtimes()
    assert [known.expect_s(4, after) for after in (2, 4, 6)] == [15.0, 30.0, 30.0]
    known.learn(4, 6, 10.0)
    known.learn(4, 6, 20.0)
    known.learn(4, 7, 40.0)
    assert known.expect_s(4, 6) == 15.0
    assert known.expect_s(6, 7) == 40.0
    # Of its direction: 10, then 15, then 27.5.
    assert known.expect_s(4, 8) == 27.5
    assert known.expect_s(4, 2) == 15.0


def test_downtimes_come_back_from_json_and_nonsense_is_left_out() -> None:
    known = Downtimes()
    known.learn(1, 2, 5.0)
    known.learn(1, 3, math.inf)
    known.learn(1, 3, -1.0)
    again = Downtimes.restored(json.loads(json.dumps(known.state)))
    assert again == known
    for state in (None, 3, {"sizes": {"out:2": "x"}, "directions": []}):
        assert Downtimes.restored(state) == Downtimes()


class TestJoining:
    def test_a_stream_that_keeps_up_recovers_when_the_newcomer_has_joined(self) -> None:
        found = joining_recovery_s(
            joining_s=15.0, present_capacity=150.0, capacity=200.0, forecast=[100.0] * 900, downtime_s=0.0
        )
        assert found == 15.0

    def test_what_piles_up_while_it_joins_and_in_its_slow_batch_is_worked_off_by_all_of_them(self) -> None:
        # 15 s at 50/s too many, then 4 s without work at 150/s: 750 + 600 wait, with 150/s to spare.
        found = joining_recovery_s(
            joining_s=15.0, present_capacity=100.0, capacity=300.0, forecast=[150.0] * 900, downtime_s=4.0
        )
        assert found == pytest.approx(15.0 + 4.0 + 1350 / 150)

    def test_capacity_to_spare_before_does_not_count_for_later(self) -> None:
        forecast = [50.0] * 10 + [150.0] * 890
        found = joining_recovery_s(
            joining_s=20.0, present_capacity=100.0, capacity=200.0, forecast=forecast, downtime_s=0.0
        )
        assert found == pytest.approx(20.0 + 500 / 50)

    def test_a_size_that_carries_less_than_what_comes_never_recovers(self) -> None:
        found = joining_recovery_s(
            joining_s=5.0, present_capacity=100.0, capacity=120.0, forecast=[150.0] * 60, downtime_s=1.0
        )
        assert math.isinf(found)

    def test_a_join_that_takes_longer_than_the_forecast_goes_on_with_its_last_value(self) -> None:
        found = joining_recovery_s(
            joining_s=100.0, present_capacity=100.0, capacity=200.0, forecast=[150.0] * 10, downtime_s=0.0
        )
        assert found == pytest.approx(100.0 + 5000 / 50)
