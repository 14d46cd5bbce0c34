"""Kafka's own assignors: every partition once, evenly by number, and the sticky one moves as few as that allows."""

from __future__ import annotations

from collections import Counter

import pytest
from hypothesis import given
from hypothesis import strategies as st

from headgate.packing import moved
from headgate.packing.assignors import ASSIGNORS, cooperative_sticky_assignor

MEMBERS = st.lists(st.integers(1, 20), min_size=1, max_size=8, unique=True)


@pytest.mark.parametrize("name", ASSIGNORS)
@given(count=st.integers(0, 40), members=MEMBERS, owners=st.lists(st.integers(1, 20), min_size=40, max_size=40))
def test_every_partition_has_one_member_and_members_have_as_many_as_each_other(
    name: str, count: int, members: list[int], owners: list[int]
) -> None:
    partitions = [f"a-{number}" for number in range(count)]
    current = dict(zip(partitions, owners, strict=False))
    found = ASSIGNORS[name](partitions, members, current)
    assert list(found) == partitions
    counts = Counter(dict.fromkeys(members, 0) | Counter(found.values()))
    assert set(counts) == set(members)
    assert max(counts.values()) - min(counts.values()) <= 1


def test_the_sticky_one_moves_what_it_must() -> None:
    partitions = [f"a-{number}" for number in range(12)]
    one = cooperative_sticky_assignor(partitions, [1], {})
    two = cooperative_sticky_assignor(partitions, [1, 2], one)
    three = cooperative_sticky_assignor(partitions, [1, 2, 3], two)
    back = cooperative_sticky_assignor(partitions, [1, 2], three)
    assert [len(moved(*pair)) for pair in ((one, two), (two, three), (three, back))] == [6, 4, 4]
    assert cooperative_sticky_assignor(partitions, [1, 2, 3], three) == three
