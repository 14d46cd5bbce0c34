"""A journal that lives as long as its process: nothing is encoded, so writing costs next to nothing.

Values are immutable, so what is read back is what was written. Within one run time never goes
backwards (every clock promises that), which lets a reader find its place without looking at all rows.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterator, Sequence
from itertools import islice
from typing import Protocol, TypeVar

from headgate.core.decision import Tick
from headgate.core.ports import JournalHeader
from headgate.core.sample import Sample
from headgate.errors import Permanent, UserMistake


class _Timed(Protocol):
    @property
    def time_s(self) -> float: ...


R = TypeVar("R", bound=_Timed)


class MemoryRun:
    """One run of a journal, to be read alone."""

    __slots__ = ("_header", "sample_rows", "tick_rows")

    def __init__(self, header: JournalHeader) -> None:
        self._header = header
        self.sample_rows: list[Sample] = []
        self.tick_rows: list[Tick] = []

    def header(self) -> JournalHeader:
        return self._header

    def samples(self, *, since_s: float | None = None) -> Iterator[Sample]:
        return _since(self.sample_rows, since_s)

    def ticks(self, *, since_s: float | None = None) -> Iterator[Tick]:
        return _since(self.tick_rows, since_s)

    def last_tick(self) -> Tick | None:
        return self.tick_rows[-1] if self.tick_rows else None


class MemoryJournal:
    """Keeps everything in lists.

    >>> from headgate.core.sample import Sample
    >>> journal = MemoryJournal()
    >>> journal.append_sample(Sample(time_s=0.0, operators=()))
    Traceback (most recent call last):
    ...
    headgate.errors.Permanent: nothing can be recorded before a run is opened; call open_run first
    """

    def __init__(self) -> None:
        self._runs: list[MemoryRun] = []
        self._newest: MemoryRun | None = None

    def open_run(self, header: JournalHeader) -> None:
        if self._newest is not None and self._newest.header().app != header.app:
            raise UserMistake(
                f"the journal belongs to app '{self._newest.header().app}', not '{header.app}'; "
                "give every app a journal of its own"
            )
        self._newest = MemoryRun(header)
        self._runs.append(self._newest)

    def append_sample(self, sample: Sample) -> None:
        if self._newest is None:
            raise Permanent("nothing can be recorded before a run is opened; call open_run first")
        self._newest.sample_rows.append(sample)

    def append_tick(self, tick: Tick) -> None:
        if self._newest is None:
            raise Permanent("nothing can be recorded before a run is opened; call open_run first")
        self._newest.tick_rows.append(tick)

    def close(self) -> None:
        """Nothing to do: what was recorded stays readable."""

    def header(self) -> JournalHeader:
        """Of the newest run."""
        if self._newest is None:
            raise UserMistake("the journal holds no run yet; record one first")
        return self._newest.header()

    def runs(self) -> tuple[JournalHeader, ...]:
        """Oldest first."""
        return tuple(run.header() for run in self._runs)

    def run(self, position: int) -> MemoryRun:
        """One run alone, by its place in ``runs()``; -1 is the newest."""
        try:
            return self._runs[position]
        except IndexError:
            raise UserMistake(f"the journal holds {len(self._runs)} runs, so there is no run {position}") from None

    def samples(self, *, since_s: float | None = None) -> Iterator[Sample]:
        for run in tuple(self._runs):
            yield from run.samples(since_s=since_s)

    def ticks(self, *, since_s: float | None = None) -> Iterator[Tick]:
        for run in tuple(self._runs):
            yield from run.ticks(since_s=since_s)

    def last_tick(self) -> Tick | None:
        return next((run.tick_rows[-1] for run in reversed(self._runs) if run.tick_rows), None)


def _since(rows: Sequence[R], since_s: float | None) -> Iterator[R]:
    # The end is fixed here, so that a reader of a growing journal comes to an end.
    start = 0 if since_s is None else bisect_left(rows, since_s, key=lambda row: row.time_s)
    return islice(iter(rows), start, len(rows))
