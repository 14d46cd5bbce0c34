"""One streaming query as it is read: its curve of arrivals and its finished batches.

Positions are the source's own offsets, so a restarted driver goes on with the same numbers. Nothing
is extrapolated: between two looks of the query the curve ends at the last of them, unless a probe
knows more. A query that looked and found nothing is idle, and that is known: its curve then goes on
at the position that is finished, up to the moment of that look.
"""

from __future__ import annotations

import logging
from collections import deque
from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple, Protocol

from headgate.core.sample import ArrivalPoint, Batch, OperatorSample
from headgate.errors import HeadgateError, NotReady
from headgate.spark.facts import QueryState, QueryView
from headgate.spark.progress import ProgressEvent, partition_count, read_event, records_limit
from headgate.spark.stages import BatchWork, StageLedger

log = logging.getLogger(__name__)


class ArrivalProbe(Protocol):
    """Knows, at any moment, how many records have arrived at a query's sources."""

    def probe(self) -> float:
        """Cumulative records, on the same axis as the source's offsets."""
        ...


class FinishedBatch(NamedTuple):
    """A batch with the executors that worked on it; ``None`` where Spark did not tell."""

    query: str
    batch: Batch
    executors: frozenset[str] | None


class _Placed(NamedTuple):
    event: ProgressEvent
    first: float
    end: float
    latest: float


