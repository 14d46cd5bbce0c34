"""How fast a size may change: Kubernetes' scaling rules for one direction.

A rule allows a number of executors, or a percentage of the size at the start of its period, to be
added (or removed) within that period. Of several rules the one that allows most, or least, is
selected. Written ``4/15s+100%/15s``.

Source: the ``behavior`` field of autoscaling/v2 and the normalisation with behaviours of the
horizontal controller.
"""

from __future__ import annotations

import math
import re
from dataclasses import dataclass
from enum import StrEnum
from functools import lru_cache
from typing import NamedTuple

from headgate.core.units import parse_duration_s, parse_number
from headgate.errors import UserMistake

LONGEST_PERIOD_S = 1800.0
"""Kubernetes refuses longer ones, and events older than this can be forgotten."""

_RULE = re.compile(r"([0-9.]+)(%?)/(.+)")


class Select(StrEnum):
    """Which of several rules counts."""

    MAX = "max"
    MIN = "min"
    DISABLED = "disabled"


class SizeChange(NamedTuple):
    """Executors added (or, negative, removed) at a moment."""

    time_s: float
    executors: int


@dataclass(frozen=True, slots=True, kw_only=True)
class ScalingRule:
    amount: float
    percent: bool
    period_s: float


@lru_cache(maxsize=64)
def parse_rules(text: str, *, where: str) -> tuple[ScalingRule, ...]:
    """The rules of a text.

    >>> parse_rules("4/15s", where="up_rules")
    (ScalingRule(amount=4.0, percent=False, period_s=15.0),)
    """
    rules = []
    for piece in text.split("+"):
        match = _RULE.fullmatch(piece.strip())
        if match is None:
            raise UserMistake(
                f"{where}: '{piece.strip()}' is not a scaling rule; write executors or percent per period, "
                "as in 4/15s or 100%/1m, several joined by +"
            )
        amount = parse_number(match.group(1), where=where)
        period_s = parse_duration_s(match.group(3), where=where)
        if amount <= 0:
            raise UserMistake(f"{where}: '{piece.strip()}' allows nothing; give an amount above 0, or select=disabled")
        if not match.group(2) and amount != int(amount):
            raise UserMistake(f"{where}: '{piece.strip()}' is not a whole number of executors; give one that is")
        if not 0 < period_s <= LONGEST_PERIOD_S:
            raise UserMistake(f"{where}: the period of '{piece.strip()}' is out of range; give up to 30m")
        rules.append(ScalingRule(amount=amount, percent=bool(match.group(2)), period_s=period_s))
    return tuple(rules)


def upper_limit(
    current: int, *, changes: tuple[SizeChange, ...], now_s: float, rules: tuple[ScalingRule, ...], select: str
) -> int:
    """The largest size that the rules for scaling up allow now; never below the current one."""
    if select == Select.DISABLED:
        return current
    limits = []
    for rule in rules:
        at_start = current - _net_change(changes, now_s=now_s, period_s=rule.period_s)
        grown = math.ceil(_tidy(at_start * (1 + rule.amount / 100))) if rule.percent else at_start + int(rule.amount)
        limits.append(grown)
    return max(current, min(limits) if select == Select.MIN else max(limits))


def lower_limit(
    current: int, *, changes: tuple[SizeChange, ...], now_s: float, rules: tuple[ScalingRule, ...], select: str
) -> int:
    """The smallest size that the rules for scaling down allow now; never above the current one."""
    if select == Select.DISABLED:
        return current
    limits = []
    for rule in rules:
        at_start = current - _net_change(changes, now_s=now_s, period_s=rule.period_s)
        shrunk = int(_tidy(at_start * (1 - rule.amount / 100))) if rule.percent else at_start - int(rule.amount)
        limits.append(shrunk)
    return max(0, min(current, max(limits) if select == Select.MIN else min(limits)))


def _net_change(changes: tuple[SizeChange, ...], *, now_s: float, period_s: float) -> int:
    # A change exactly one period ago is outside: with equal tick and rule periods each tick starts afresh.
    return sum(change.executors for change in changes if change.time_s > now_s - period_s)


def _tidy(value: float) -> float:
    """Without the last bits, so that 10 × (1 + 0.1) is not rounded up to 12."""
    return round(value, 9)
