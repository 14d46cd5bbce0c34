"""Pacing in virtual time: on schedule, and back on it after a delay without a bunch."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from headgate.kafka.pacing import HURRY, STEP_S, Pacer, Share
from headgate.workloads import count_at

START_S = 1_800_000_000.0


def steps(seconds: float, *, hold_up: tuple[float, float] = (0.0, 0.0)) -> list[float]:
    """Moments after the start at which a sender looks at the clock; it was held up from … to …"""
    moments = np.arange(-0.1, seconds, STEP_S)
    return [float(moment) for moment in moments if not hold_up[0] < moment < hold_up[1]]


def test_a_sender_that_is_on_time_sends_exactly_what_has_arrived() -> None:
    curve = np.array([0, 1000, 1000, 4000, 4001])
    pacer = Pacer(curve, START_S)
    for moment in steps(6.0):
        # A record that is due at this very moment may be a rounding error early or late.
        assert abs(pacer.due(START_S + moment) - count_at(curve, moment)) <= 1
        assert pacer.late_s(START_S + moment) < 1e-6


def test_after_a_delay_it_catches_up_at_a_bounded_rate() -> None:
    curve = np.arange(0, 100_001, 1000)
    pacer = Pacer(curve, START_S)
    moments = steps(60.0, hold_up=(10.0, 15.0))
    due = {moment: pacer.due(START_S + moment) for moment in moments}
    for (before, sent), (after, more) in itertools.pairwise(due.items()):
        # Nothing more than half as much again as was asked, also right after the pause.
        assert more - sent <= HURRY * 1000 * min(after - before, 0.1) + 1.01
    late = [moment for moment in moments if moment > 15.0 and due[moment] < count_at(curve, moment) - 1]
    # Five seconds late, won back at half a second per second.
    assert max(late) == pytest.approx(25.0, abs=0.3)


def test_the_lateness_grows_while_held_up_and_is_nothing_at_the_end() -> None:
    pacer = Pacer(np.arange(0, 10_001, 1000), START_S)
    for moment in steps(2.0):
        pacer.due(START_S + moment)
    assert pacer.late_s(START_S + 5.0) == pytest.approx(3.0, abs=0.01)
    assert pacer.late_s(START_S + 50.0) == pytest.approx(48.0, abs=0.01)
    for moment in steps(60.0):
        if moment > 2.0:
            pacer.due(START_S + moment)
    assert pacer.late_s(START_S + 60.0) == 0.0


def test_a_pause_of_the_load_is_kept_after_a_delay_too() -> None:
    """What is late is sent at the rate of its own time, not of the time at which it is sent."""
    curve = np.array([0, 100, 200, 200, 200, 200, 200, 300])
    pacer = Pacer(curve, START_S)
    due = [pacer.due(START_S + moment) for moment in steps(9.0, hold_up=(1.0, 4.0))]
    assert due[-1] == 300
    assert max(np.diff(due)) <= 100 * HURRY * 0.1 + 1


def test_a_clock_set_back_takes_nothing_back() -> None:
    pacer = Pacer(np.array([0, 1000, 2000]), START_S)
    for moment in steps(1.0):
        pacer.due(START_S + moment)
    reached = pacer.due(START_S + 1.0)
    assert pacer.due(START_S + 0.2) == reached


@given(first=st.integers(0, 5000), length=st.integers(0, 5000), of=st.integers(1, 7))
def test_the_shares_of_several_processes_are_everything_once(first: int, length: int, of: int) -> None:
    end = first + length
    parts = [Share(index, of) for index in range(of)]
    numbers = [number for part in parts for span in part.ranges(first, end) for number in range(*span)]
    assert sorted(numbers) == list(range(first, end))
    assert sum(part.count(end) for part in parts) == end
    for part in parts:
        assert sum(after - before for before, after in part.ranges(0, end)) == part.count(end)
