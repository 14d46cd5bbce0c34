"""An operator's input as two curves: when each record arrived, and when it was finished.

Arrivals are straight lines between the points that were sampled. Completions are steps on a
micro-batch engine, where a batch's records are finished all at once when it ends, and lines from a
step's start to its end on an engine that works record by record.

What samples lost is filled in: positions between two known batches were finished between them, and
a position that an operator reports as done without naming a batch was finished since its previous
sample. A range that was done twice (a batch run again after a failure) counts when it was first done.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import chain
from operator import attrgetter

import numpy as np
from numpy.typing import NDArray

from headgate.core.sample import ArrivalPoint, Batch

Series = NDArray[np.float64]

_TRACE_OF_A_RECORD = 1e-6
_EXTENT = attrgetter("first_record", "end_record", "started_s", "finished_s")


@dataclass(frozen=True, slots=True, eq=False)
class ArrivalCurve:
    """Cumulative records over time, both not decreasing."""

    times_s: Series
    records: Series

    @classmethod
    def of(cls, points: Sequence[ArrivalPoint]) -> ArrivalCurve:
        flat = np.fromiter(chain.from_iterable(points), dtype=np.float64, count=2 * len(points)).reshape(-1, 2)
        order = np.argsort(flat[:, 0], kind="stable")
        return cls(flat[order, 0], np.maximum.accumulate(flat[order, 1]))

    def at(self, times_s: Series) -> Series:
        """Records arrived by these times; at a jump, all of it."""
        if not len(self.times_s):
            return np.zeros(len(times_s))
        return np.interp(times_s, self.times_s, self.records)

    @property
    def ended_s(self) -> float | None:
        """When the last record had arrived."""
        if not len(self.records):
            return None
        return float(self.times_s[np.searchsorted(self.records, self.records[-1])])


@dataclass(frozen=True, slots=True, eq=False)
class CompletionCurve:
    """Ranges of positions, one after the other, with the time in which each was worked on and finished."""

    first: Series
    end: Series
    began_s: Series
    first_finished_s: Series
    """When its first record was finished; on a micro-batch engine all are finished at the end."""
    finished_s: Series

    @classmethod
    def of(
        cls, batches: Sequence[Batch], done: Sequence[tuple[float, float]], *, at_once: bool, since_s: float
    ) -> CompletionCurve:
        """From batches and from samples' ``(time_s, done_records)``; ``since_s`` is when watching began."""
        marks = np.array(done, dtype=np.float64).reshape(-1, 2)
        flat = chain.from_iterable(map(_EXTENT, batches))
        extents = np.fromiter(flat, dtype=np.float64, count=4 * len(batches)).reshape(-1, 4)
        first, end, began, finished = extents.T
        # Where the first samples of a run are kept, this is 0; else whatever was done before is left out.
        start = float(min(first.min(initial=np.inf), marks[0, 1] if len(marks) else np.inf))
        previous = np.concatenate([[since_s], marks[:-1, 0]])
        first = np.concatenate([first, np.full(len(marks), start)])
        end = np.concatenate([end, marks[:, 1]])
        began = np.concatenate([began, previous])
        finished = np.concatenate([finished, marks[:, 0]])
        spread = np.concatenate([np.full(len(batches), not at_once), np.ones(len(marks), dtype=bool)])
        order = np.argsort(finished, kind="stable")  # batches stand before the sample that reports them
        return cls._without_overlaps(first[order], end[order], began[order], finished[order], spread[order], start)

    @classmethod
    def _without_overlaps(
        cls, first: Series, end: Series, began: Series, finished: Series, spread: NDArray[np.bool_], start: float
    ) -> CompletionCurve:
        covered = np.concatenate([[start], np.maximum.accumulate(end)[:-1]])
        news = end > np.maximum(covered, start) + _TRACE_OF_A_RECORD
        first, end, began, finished, spread = first[news], end[news], began[news], finished[news], spread[news]
        covered = np.concatenate([[start], end[:-1]])
        first = np.maximum(first, covered)
        before = np.concatenate([began[:1], finished[:-1]])
        lost = first > covered + _TRACE_OF_A_RECORD
        first_finished = np.where(spread, began, finished)
        holes = np.flatnonzero(lost)
        if len(holes):
            until = first[holes]
            first = np.insert(first, holes, covered[holes])
            end = np.insert(end, holes, until)
            first_finished = np.insert(first_finished, holes, before[holes])
            finished = np.insert(finished, holes, np.maximum(before[holes], began[holes]))
            began = np.insert(began, holes, before[holes])
        kept = end > first  # an empty batch may have shown where a hole ends
        first_finished = np.minimum(first_finished, finished)
        return cls(first[kept], end[kept], began[kept], first_finished[kept], finished[kept])

    def through(self, positions: Series) -> tuple[Series, Series]:
        """When the record before each position was worked on from and finished; infinite if it is not."""
        index = np.searchsorted(self.end, positions - _TRACE_OF_A_RECORD, side="left")
        known = index < len(self.end)
        began = np.full(len(positions), np.inf)
        finished = np.full(len(positions), np.inf)
        at = index[known]
        passed = np.clip((positions[known] - self.first[at]) / (self.end[at] - self.first[at]), 0.0, 1.0)
        began[known] = self.began_s[at]
        finished[known] = self.first_finished_s[at] + passed * (self.finished_s[at] - self.first_finished_s[at])
        return began, finished


def locate(low: Series, high: Series, ends: Series) -> tuple[NDArray[np.int64], NDArray[np.bool_]]:
    """In which of the adjoining ranges (given by their ends) each stretch of positions lies, and whether in any.

    Looked up by the middle, so that a boundary never falls to the wrong side.
    """
    index = np.searchsorted(ends, (low + high) / 2, side="right")
    return index, index < len(ends)