class QueryReader:
    """What has happened to one query since the reader was made."""

    def __init__(self, query: QueryView, *, probe: ArrivalProbe | None = None, probe_every_s: float = 1.0) -> None:
        self.query = query
        self.durations_s: list[float] = []
        """Of the batches before the reader was made."""
        self.has_state = False
        """Whether it keeps something from one batch to the next, as far as it has told."""
        self._probe = probe
        self._probe_every_s = probe_every_s
        self._probed_s = float("-inf")
        options = query.source_options()
        self._limit = records_limit(options)
        self._partitions = partition_count(options)
        self._seen_until = ""
        self._seen_batch = -1
        self._base: float | None = None
        """Subtracted from offsets: 0, unless the query idled before its first batch told where it is."""
        self._counted: float | None = None
        """Rows counted so far, once a source was met whose offsets are not record counts."""
        self._end = 0.0
        """Position up to which batches are finished, delivered or not."""
        self._done = 0.0
        self._curve: list[ArrivalPoint] = []
        """Points not yet delivered."""
        self._last_point: ArrivalPoint | None = None
        self._undelivered: deque[_Placed] = deque()
        self._waited_for = -1
        self._tasks: int | None = None
        self._busy_s = 0.0
        self._begin()

    @property
    def knows_position(self) -> bool:
        return self._last_point is not None

    def read(self, state: QueryState, asked_s: float) -> None:
        """Take in what is new; ``state`` was true at ``asked_s``."""
        points = []
        for raw in self.query.progress_after(self._seen_until):
            self._seen_until = raw["timestamp"]
            placed = self._place(self._event(raw))
            points.append(ArrivalPoint(placed.event.looked_s, placed.latest))
            if placed.event.executed and placed.event.batch_id > self._seen_batch:
                self._seen_batch = placed.event.batch_id
                self._undelivered.append(placed)
                self._end = placed.end
        probed = self._ask_probe(asked_s)
        if not probed and state.active and not state.trigger_active and not state.data_available:
            # Its last look found nothing, and was not longer ago than its trigger's interval.
            points.append(ArrivalPoint(asked_s - self.query.trigger_s, self._end))
        points.extend(probed)
        for point in sorted(points):
            self._draw(point)

    def operator(self, ledger: StageLedger, *, running_s: float) -> tuple[OperatorSample, tuple[FinishedBatch, ...]]:
        """What came since the previous call."""
        if self._last_point is None:
            raise NotReady(f"query '{self.query.name}' has not finished a batch yet; waiting for its first")
        finished = tuple(self._deliver(ledger))
        # A stage that has just ended may be in neither book for a moment.
        self._busy_s = max(self._busy_s, ledger.busy_s[self.query.run_id] + running_s)
        points, self._curve = tuple(self._curve) or (self._last_point,), []
        sample = OperatorSample(
            name=self.query.name,
            parallelism=self._tasks,
            partitions=self._partitions,
            records_limit=self._limit,
            arrivals=points,
            batches=tuple(each.batch for each in finished),
            done_records=self._done,
            busy_s=self._busy_s,
        )
        return sample, finished

    def _begin(self) -> None:
        """Start from the newest event of the past; what was finished before is not reported."""
        events = self.query.progress_after("")
        past = [self._event(raw) for raw in events]
        self.durations_s = [event.duration_s for event in past if event.executed]
        if past:
            self._seen_until = events[-1]["timestamp"]
            self._seen_batch = max((event.batch_id for event in past if event.executed), default=-1)
            newest = self._place(past[-1])
            self._end = self._done = newest.end
            self._draw(ArrivalPoint(newest.event.looked_s, newest.latest))

    def _event(self, raw: Mapping[str, Any]) -> ProgressEvent:
        return read_event(raw, first_offset=self.query.first_offset)

    def _place(self, event: ProgressEvent) -> _Placed:
        if self._base is None:
            self._base = 0.0 if self._last_point is None else (event.start or 0.0)
        self._partitions = event.partitions or self._partitions
        self.has_state = self.has_state or event.has_state
        if self._counted is None and event.start is not None and event.end is not None and event.latest is not None:
            # Offsets of a topic that was made anew start low again; a position never goes back.
            end = max(event.end - self._base, self._end)
            first = min(max(event.start - self._base, self._end if self.knows_position else 0.0), end)
            return _Placed(event, first, end, max(event.latest - self._base, end))
        if self._counted is None:
            log.warning(
                "query '%s' reads a source whose offsets are not record counts; counting its input rows instead",
                self.query.name,
            )
            self._counted = self._end
        first = self._counted
        self._counted += event.rows if event.executed else 0.0
        return _Placed(event, first, self._counted, self._counted)

    def _ask_probe(self, asked_s: float) -> list[ArrivalPoint]:
        if self._probe is None or asked_s - self._probed_s < self._probe_every_s * 0.9:
            return []
        if self._base is None:
            # Until the query has said where it is, what has arrived says nothing about what is left to do.
            return []
        try:
            records = self._probe.probe()
        except HeadgateError as error:
            log.info("query '%s': its arrivals could not be asked for (%s)", self.query.name, error)
            return []
        self._probed_s = asked_s
        return [ArrivalPoint(asked_s, records - self._base)]

    def _draw(self, point: ArrivalPoint) -> None:
        last = self._last_point
        if last is not None:
            if point.time_s <= last.time_s:
                return
            point = ArrivalPoint(point.time_s, max(point.records, last.records))
        self._curve.append(point)
        self._last_point = point

    def _deliver(self, ledger: StageLedger) -> Iterator[FinishedBatch]:
        while self._undelivered:
            placed = self._undelivered[0]
            work = ledger.work_of(placed.event.run_id, placed.event.batch_id)
            if work is None and placed.event.rows and self._waited_for < placed.event.batch_id:
                # Its jobs reach the status store a moment after the progress event; ask once more.
                self._waited_for = placed.event.batch_id
                return
            self._undelivered.popleft()
            self._done = placed.end
            self._tasks = work.tasks if work is not None else self._tasks
            yield FinishedBatch(self.query.name, _batch(placed, work), work.executors if work is not None else None)


def _batch(placed: _Placed, work: BatchWork | None) -> Batch:
    event = placed.event
    return Batch(
        id=event.batch_id,
        started_s=event.started_s,
        finished_s=event.finished_s,
        first_record=placed.first,
        end_record=placed.end,
        tasks=work.tasks if work is not None else None,
        run_s=work.run_s if work is not None else event.phases.get("addBatch"),
        longest_task_s=work.longest_task_s if work is not None else None,
        mean_task_s=work.mean_task_s if work is not None else None,
        sink_s=_sink_s(event, work),
        phases=event.phases,
    )


def _sink_s(event: ProgressEvent, work: BatchWork | None) -> float | None:
    """Time from the last task's end to the end of ``addBatch``, which is followed by the commit log only."""
    if work is None or "addBatch" not in event.phases:
        return None
    return max(0.0, event.finished_s - event.phases.get("commitOffsets", 0.0) - work.ended_s)
