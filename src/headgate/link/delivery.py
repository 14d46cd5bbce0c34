"""A sample whose answer was lost on the way is not lost.

A sample tells what happened since the previous one, so one that never arrived would take its batches
and events with it. Samples are therefore numbered, and a collector names the last number that it got:
if that is not the last one handed over, what was handed over in vain is told again with the next.
A collector that is new names none and gets only what is new to it: its predecessor had the rest.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

from headgate.core.sample import Sample


@dataclass(frozen=True, slots=True, kw_only=True)
class Receipt:
    """What a collector sends: the number of the last delivery that reached it."""

    number: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Delivery:
    number: int
    sample: Sample


class Outbox:
    """Keeps the last delivery until its receipt comes; one collector at a time."""

    def __init__(self) -> None:
        self._last: Delivery | None = None

    def deliver(self, sample: Sample, receipt: Receipt) -> Delivery:
        last = self._last
        if last is not None and receipt.number not in (None, last.number):
            sample = joined(last.sample, sample)
        self._last = Delivery(number=0 if last is None else last.number + 1, sample=sample)
        return self._last


def joined(older: Sample, newer: Sample) -> Sample:
    """The newer sample, as it would be had the older one not been taken."""
    before = {operator.name: operator for operator in older.operators}
    operators = tuple(
        replace(
            operator,
            arrivals=before[operator.name].arrivals + operator.arrivals,
            batches=before[operator.name].batches + operator.batches,
        )
        if operator.name in before
        else operator
        for operator in newer.operators
    )
    return replace(newer, operators=operators, events=older.events + newer.events)
