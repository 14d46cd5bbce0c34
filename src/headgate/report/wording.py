"""Figures as people read them, for the page and for the terminal.

Unknown (``None``) is a dash. Numbers keep three significant digits, because nobody acts on the
fourth, and a narrow space between thousands.
"""

from __future__ import annotations

import math
import re
from datetime import UTC, datetime
from itertools import pairwise

UNKNOWN = "–"
THIN = "\u202f"
_NUMBER_AND_UNIT = re.compile(r"(?<=\d) (?=(?:%|ms|s|min|h|d)(?!\w))")
_FIRST_WALL_CLOCK_S = 1_000_000_000.0
"""Times below this are virtual or monotonic: they have no date."""


def number(value: float | None) -> str:
    """A quantity without unit.

    >>> number(0.12345), number(None), number(3.0)
    ('0.123', '–', '3')
    >>> number(1234567).replace(THIN, " "), number(45210).replace(THIN, " ")
    ('1.23 M', '45 210')
    """
    if value is None or not math.isfinite(value):
        return UNKNOWN
    size = abs(value)
    if size >= 999_500_000:
        return f"{value / 1e9:.3g}{THIN}G"
    if size >= 999_500:
        return f"{value / 1e6:.3g}{THIN}M"
    if size >= 999.5:
        return f"{value:,.0f}".replace(",", THIN)
    if size >= 99.95:
        return f"{value:.0f}"
    if size < 0.0005:
        return "0" if size == 0 else f"{value:.1e}"
    return f"{value:.3g}" if size >= 0.1 else f"{value:.2g}"


def mean_count(value: float | None) -> str:
    """A mean of whole things, such as executors.

    >>> mean_count(2.4132), mean_count(4.0)
    ('2.41', '4')
    """
    if value is None:
        return UNKNOWN
    return f"{value:.2f}".rstrip("0").rstrip(".")


def seconds(value: float | None) -> str:
    """A length of time.

    >>> seconds(0.35), seconds(3.14159), seconds(250), seconds(4800), seconds(90000)
    ('350 ms', '3.14 s', '4 min 10 s', '1 h 20 min', '1 d 1 h')
    """
    if value is None or not math.isfinite(value):
        return UNKNOWN
    if value == 0:
        return "0 s"
    if abs(value) < 0.9995:
        return f"{number(value * 1000)} ms"
    if abs(value) < 99.95:
        return f"{value:.3g} s"
    units = (("d", 86400), ("h", 3600), ("min", 60), ("s", 1))
    for (unit, size), (smaller, part) in pairwise(units):
        if value >= size:
            whole, rest = divmod(round(value / part), size // part)
            return f"{whole} {unit} {rest} {smaller}" if rest else f"{whole} {unit}"
    return f"{value:.0f} s"


def share(value: float | None) -> str:
    """A fraction as a percentage.

    >>> share(0.4), share(0.0123), share(1), share(0.0001)
    ('40 %', '1.2 %', '100 %', '<0.1 %')
    """
    if value is None or not math.isfinite(value):
        return UNKNOWN
    percent = value * 100
    if 0 < abs(percent) < 0.05:
        return "<0.1 %"
    return f"{percent:.0f} %" if abs(percent) >= 9.95 or percent == int(percent) else f"{percent:.1f} %"


def tight(text: str) -> str:
    """The same with units that do not part from their numbers at the end of a line.

    >>> tight("within 5 s or 40 %").split(" ")
    ['within', '5\\xa0s', 'or', '40\\xa0%']
    """
    return _NUMBER_AND_UNIT.sub("\u00a0", text)


def counted(amount: float, noun: str, plural: str | None = None) -> str:
    """
    >>> counted(1, "rescaling"), counted(0, "rescaling"), counted(2, "loss", "losses")
    ('1 rescaling', 'no rescalings', '2 losses')
    """
    words = noun if amount == 1 else (plural or f"{noun}s")
    return f"{'no' if amount == 0 else number(amount)} {words}"


def elapsed(offset_s: float) -> str:
    """Time since the start.

    >>> elapsed(75), elapsed(3600), elapsed(90061)
    ('0:01:15', '1:00:00', '25:01:01')
    """
    sign = "-" if offset_s < -0.5 else ""
    whole = round(abs(offset_s))
    return f"{sign}{whole // 3600}:{whole % 3600 // 60:02d}:{whole % 60:02d}"


def is_wall_clock(time_s: float) -> bool:
    return time_s >= _FIRST_WALL_CLOCK_S


def moment(time_s: float) -> str:
    """A date, if the time has one.

    >>> moment(1_700_000_000.0), moment(12.0)
    ('2023-11-14 22:13:20 UTC', 'virtual time')
    """
    if not is_wall_clock(time_s):
        return "virtual time"
    return datetime.fromtimestamp(time_s, UTC).strftime("%Y-%m-%d %H:%M:%S UTC")


def time_of_day(time_s: float, *, started_s: float) -> str:
    """The local time of day where the time has a date, else the time since the start.

    >>> time_of_day(75.0, started_s=0.0)
    '0:01:15'
    """
    if not is_wall_clock(time_s):
        return elapsed(time_s - started_s)
    return datetime.fromtimestamp(time_s, UTC).astimezone().strftime("%H:%M:%S")
