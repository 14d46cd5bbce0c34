"""Each algorithm on examples worked out by hand, and what all of them promise."""

from __future__ import annotations

import math

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from headgate.errors import UserMistake
from headgate.packing import ALGORITHMS, bins, moved, pack, rscore

SPEEDS = {"a": 4.0, "b": 8.0, "c": 1.0, "d": 4.0, "e": 2.0, "f": 1.0}
"""The example of textbooks: consumers that take 10."""


@pytest.mark.parametrize(
    ("algorithm", "expected"),
    [
        # a alone, because b does not fit behind it; b and c; d, e and f.
        ("nf", {"a": 1, "b": 2, "c": 2, "d": 3, "e": 3, "f": 3}),
        # c goes back to the first, with room for it: 4 + 1 + 4; e behind b; f is the first one's tenth.
        ("ff", {"a": 1, "b": 2, "c": 1, "d": 1, "e": 2, "f": 1}),
        # c to the emptier first, and d as well: 4 + 1 + 4; then the second has more room, for e; f again to the first.
        ("wf", {"a": 1, "b": 2, "c": 1, "d": 1, "e": 2, "f": 1}),
        # c to the fuller second; d to the first, 8 of 10, e fills it; f fills the second.
        ("bf", {"a": 1, "b": 2, "c": 2, "d": 1, "e": 1, "f": 2}),
        # 8; 4 4 2; 1 1.
        ("nfd", {"b": 1, "a": 2, "d": 2, "e": 2, "c": 3, "f": 3}),
        # 8 2; 4 4 1 1.
        ("ffd", {"b": 1, "a": 2, "d": 2, "e": 1, "c": 2, "f": 2}),
        # 8; 4 4; e finds both with 2 left and takes the first; 1 1 behind the fours.
        ("wfd", {"b": 1, "a": 2, "d": 2, "e": 1, "c": 2, "f": 2}),
        ("bfd", {"b": 1, "a": 2, "d": 2, "e": 1, "c": 2, "f": 2}),
    ],
)
def test_any_fit(algorithm: str, expected: dict[str, int]) -> None:
    assert pack(SPEEDS, {}, capacity=10.0, algorithm=algorithm) == expected


def test_a_new_bin_is_that_of_the_partitions_consumer_or_the_lowest_that_is_unused() -> None:
    """b opens its own 2; a and c want 7, which a gets; d has none, and 1 is free."""
    speeds = {"b": 9.0, "a": 8.0, "c": 7.0, "d": 6.0}
    packed = pack(speeds, {"b": 2, "a": 7, "c": 7}, capacity=10.0, algorithm="ff")
    assert packed == {"b": 2, "a": 7, "c": 1, "d": 3}


CURRENT = {"a": 1, "b": 1, "c": 2, "d": 2, "e": 3, "f": 3}
"""Consumer 1 has 12 of 10, 2 has 5, 3 has 3."""


@pytest.mark.parametrize(
    ("algorithm", "expected"),
    [
        # By all: 1 (12), 2 (5), 3 (3). 1 keeps b, a is left over. c fits behind b (9); d does not, and opens 2.
        # Worst fit: f to 2 (5), e to 2 (7). a: does not fit anywhere (2 has 7), so it opens 3.
        ("mwf", {"b": 1, "c": 1, "d": 2, "f": 2, "e": 2, "a": 3}),
        # Best fit: f fills 1 (10); e to 2 (6); a fills 2 (10).
        ("mbf", {"b": 1, "c": 1, "d": 2, "f": 1, "e": 2, "a": 2}),
        # By the fastest: 1 (8), 2 (4), 3 (2): the same order here.
        ("mwfp", {"b": 1, "c": 1, "d": 2, "f": 2, "e": 2, "a": 3}),
        ("mbfp", {"b": 1, "c": 1, "d": 2, "f": 1, "e": 2, "a": 2}),
    ],
)
def test_modified(algorithm: str, expected: dict[str, int]) -> None:
    assert pack(SPEEDS, CURRENT, capacity=10.0, algorithm=algorithm) == expected


def test_consumers_are_sorted_by_all_that_they_have_or_by_the_fastest() -> None:
    """1 has 3 + 3 + 3, 2 has one of 6: by all 1 comes first and keeps its partitions, by the fastest 2 does."""
    speeds, current = {"x": 3.0, "y": 3.0, "z": 3.0, "w": 6.0}, {"x": 1, "y": 1, "z": 1, "w": 2}
    assert pack(speeds, current, capacity=10.0, algorithm="mbf") == {"x": 1, "y": 1, "z": 1, "w": 2}
    assert pack(speeds, current, capacity=10.0, algorithm="mbfp") == {"w": 2, "z": 2, "x": 1, "y": 1}


