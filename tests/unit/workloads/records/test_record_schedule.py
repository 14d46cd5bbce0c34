"""Arrival times agree with the counts that the schedule has at any moment."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from headgate.workloads import count_at
from headgate.workloads.records import arrival_times_us, event_times_ms

CURVES = st.lists(st.integers(0, 50), min_size=1, max_size=20).map(lambda steps: np.cumsum([0, *steps]))


@given(curve=CURVES)
def test_a_record_has_arrived_at_its_time_and_not_before(curve: np.ndarray) -> None:
    numbers = np.arange(curve[-1])
    times_us = arrival_times_us(curve, numbers)
    assert np.all(np.diff(times_us) >= 0)
    for number, time_us in zip(numbers.tolist(), times_us.tolist(), strict=True):
        assert count_at(curve, (time_us + 2) / 1e6) > number
        assert count_at(curve, (time_us - 2) / 1e6) <= number


@given(curve=CURVES, cut=st.integers(0, 19), start_s=st.floats(1e9, 2e9))
def test_a_piece_of_the_curve_gives_the_same_times(curve: np.ndarray, cut: int, start_s: float) -> None:
    second = min(cut, len(curve) - 1)
    numbers = np.arange(curve[second], curve[-1])
    whole = arrival_times_us(curve, numbers)
    assert np.array_equal(whole, second * 1_000_000 + arrival_times_us(curve[second:], numbers))
    assert np.array_equal(event_times_ms(curve, start_s, numbers), (round(start_s * 1e6) + whole) // 1000)
