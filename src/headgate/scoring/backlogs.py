"""Backlogs that were sent at once: they make new executors warm, and tell roughly what they can carry."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

_LEAP = 8.0
_RECORDS_SHARE = 0.4
"""Share of a backlog's time that must be its records', so that its rate says something about them."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Drain:
    """A backlog that was sent at once, and how long it took until all operators had worked it off."""

    records: int
    seconds: float

    @property
    def rate(self) -> float:
        return self.records / self.seconds


def rate_of_more(drains: Sequence[Drain]) -> float | None:
    """The rate at which what a larger backlog had more than a smaller one was worked off.

    What every backlog takes, a chain's many batches one after the other and windows' watermarks, is in both. Of several
    of one size the quickest counts: the others were slower by chance, or because executors were still cold.

    >>> rate_of_more([Drain(records=100, seconds=12.0), Drain(records=1100, seconds=17.0)])
    200.0
    """
    quickest_s: dict[int, float] = {}
    for drain in drains:
        quickest_s[drain.records] = min(drain.seconds, quickest_s.get(drain.records, math.inf))
    largest = max(quickest_s)
    smaller = [records for records in quickest_s if records <= largest / 2]
    if not smaller:
        return None
    more_s = quickest_s[largest] - quickest_s[max(smaller)]
    return (largest - max(smaller)) / more_s if more_s > 0 else None


@dataclass(frozen=True, slots=True, kw_only=True)
class WarmUp:
    """Backlogs that make new executors warm and tell roughly what they can carry.

    Code is compiled while it runs, so a new executor gets faster for up to a minute: backlogs follow
    each other until the app no longer gets faster.
    """

    first_records: int
    round_s: float = 8.0
    """How long working off a backlog should take."""
    settled: float = 0.12
    most_rounds: int = 10
    most_rate: float = math.inf
    """More than that need not be known."""

    def next_records(self, drains: Sequence[Drain]) -> int | None:
        if not drains:
            return self.first_records
        last = drains[-1]
        most = self.most_rate * self.round_s
        if len(drains) >= self.most_rounds or (last.records >= most and last.rate > self.most_rate):
            return None
        if len(drains) == 1 and last.seconds >= self.round_s:
            # The first backlog also waited for what is only done once.
            return last.records
        fewer = [drain for drain in drains[:-1] if drain.records < last.records]
        if fewer:
            # What more records took longer is theirs. The rest is what batches cost by themselves, of which a chain
            # of operators has many one after the other, and windows wait for their watermarks besides.
            record_s = (last.seconds - fewer[-1].seconds) / (last.records - fewer[-1].records)
            records_s = max(0.0, record_s * last.records)
            if records_s < _RECORDS_SHARE * last.seconds:
                leap = _LEAP if records_s <= 0 else min(_LEAP, max(2.0, self.round_s / records_s))
                return math.ceil(min(most, leap * last.records))
        best = max((drain.rate for drain in drains[:-1]), default=0.0)
        if fewer and last.seconds >= self.round_s / 2 and last.rate <= best * (1 + self.settled):
            return None
        if fewer and last.seconds >= 1.5 * self.round_s:
            return last.records
        return math.ceil(min(most, last.records * min(_LEAP, max(2.0, self.round_s / last.seconds))))