def test_a_consumer_whose_partitions_find_room_elsewhere_is_not_needed_any_more() -> None:
    packed = pack({"a": 5.0, "b": 4.0}, {"a": 1, "b": 2}, capacity=10.0, algorithm="mwf")
    assert packed == {"a": 1, "b": 1}
    assert (bins(packed), moved({"a": 1, "b": 2}, packed)) == (1, ["b"])


@pytest.mark.parametrize("algorithm", ALGORITHMS)
def test_a_partition_that_is_too_fast_gets_a_consumer_of_its_own(algorithm: str) -> None:
    speeds = {"calm": 3.0, "flood": 25.0, "slow": 2.0}
    for current in ({}, {"flood": 1, "calm": 1, "slow": 2}):
        packed = pack(speeds, current, capacity=10.0, algorithm=algorithm)
        assert [name for name, consumer in packed.items() if consumer == packed["flood"]] == ["flood"]


@pytest.mark.parametrize("algorithm", ALGORITHMS)
def test_partitions_without_traffic_share_one_consumer(algorithm: str) -> None:
    assert bins(pack(dict.fromkeys("abcd", 0.0), {}, capacity=10.0, algorithm=algorithm)) == 1
    assert pack({}, {}, capacity=10.0, algorithm=algorithm) == {}


def test_consumers_may_differ() -> None:
    packed = pack({"a": 6.0, "b": 6.0, "c": 6.0}, {}, capacity=10.0, algorithm="ff", capacities={1: 20.0})
    assert packed == {"a": 1, "b": 1, "c": 1}


@pytest.mark.parametrize(
    ("speeds", "capacity", "algorithm", "words"),
    [
        ({"a": 1.0}, 0.0, "ff", "capacity of 0 carries nothing"),
        ({"a": -1.0}, 1.0, "ff", "negative or no number"),
        ({"a": math.nan}, 1.0, "ff", "negative or no number"),
        ({"a": 1.0}, 1.0, "mbpf", "did you mean 'mbf'"),
    ],
)
def test_what_cannot_be_packed_is_said(speeds: dict[str, float], capacity: float, algorithm: str, words: str) -> None:
    with pytest.raises(UserMistake, match=words):
        pack(speeds, {}, capacity=capacity, algorithm=algorithm)


sizes = st.integers(0, 120).map(float) | st.floats(0, 120)
streams = st.dictionaries(st.text("abcdefgh", min_size=1, max_size=3), sizes, max_size=40)


@pytest.mark.parametrize("algorithm", ALGORITHMS)
@given(speeds=streams, later=streams)
@settings(max_examples=60)
def test_every_packing_is_one(algorithm: str, speeds: dict[str, float], later: dict[str, float]) -> None:
    current: dict[str, int] = {}
    for seen in (speeds, later | {name: speeds[name] for name in list(speeds)[::2]}):
        packed = pack(seen, current, capacity=100.0, algorithm=algorithm)
        assert packed == pack(seen, current, capacity=100.0, algorithm=algorithm)
        assert packed.keys() == seen.keys(), "every partition exactly once"
        contents: dict[int, list[float]] = {}
        for partition, consumer in packed.items():
            contents.setdefault(consumer, []).append(seen[partition])
        for items in contents.values():
            assert sum(items) <= 100.0 * (1 + 1e-6) or len([size for size in items if size > 0]) == 1
        # A number beyond those in use before is only taken when all below it are.
        new = set(contents) - set(current.values())
        lowest = [number for number in range(1, len(contents) + 1) if number not in contents]
        assert all(number < missing for number in new for missing in lowest[:1])
        assert 0 <= rscore(current, packed, seen, capacity=100.0) <= sum(seen.values()) / 100 + 1e-9
        current = packed


@pytest.mark.parametrize("algorithm", ["nf", "ff", "wf", "bf", "nfd", "ffd", "wfd", "bfd"])
@given(items=st.lists(st.integers(1, 100), min_size=1, max_size=60))
@settings(max_examples=60)
def test_there_are_at_most_twice_as_many_bins_as_the_sizes_add_up_to(algorithm: str, items: list[int]) -> None:
    """Two bins next to each other are always fuller than one; and nothing is below what the sizes need."""
    speeds = {str(number): float(size) for number, size in enumerate(items)}
    least = max(math.ceil(sum(items) / 100), sum(size > 50 for size in items))
    used = bins(pack(speeds, {}, capacity=100.0, algorithm=algorithm))
    assert least <= used <= 2 * math.ceil(sum(items) / 100) + 1
