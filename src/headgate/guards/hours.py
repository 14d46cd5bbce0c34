"""Times of the week as people write them: ``mon-fri 08:00-18:00``.

Several windows are joined by ``;``. Days are optional (every day), as ranges ``mon-fri`` or lists
``sat+sun``. A window may pass midnight (``22:00-06:00``) and then belongs to the day it begins on;
``00:00-24:00`` is the whole day. A window that carries a size ends in ``=4``.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta, timezone, tzinfo
from functools import lru_cache
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

from headgate.errors import UserMistake

DAYS = ("mon", "tue", "wed", "thu", "fri", "sat", "sun")
_WHOLE_DAY_MIN = 24 * 60
_WINDOW = re.compile(r"(?:([a-z+-]+)\s+)?(\d{1,2}):(\d{2})\s*-\s*(\d{1,2}):(\d{2})(?:\s*=\s*(\d{1,6}))?", re.IGNORECASE)
_OFFSET = re.compile(r"([+-])(\d{2}):?(\d{2})")


@dataclass(frozen=True, slots=True, kw_only=True)
class Hours:
    """A window that comes back every week."""

    days: frozenset[int]
    begin_min: int
    end_min: int
    """Minutes after the midnight at which its first day begins; over 1440 when it passes midnight."""
    size: int | None
    text: str

    def contains(self, moment: datetime) -> bool:
        minute = moment.hour * 60 + moment.minute
        today, yesterday = moment.weekday(), (moment.weekday() - 1) % 7
        return (today in self.days and self.begin_min <= minute < self.end_min) or (
            yesterday in self.days and self.begin_min <= minute + _WHOLE_DAY_MIN < self.end_min
        )


@lru_cache(maxsize=64)
def parse_hours(text: str, *, where: str, sized: bool) -> tuple[Hours, ...]:
    """The windows of a text; ``sized`` ones must carry a number of executors, others must not.

    >>> [hours.size for hours in parse_hours("08:00-18:00=4;sat+sun 00:00-24:00=2", where="min", sized=True)]
    [4, 2]
    """
    return tuple(_window(piece.strip(), where=where, sized=sized) for piece in text.split(";") if piece.strip())


def _window(piece: str, *, where: str, sized: bool) -> Hours:
    example = "mon-fri 08:00-18:00=4" if sized else "mon-fri 22:00-06:00"
    match = _WINDOW.fullmatch(piece)
    if match is None or (match.group(6) is None) == sized:
        raise UserMistake(f"{where}: '{piece}' is not understood; write it as {example}, several joined by ;")
    begin_min = _minute(match.group(2), match.group(3), piece, where)
    end_min = _minute(match.group(4), match.group(5), piece, where)
    if begin_min in (end_min, _WHOLE_DAY_MIN):
        raise UserMistake(f"{where}: '{piece}' is empty; write 00:00-24:00 for the whole day")
    return Hours(
        days=_days(match.group(1), piece, where),
        begin_min=begin_min,
        end_min=end_min if end_min > begin_min else end_min + _WHOLE_DAY_MIN,
        size=None if match.group(6) is None else int(match.group(6)),
        text=piece,
    )


def _minute(hours: str, minutes: str, piece: str, where: str) -> int:
    minute = int(hours) * 60 + int(minutes)
    if int(minutes) > 59 or minute > _WHOLE_DAY_MIN:
        raise UserMistake(f"{where}: '{piece}' has a time that no day has; give 00:00 to 24:00")
    return minute


def _days(text: str | None, piece: str, where: str) -> frozenset[int]:
    if text is None:
        return frozenset(range(7))
    days: set[int] = set()
    for part in text.lower().split("+"):
        first, dash, last = part.partition("-")
        if first not in DAYS or (dash and last not in DAYS):
            raise UserMistake(f"{where}: '{piece}' names a day that is unknown; use {', '.join(DAYS)}")
        begin = DAYS.index(first)
        length = (DAYS.index(last) - begin) % 7 if dash else 0
        days.update((begin + step) % 7 for step in range(length + 1))
    return frozenset(days)


@lru_cache(maxsize=64)
def parse_timezone(text: str, *, where: str) -> tzinfo:
    """A zone by name (``Europe/Berlin``) or by its distance to UTC (``+02:00``)."""
    match = _OFFSET.fullmatch(text.strip())
    if match is not None:
        distance = timedelta(hours=int(match.group(2)), minutes=int(match.group(3)))
        if distance >= timedelta(days=1):
            raise UserMistake(f"{where}={text} is further from UTC than any zone; give up to ±23:59")
        return timezone(distance if match.group(1) == "+" else -distance)
    if text.strip().upper() == "UTC":
        return UTC  # needs no time zone database, unlike every other name
    try:
        return ZoneInfo(text.strip())
    except (ZoneInfoNotFoundError, ValueError, OSError):
        raise UserMistake(
            f"{where}={text} is not a time zone that this system knows; write it as Europe/Berlin, UTC or +02:00"
        ) from None


def clock_face(moment: datetime) -> str:
    """Day and time for people, the same in every locale."""
    return f"{DAYS[moment.weekday()]} {moment:%H:%M}"


def local_time(time_s: float, zone: tzinfo) -> datetime | None:
    """The wall clock's time there, or ``None`` for a moment that no calendar has."""
    try:
        return datetime.fromtimestamp(time_s, zone)
    except (OverflowError, OSError, ValueError):
        return None
