"""A part of a journal, to be read as if it were the whole."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import takewhile

from headgate.core.decision import Tick
from headgate.core.ports import JournalHeader, JournalReader
from headgate.core.sample import Sample


class Excerpt:
    """What was recorded between two moments, both included."""

    def __init__(self, reader: JournalReader, *, since_s: float, until_s: float) -> None:
        self._reader = reader
        self._since_s = since_s
        self._until_s = until_s

    def header(self) -> JournalHeader:
        return self._reader.header()

    def samples(self, *, since_s: float | None = None) -> Iterator[Sample]:
        return takewhile(lambda one: one.time_s <= self._until_s, self._reader.samples(since_s=self._start(since_s)))

    def ticks(self, *, since_s: float | None = None) -> Iterator[Tick]:
        return takewhile(lambda one: one.time_s <= self._until_s, self._reader.ticks(since_s=self._start(since_s)))

    def last_tick(self) -> Tick | None:
        last = None
        for last in self.ticks():  # noqa: B007 - only the last one is wanted
            pass
        return last

    def _start(self, since_s: float | None) -> float:
        return self._since_s if since_s is None else max(since_s, self._since_s)
