"""How big an app is, or should be."""

import pytest

from headgate.core.allocation import Allocation, Bounds
from headgate.errors import UserMistake


def test_bounds_clamp_and_contain() -> None:
    assert [Bounds(2, 5).clamp(n) for n in (0, 3, 9)] == [2, 3, 5]
    assert 5 in Bounds(2, 5)
    assert 6 not in Bounds(2, 5)


@pytest.mark.parametrize(("least", "most", "words"), [(-1, 3, "negative"), (4, 2, "above"), (0, 0, "at least 1")])
def test_impossible_bounds_are_refused(least: int, most: int, words: str) -> None:
    with pytest.raises(UserMistake, match=words):
        Bounds(least, most)


def test_a_negative_size_is_refused() -> None:
    with pytest.raises(UserMistake, match="-1 executors"):
        Allocation(executors=-1)


def test_every_executor_on_a_named_node_has_one() -> None:
    with pytest.raises(UserMistake, match="name one each"):
        Allocation(executors=3, nodes=("a", "b"))


def test_another_size_keeps_the_other_dimensions() -> None:
    before = Allocation(executors=2, nodes=("a", "b"), parallelism={"map": 4})
    assert before.with_executors(1) == Allocation(executors=1, nodes=("a",), parallelism={"map": 4})
    assert before.with_executors(3) == Allocation(executors=3, parallelism={"map": 4})
    assert before.with_executors(2) is before
