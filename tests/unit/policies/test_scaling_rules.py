import pytest

from headgate.errors import UserMistake
from headgate.policies.scaling_rules import ScalingRule, SizeChange, lower_limit, parse_rules, upper_limit

DEFAULT_UP = "4/15s+100%/15s"


def up(current: int, *changes: SizeChange, text: str = DEFAULT_UP, select: str = "max", now_s: float = 100.0) -> int:
    return upper_limit(current, changes=changes, now_s=now_s, rules=parse_rules(text, where="up_rules"), select=select)


def down(current: int, *changes: SizeChange, text: str = "100%/15s", select: str = "max", now_s: float = 100.0) -> int:
    return lower_limit(
        current, changes=changes, now_s=now_s, rules=parse_rules(text, where="down_rules"), select=select
    )


def test_rules_are_read_as_amount_per_period() -> None:
    assert parse_rules("4/15s + 100%/1m", where="up_rules") == (
        ScalingRule(amount=4, percent=False, period_s=15),
        ScalingRule(amount=100, percent=True, period_s=60),
    )


@pytest.mark.parametrize(("current", "limit"), [(0, 4), (1, 5), (3, 7), (4, 8), (5, 10), (10, 20)])
def test_kubernetes_defaults_allow_four_more_or_twice_as_many(current: int, limit: int) -> None:
    assert up(current) == limit


def test_the_least_generous_rule_counts_when_asked() -> None:
    assert up(10, text="4/15s+100%/15s", select="min") == 14


def test_what_was_added_within_the_period_counts_against_the_rule() -> None:
    added = SizeChange(time_s=90, executors=3)
    assert up(8, added, text="4/15s") == 9  # five at the start of the period, four more allowed
    assert up(8, added, text="4/10s") == 12  # exactly a period ago is over


def test_what_was_removed_within_the_period_counts_for_the_rule() -> None:
    assert up(8, SizeChange(time_s=95, executors=-2), text="4/15s") == 14


def test_a_used_up_rule_never_shrinks_the_size() -> None:
    assert up(12, SizeChange(time_s=95, executors=9), text="4/15s") == 12
    assert down(3, SizeChange(time_s=95, executors=-9), text="2/15s") == 3


def test_percentages_are_rounded_towards_a_larger_step_for_growth_and_down_for_shrinking() -> None:
    assert up(5, text="10%/1m") == 6  # 5.5 up
    assert up(10, text="10%/1m") == 11  # 11.000000000000002 is 11
    assert down(5, text="10%/1m") == 4  # 4.5 cut off
    assert down(10, text="100%/15s") == 0


def test_two_fewer_a_minute_means_two_fewer_a_minute() -> None:
    assert down(10, text="2/1m") == 8
    assert down(9, SizeChange(time_s=60, executors=-1), text="2/1m") == 8
    assert down(10, text="2/1m+50%/1m") == 5
    assert down(10, text="2/1m+50%/1m", select="min") == 8


def test_a_disabled_direction_stays_where_it_is() -> None:
    assert up(5, select="disabled") == 5
    assert down(5, select="disabled") == 5


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        ("", "is not a scaling rule"),
        ("four/15s", "is not a scaling rule"),
        ("4", "is not a scaling rule"),
        ("1.2.3/15s", "is not a number"),
        ("0/15s", "allows nothing"),
        ("1.5/15s", "is not a whole number of executors"),
        ("4/15x", "is not a duration"),
        ("4/0s", "out of range"),
        ("4/2h", "out of range"),
    ],
)
def test_rules_that_make_no_sense_are_refused_in_a_sentence(text: str, sentence: str) -> None:
    with pytest.raises(UserMistake, match=sentence):
        parse_rules(text, where="policy 'hpa': up_rules")
