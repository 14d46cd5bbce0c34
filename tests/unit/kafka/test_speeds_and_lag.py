"""Write speeds from looks at end offsets, and lag, without a broker."""

from __future__ import annotations

import pytest

from headgate.errors import UserMistake
from headgate.kafka.offsets import Partition, lag
from headgate.kafka.speed import SpeedWindow, WriteSpeed, total

ONE, TWO = Partition("orders", 0), Partition("orders", 1)


def speeds(*looks: tuple[float, dict[Partition, int]], window_s: float = 30.0) -> dict[Partition, float]:
    window = SpeedWindow(window_s=window_s)
    for time_s, ends in looks:
        window.add(time_s, ends)
    return window.records_per_s()


def test_one_look_tells_no_speed() -> None:
    assert speeds() == {}
    assert speeds((0.0, {ONE: 5})) == {}


def test_each_partition_has_its_speed() -> None:
    assert speeds((0.0, {ONE: 5, TWO: 0}), (10.0, {ONE: 25, TWO: 0})) == {ONE: 2.0, TWO: 0.0}


def test_what_lies_before_the_window_is_forgotten() -> None:
    looks = [(float(time), {ONE: 100 * min(time, 50)}) for time in range(0, 101, 10)]
    assert speeds(*looks) == {ONE: 0.0}
    assert speeds(*looks[:6]) == {ONE: 100.0}


def test_a_topic_made_anew_counts_its_new_records() -> None:
    assert speeds((0.0, {ONE: 1000}), (5.0, {ONE: 1500}), (10.0, {ONE: 100})) == {ONE: 60.0}


def test_a_partition_that_was_added_counts_from_its_first_look() -> None:
    assert speeds((0.0, {ONE: 0}), (5.0, {ONE: 0, TWO: 40}), (10.0, {ONE: 0, TWO: 90})) == {ONE: 0.0, TWO: 10.0}


def test_a_clock_that_stands_still_changes_nothing() -> None:
    assert speeds((0.0, {ONE: 0}), (1.0, {ONE: 10}), (1.0, {ONE: 500})) == {ONE: 10.0}


def test_a_window_must_have_a_length() -> None:
    with pytest.raises(UserMistake, match="positive"):
        SpeedWindow(window_s=0.0)


def test_the_total_is_unknown_where_a_part_is() -> None:
    known, unknown = WriteSpeed(records_per_s=2.0, bytes_per_s=10.0), WriteSpeed(records_per_s=1.0, bytes_per_s=None)
    assert total({ONE: known, TWO: known}) == WriteSpeed(records_per_s=4.0, bytes_per_s=20.0)
    assert total({ONE: known, TWO: unknown}) == WriteSpeed(records_per_s=3.0, bytes_per_s=None)


@pytest.mark.parametrize(
    ("committed", "behind"),
    [(70, 30), (None, 60), (10, 60), (100, 0), (250, 60)],
    ids=["in between", "nothing yet", "taken by retention", "at the end", "of an earlier topic"],
)
def test_lag_is_what_is_left_to_read(committed: int | None, behind: int) -> None:
    assert lag(ends={ONE: 100}, begins={ONE: 40}, committed={ONE: committed}) == {ONE: behind}
