"""Durations and counts as people write them.

Everything inside Headgate is in seconds and plain numbers; this is the one place where ``3h`` and
``12k`` are read.
"""

from __future__ import annotations

import math
import re

from headgate.errors import UserMistake

_DURATION_UNITS = {"ms": 0.001, "s": 1.0, "m": 60.0, "min": 60.0, "h": 3600.0, "d": 86400.0, "w": 604800.0}
_COUNT_UNITS = {"": 1.0, "k": 1e3, "M": 1e6, "G": 1e9}
_DURATION = re.compile(r"(\d+(?:\.\d+)?(?:e[+-]?\d+)?)(ms|s|min|m|h|d|w)?")
_COUNT = re.compile(r"([+-]?\d+(?:\.\d+)?(?:e[+-]?\d+)?)([kMG]?)")


def parse_duration_s(text: str, *, where: str = "duration") -> float:
    """Seconds of ``90``, ``90s``, ``1.5h`` or ``1h30m``.

    >>> parse_duration_s("1h30m")
    5400.0
    >>> parse_duration_s("250ms")
    0.25
    """
    compact = text.strip().replace(" ", "")
    pieces = list(_DURATION.finditer(compact))
    if not pieces or "".join(piece.group(0) for piece in pieces) != compact:
        raise UserMistake(f"{where}: '{text}' is not a duration; write seconds or a unit, as in 90, 90s, 15m or 3h")
    if len(pieces) > 1 and any(piece.group(2) is None for piece in pieces):
        raise UserMistake(f"{where}: '{text}' is not a duration; give each part a unit, as in 1h30m")
    total = sum(float(piece.group(1)) * _DURATION_UNITS[piece.group(2) or "s"] for piece in pieces)
    if not math.isfinite(total):
        raise UserMistake(f"{where}: '{text}' is too long a duration; give a finite number of seconds")
    return total


def parse_number(text: str, *, where: str = "number") -> float:
    """A finite number, with ``k``, ``M`` or ``G`` for thousands, millions, billions.

    >>> parse_number("12.5k")
    12500.0
    """
    match = _COUNT.fullmatch(text.strip())
    if match is None:
        raise UserMistake(f"{where}: '{text}' is not a number; write it as 1200, 1.2k or 3M")
    value = float(match.group(1)) * _COUNT_UNITS[match.group(2)]
    if not math.isfinite(value):
        raise UserMistake(f"{where}: '{text}' is not a finite number; give one that is")
    return value


def format_duration(seconds: float) -> str:
    """The shortest readable form of a duration.

    >>> format_duration(5400)
    '1h30m'
    >>> format_duration(0.25)
    '0.25s'
    """
    if seconds < 60 or seconds != int(seconds):
        return f"{seconds:g}s"
    rest = int(seconds)
    parts = []
    for unit, size in (("d", 86400), ("h", 3600), ("m", 60), ("s", 1)):
        amount, rest = divmod(rest, size)
        if amount:
            parts.append(f"{amount}{unit}")
    return "".join(parts)
