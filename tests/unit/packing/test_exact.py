"""The bound, and how near the algorithms come to it."""

from __future__ import annotations

import random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from headgate.packing import bins, pack, rscore
from headgate.packing.exact import best_packing


def test_the_fewest_by_hand() -> None:
    """6 + 4, 5 + 5 and 7 + 3 fill three."""
    speeds = dict(zip("abcdef", (6.0, 5.0, 7.0, 4.0, 5.0, 3.0), strict=True))
    found = best_packing(speeds, {}, capacity=10.0)
    assert (bins(found.assignment), found.objective, found.proven) == (3, 3.0, True)


def test_where_moves_weigh_a_consumer_more_may_be_cheaper() -> None:
    """All fit on one consumer, but two have them already: moving 4 of 10 costs 0.4 of a weight, a consumer 1."""
    speeds, current = {"a": 5.0, "b": 4.0}, {"a": 1, "b": 2}
    stay = best_packing(speeds, current, capacity=10.0, moves_weigh=3.0)
    assert dict(stay.assignment) == current
    assert stay.objective == pytest.approx(2.0)
    move = best_packing(speeds, current, capacity=10.0, moves_weigh=1.0)
    assert dict(move.assignment) == {"a": 1, "b": 1}
    assert move.objective == pytest.approx(1.0 + rscore(current, move.assignment, speeds, capacity=10.0))


def test_a_partition_that_is_too_fast_has_a_consumer_of_its_own() -> None:
    found = best_packing({"flood": 25.0, "a": 5.0, "b": 5.0}, {}, capacity=10.0)
    assert bins(found.assignment) == 2
    assert found.assignment["flood"] not in (found.assignment["a"], found.assignment["b"])
    assert best_packing({}, {}, capacity=10.0).objective == 0


@given(items=st.lists(st.integers(1, 100), min_size=1, max_size=14), shuffled=st.randoms())
@settings(max_examples=25)
def test_the_algorithms_are_within_their_known_bounds_of_it(items: list[int], shuffled: random.Random) -> None:
    """First fit decreasing takes at most 11/9 of the fewest and 6/9 more (Dósa, 2007); first fit 1.7 of them."""
    shuffled.shuffle(items)
    speeds = {str(number): float(size) for number, size in enumerate(items)}
    exact = best_packing(speeds, {}, capacity=100.0)
    assert exact.proven
    fewest = bins(exact.assignment)
    assert fewest == exact.objective
    for algorithm in ("ffd", "bfd"):
        assert fewest <= bins(pack(speeds, {}, capacity=100.0, algorithm=algorithm)) <= 11 / 9 * fewest + 6 / 9 + 1e-9
    for algorithm in ("ff", "bf"):
        assert bins(pack(speeds, {}, capacity=100.0, algorithm=algorithm)) <= 1.7 * fewest + 0.9
