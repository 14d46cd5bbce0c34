"""Running moments against the textbook's formulas over all numbers at once."""

from __future__ import annotations

import json
import math
import statistics

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from headgate.models.moments import Moments, PairMoments

NUMBERS = st.floats(min_value=-1e6, max_value=1e6)


@given(st.lists(NUMBERS, min_size=1, max_size=60))
def test_mean_and_variance_are_those_of_all_numbers(numbers: list[float]) -> None:
    seen = Moments()
    for number in numbers:
        seen.learn(number)
    assert seen.count == len(numbers)
    assert seen.mean == pytest.approx(statistics.fmean(numbers), abs=1e-6)
    assert seen.variance == pytest.approx(statistics.pvariance(numbers), rel=1e-6, abs=1e-3)


def test_large_numbers_with_small_differences_keep_their_variance() -> None:
    seen = Moments()
    for number in (1e9 + 4, 1e9 + 7, 1e9 + 13, 1e9 + 16):
        seen.learn(number)
    assert seen.variance == 22.5


@given(st.lists(st.tuples(st.floats(0, 1), st.floats(0, 1e5)), min_size=3, max_size=60))
def test_the_line_is_that_of_least_squares(points: list[tuple[float, float]]) -> None:
    seen = PairMoments()
    for x, y in points:
        seen.learn(x, y)
    xs, ys = (np.array(column) for column in zip(*points, strict=True))
    if np.ptp(xs) < 1e-3:
        return
    slope, intercept = np.polyfit(xs, ys, 1)
    assert seen.slope == pytest.approx(slope, rel=1e-6, abs=1e-2)
    assert seen.at(0.9) == pytest.approx(intercept + 0.9 * slope, rel=1e-6, abs=1e-2)


def test_a_worked_line() -> None:
    """x: mean 0.4, squares 0.08; y: mean 500; products 80; so slope 1000 and 1100 at 1."""
    seen = PairMoments()
    for x, y in ((0.2, 290.0), (0.4, 520.0), (0.6, 690.0)):
        seen.learn(x, y)
    assert (seen.mean_x, seen.mean_y) == (pytest.approx(0.4), 500.0)
    assert seen.squares_x == pytest.approx(0.08)
    assert seen.products == pytest.approx(80.0)
    assert seen.slope == pytest.approx(1000.0)
    assert seen.at(1.0) == pytest.approx(1100.0)
    # 80 600 of y's squares, of which the line explains 80 000; the rest, 600, is the residuals' -10, 20, -10.
    assert seen.error_at(1.0) == pytest.approx(math.sqrt(600 * (1 / 3 + 0.36 / 0.08)))


@pytest.mark.parametrize("points", [[], [(0.5, 100.0)], [(0.5, 100.0), (0.5, 120.0)]])
def test_no_line_goes_through_points_above_each_other(points: list[tuple[float, float]]) -> None:
    seen = PairMoments()
    for x, y in points:
        seen.learn(x, y)
    assert seen.slope is None
    assert seen.at(1.0) is None
    assert seen.error_at(1.0) is None


def test_what_was_learned_comes_back_from_json() -> None:
    pairs, numbers = PairMoments(), Moments()
    for x, y in ((0.2, 290.0), (0.4, 520.0)):
        pairs.learn(x, y)
        numbers.learn(y)
    assert PairMoments.restored(json.loads(json.dumps(pairs.state))) == pairs
    assert Moments.restored(json.loads(json.dumps(numbers.state))) == numbers


@pytest.mark.parametrize("state", [None, "abcdef", [], [1, 2], [1, "x", 3], [math.nan] * 6, [-1] * 6, {"a": 1}])
def test_what_is_no_state_gives_a_new_one(state: object) -> None:
    assert PairMoments.restored(state) == PairMoments()
    assert Moments.restored(state) == Moments()
