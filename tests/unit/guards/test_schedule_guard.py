from datetime import UTC, datetime, timedelta, timezone

import pytest

from headgate.core.allocation import Allocation
from headgate.core.decision import Ruling
from headgate.errors import UserMistake
from headgate.grammar import build, parse_spec
from headgate.guards import GUARDS, Schedule
from headgate.guards.hours import parse_hours, parse_timezone
from headgate.testing import evaluation, knowledge, tick

MONDAY = datetime(2026, 11, 16, tzinfo=UTC)


def at(guard: Schedule, moment: datetime, wanted: int, current: int = 5) -> Ruling:
    ruling = Ruling(allocation=Allocation(executors=wanted))
    return guard.review(ruling, evaluation(time_s=moment.timestamp()), knowledge(executors=current))


@pytest.mark.parametrize(
    ("hour", "minute", "size"), [(7, 59, 1), (8, 0, 4), (17, 59, 4), (18, 0, 2), (19, 59, 2), (20, 0, 1)]
)
def test_least_sizes_hold_at_their_hours(hour: int, minute: int, size: int) -> None:
    guard = parse_spec("schedule:min=08:00-18:00=4;18:00-20:00=2", GUARDS, kind="guard")
    ruling = at(guard, MONDAY.replace(hour=hour, minute=minute), wanted=1)  # type: ignore[arg-type]
    assert ruling.allocation.executors == size


def test_the_same_text_works_in_a_table_of_an_app_file() -> None:
    made = build(Schedule, {"min": "08:00-18:00=4", "timezone": "Europe/Berlin"}, kind="guard", name="schedule")
    assert at(made, MONDAY.replace(hour=7, minute=30), wanted=1).allocation.executors == 4  # 08:30 in Berlin


def test_the_largest_of_overlapping_least_sizes_counts() -> None:
    guard = Schedule(min="00:00-24:00=2;mon 12:00-13:00=6")
    assert at(guard, MONDAY.replace(hour=12), wanted=1).allocation.executors == 6
    assert at(guard, MONDAY + timedelta(days=1, hours=12), wanted=1).allocation.executors == 2


def test_a_blackout_holds_one_direction_only() -> None:
    guard = Schedule(no_up="08:00-09:00", no_down="22:00-06:00")
    morning, night, noon = (MONDAY.replace(hour=hour) for hour in (8, 23, 12))
    assert at(guard, morning, wanted=9).allocation.executors == 5
    assert at(guard, morning, wanted=2).allocation.executors == 2
    assert at(guard, night, wanted=9).allocation.executors == 9
    assert at(guard, night, wanted=2).allocation.executors == 5
    assert at(guard, noon, wanted=9).reasons == ()


def test_a_held_wish_is_told_with_the_hours_that_hold_it() -> None:
    reason = at(Schedule(no_down="mon-fri 22:00-06:00"), MONDAY.replace(hour=23), wanted=2).reasons[0]
    assert (reason.code, reason.inputs["local_time"]) == ("blackout-down", "mon 23:00")
    assert reason.message == ("2 executors are wanted, but mon-fri 22:00-06:00 is without scaling down: 5 stay")


def test_a_least_size_wins_over_a_blackout() -> None:
    guard = Schedule(no_up="00:00-24:00", min="00:00-24:00=8")
    ruling = at(guard, MONDAY, wanted=9)
    assert ruling.allocation.executors == 8
    assert [reason.code for reason in ruling.reasons] == ["blackout-up", "scheduled-minimum"]


def test_a_window_past_midnight_belongs_to_the_day_it_begins_on() -> None:
    guard = Schedule(no_up="fri 22:00-06:00")
    friday, saturday = MONDAY + timedelta(days=4), MONDAY + timedelta(days=5)
    assert at(guard, friday.replace(hour=5), wanted=9).allocation.executors == 9
    assert at(guard, friday.replace(hour=22), wanted=9).allocation.executors == 5
    assert at(guard, saturday.replace(hour=5, minute=59), wanted=9).allocation.executors == 5
    assert at(guard, saturday.replace(hour=6), wanted=9).allocation.executors == 9


def test_sunday_runs_over_into_monday() -> None:
    guard = Schedule(no_up="sun 22:00-06:00")
    assert at(guard, MONDAY.replace(hour=3), wanted=9).allocation.executors == 5


def test_summer_time_moves_the_hours() -> None:
    guard = Schedule(min="08:00-18:00=4", timezone="Europe/Berlin")
    summer, winter = datetime(2026, 7, 1, 6, 30, tzinfo=UTC), datetime(2026, 12, 1, 6, 30, tzinfo=UTC)
    assert at(guard, summer, wanted=1).allocation.executors == 4
    assert at(guard, winter, wanted=1).allocation.executors == 1


def test_without_an_evaluation_the_last_ticks_tell_the_time() -> None:
    guard, held = Schedule(min="08:00-18:00=4"), Ruling(allocation=Allocation(executors=1))
    eight = MONDAY.replace(hour=8).timestamp()
    history = [tick(time_s=eight - 120, current=1), tick(time_s=eight - 60, current=1)]
    assert guard.review(held, None, knowledge(executors=1, history=history)).allocation.executors == 4
    assert guard.review(held, None, knowledge(executors=1, history=history[:1])).allocation.executors == 1
    assert guard.looks_back_s > 0
    assert Schedule().looks_back_s == 0


def test_a_time_that_no_calendar_has_changes_nothing() -> None:
    ruling = Ruling(allocation=Allocation(executors=1))
    assert Schedule(min="00:00-24:00=4").review(ruling, evaluation(time_s=1e18), knowledge()) == ruling


def test_days_are_read_as_ranges_and_lists() -> None:
    def days(text: str) -> set[int]:
        return set(parse_hours(f"{text} 08:00-09:00", where="no_up", sized=False)[0].days)

    assert days("mon-fri") == {0, 1, 2, 3, 4}
    assert days("sat+sun") == {5, 6}
    assert days("fri-mon") == {4, 5, 6, 0}
    assert days("MON+wed-thu") == {0, 2, 3}


def test_zones_are_read_by_name_or_distance() -> None:
    assert parse_timezone("utc", where="timezone") is UTC
    assert parse_timezone("-0330", where="timezone") == timezone(-timedelta(hours=3, minutes=30))


@pytest.mark.parametrize(
    ("options", "sentence"),
    [
        ({"min": "08:00-18:00"}, r"min: '08:00-18:00' is not understood; write it as mon-fri 08:00-18:00=4"),
        ({"no_up": "08:00-18:00=4"}, r"no_up: '08:00-18:00=4' is not understood"),
        ({"no_up": "8-18"}, "is not understood"),
        ({"no_up": "08:00-18:60"}, "a time that no day has"),
        ({"no_up": "08:00-25:00"}, "a time that no day has"),
        ({"no_up": "08:00-08:00"}, "is empty"),
        ({"no_up": "24:00-08:00"}, "is empty"),
        ({"no_down": "moon 08:00-09:00"}, "names a day that is unknown"),
        ({"no_down": "mon-moon 08:00-09:00"}, "names a day that is unknown"),
        ({"timezone": "Mars/Olympus"}, "is not a time zone"),
        ({"timezone": "../etc/passwd"}, "is not a time zone"),
        ({"timezone": "Europe"}, "is not a time zone"),
        ({"timezone": "+99:00"}, "further from UTC"),
    ],
)
def test_schedules_that_make_no_sense_are_refused_in_a_sentence(options: dict[str, str], sentence: str) -> None:
    with pytest.raises(UserMistake, match=sentence):
        Schedule(**options)
