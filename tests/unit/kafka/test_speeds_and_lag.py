"""Write speeds from looks at end offsets, and lag, without a broker."""

from __future__ import annotations

import random
import statistics

import pytest

from headgate.errors import UserMistake
from headgate.kafka.estimators import ESTIMATORS, WindowSpeeds, make_estimator
from headgate.kafka.offsets import Partition, lag
from headgate.kafka.speed import WriteSpeed, total
from headgate.kafka.written import RecordCount

ONE, TWO = Partition("orders", 0), Partition("orders", 1)


def speeds(*looks: tuple[float, dict[Partition, int]], window_s: float = 30.0) -> dict[Partition, float]:
    window, count = WindowSpeeds[Partition](window_s=window_s), RecordCount()
    for time_s, ends in looks:
        window.look(time_s, count.add(ends))
    return window.speeds()


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
        WindowSpeeds(window_s=0.0)


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


def seconds_to_follow(name: str, *, step_s: int = 60, within: float = 0.1) -> int:
    """After a step from 1 to 3, until the estimate stays within a share of it."""
    estimator, written, last_off = make_estimator(name), 0.0, step_s
    for second in range(step_s + 60):
        estimator.look(second, {"a": written})
        written += 1.0 if second < step_s else 3.0
        speed = estimator.speeds().get("a", 0.0)
        if second >= step_s and abs(speed - 3.0) > within * 3.0:
            last_off = second
    return last_off + 1 - step_s


def spread_under_noise(name: str, seed: int) -> float:
    """The published test: 123 bytes after waits of 0.01 to 2 s; how far estimates stray from that speed, as a share."""
    chance, estimator, now_s, written, strayed = random.Random(seed), make_estimator(name), 0.0, 0.0, []
    next_s = 0.0
    while now_s < 400:
        while next_s <= now_s:
            written += 123
            next_s += chance.uniform(0.01, 2.0)
        estimator.look(now_s, {"a": written})
        if now_s > 60:
            strayed.append(estimator.speeds()["a"] / (123 / 1.005) - 1)
        now_s += 1.0
    return statistics.pstdev(strayed)


def test_a_step_is_followed_in_the_length_of_the_window_and_sooner_by_the_others() -> None:
    followed = {name: seconds_to_follow(name) for name in ESTIMATORS}
    # From 1 to 3 a window of 30 s is within a tenth after 26 s: 3 − 2 × 4/30.
    assert followed["window"] == 26
    assert followed["exponential"] < followed["window"]
    assert followed["trend"] <= 0.7 * followed["window"]


def test_noise_is_hardly_seen_by_the_window_and_more_by_the_others() -> None:
    strayed = {name: statistics.mean(spread_under_noise(name, seed) for seed in range(5)) for name in ESTIMATORS}
    assert strayed["window"] < 0.13
    assert strayed["window"] < strayed["exponential"] < 0.3
    assert strayed["window"] < strayed["trend"] < 0.3


def test_a_partition_that_has_vanished_has_no_speed_any_more() -> None:
    for name in ESTIMATORS:
        estimator = make_estimator(name)
        for second in range(40):
            estimator.look(second, {"a": second, "b": second} if second < 35 else {"a": second})
        assert set(estimator.speeds()) == {"a"}, name


def test_an_estimator_that_is_not_there_is_said() -> None:
    with pytest.raises(UserMistake, match="did you mean 'window'"):
        make_estimator("windo")
