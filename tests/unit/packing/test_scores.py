"""What moves cost, and how packings compare."""

from __future__ import annotations

import pytest

from headgate.packing import cardinal_bin_scores, moved, pareto_front, rscore


def test_a_partition_that_had_no_consumer_is_not_moved() -> None:
    before, after = {"a": 1, "b": 1}, {"a": 1, "b": 2, "new": 2}
    assert moved(before, after) == ["b"]
    assert rscore(before, after, {"a": 9.0, "b": 3.0, "new": 7.0}, capacity=6.0) == 0.5


def test_cbs_by_hand() -> None:
    """Fewest are 4 and 5: (0 + 1/5) ÷ 2, and (1/4 + 0) ÷ 2."""
    assert cardinal_bin_scores({"a": [4, 6], "b": [5, 5]}) == {"a": pytest.approx(0.1), "b": pytest.approx(0.125)}


def test_the_front_has_whoever_is_not_beaten_in_both() -> None:
    points = {"cheap": (0.1, 9.0), "calm": (0.2, 9.2), "small": (0.0, 20.0), "same": (0.1, 9.0)}
    assert pareto_front(points) == ("small", "cheap", "same")
