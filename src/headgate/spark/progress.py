"""A query's progress events, read as volumes and times.

Volumes are offsets: ``numInputRows`` counts rows again when a task is run again. An offset is read
as the number of records before it in the source, which also continues after a driver's restart.
Sources whose offsets are not record counts (files, tables) are left unknown here, and the collector
counts rows for them instead.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from functools import partial
from typing import Any, NamedTuple

_RATE = re.compile(r"^RateStream\w*\[.*?rowsPerSecond=(\d+), rampUpTimeSeconds=(\d+)(?:, numPartitions=(\d+))?")
_ROWS_PER_BATCH = "RatePerMicroBatch"
_LIMITS = ("maxoffsetspertrigger", "recordspertrigger", "maxrecordspertrigger", "maxrowspertrigger", "rowsperbatch")
_PARTITIONS = ("partitions", "numpartitions")


class Position(NamedTuple):
    """A place in a source: records before it, and how many partitions it spans."""

    records: float
    partitions: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class ProgressEvent:
    """One look of a query at its sources and, if there was something, one finished micro-batch."""

    batch_id: int
    run_id: str
    started_s: float
    finished_s: float
    executed: bool
    """False: the look found nothing, and no batch was made."""
    looked_s: float
    """When the sources had said how far they reach."""
    rows: float
    """Rows as Spark counted them; too many when tasks were run again."""
    start: float | None = None
    end: float | None = None
    latest: float | None = None
    partitions: int | None = None
    phases: Mapping[str, float] = field(default_factory=dict)
    has_state: bool = False

    @property
    def duration_s(self) -> float:
        return self.finished_s - self.started_s


def read_event(event: Mapping[str, Any], *, first_offset: Callable[[int], Any] | None = None) -> ProgressEvent:
    """A progress event from its JSON; ``first_offset`` knows where a query began to read a source.

    The end of the batch is its trigger's start plus ``triggerExecution``; the sources were asked
    first, so their answer stood when the ``latestOffset`` phase was over.
    """
    phases = {name: took_ms / 1000 for name, took_ms in (event.get("durationMs") or {}).items()}
    started_s = datetime.fromisoformat(event["timestamp"]).timestamp()
    took_s = phases.get("triggerExecution", (event.get("batchDuration") or 0) / 1000)
    sources: Sequence[Mapping[str, Any]] = event.get("sources") or ()
    ends = [_position(source, "endOffset") for source in sources]
    starts = [
        _start(source, end, first_offset=None if first_offset is None else partial(first_offset, number))
        for number, (source, end) in enumerate(zip(sources, ends, strict=True))
    ]
    latests = [_latest(source, end) for source, end in zip(sources, ends, strict=True)]
    partitions = [end.partitions for end in ends if end is not None and end.partitions is not None]
    return ProgressEvent(
        batch_id=int(event["batchId"]),
        run_id=str(event.get("runId", "")),
        started_s=started_s,
        finished_s=started_s + took_s,
        executed="addBatch" in phases,
        looked_s=started_s + phases.get("latestOffset", 0.0),
        rows=float(event.get("numInputRows") or sum(source.get("numInputRows") or 0 for source in sources)),
        start=_sum(starts),
        end=_sum([end.records if end is not None else None for end in ends]),
        latest=_sum(latests),
        partitions=sum(partitions) if partitions else None,
        phases=phases,
        has_state=bool(event.get("stateOperators")),
    )


def read_position(offset: Any, description: str = "") -> Position | None:
    """Records before an offset, or ``None`` if the offset does not tell.

    >>> read_position({"orders": {"0": 40, "1": 2}})
    Position(records=42.0, partitions=2)
    >>> read_position({"records": 7})
    Position(records=7.0, partitions=None)
    >>> read_position({"logOffset": 3}) is None
    True
    """
    if isinstance(offset, str):
        try:
            offset = json.loads(offset)
        except ValueError:
            return None
    if isinstance(offset, Mapping):
        return _mapped_position(offset, description)
    rate = _RATE.match(description)
    if rate is not None and _is_count(offset):
        rows, ramp_up_s, partitions = int(rate[1]), int(rate[2]), rate[3]
        records = _rows_of_rate_source(int(offset), rows_per_second=rows, ramp_up_s=ramp_up_s)
        return Position(float(records), int(partitions) if partitions else None)
    return None


def records_limit(options: Sequence[Mapping[str, str]]) -> float | None:
    """The most records that one batch may take from all sources; unknown if one of them has no limit."""
    limits = [_first_count(source, _LIMITS) for source in options]
    return float(sum(limit or 0 for limit in limits)) if limits and all(limits) else None


def partition_count(options: Sequence[Mapping[str, str]]) -> int | None:
    """Partitions of all sources as their options name them, where the offsets do not tell."""
    counts = [_first_count(source, _PARTITIONS) for source in options]
    return sum(count or 0 for count in counts) if counts and all(counts) else None


def _mapped_position(offset: Mapping[str, Any], description: str) -> Position | None:
    if _is_count(offset.get("records")):
        return Position(float(offset["records"]))
    if description.startswith(_ROWS_PER_BATCH) and _is_count(offset.get("offset")):
        return Position(float(offset["offset"]))
    topics = list(offset.values())
    if not topics or not all(isinstance(topic, Mapping) and topic for topic in topics):
        return None
    counts = [(name, count) for topic in topics for name, count in topic.items()]
    if not all(str(name).isdigit() and _is_count(count) for name, count in counts):
        return None
    return Position(float(sum(count for _, count in counts)), len(counts))


def _position(source: Mapping[str, Any], key: str) -> Position | None:
    return read_position(source.get(key), str(source.get("description", "")))


def _start(source: Mapping[str, Any], end: Position | None, *, first_offset: Callable[[], Any] | None) -> float | None:
    if end is None:
        return None
    start = _position(source, "startOffset")
    if start is not None:
        return min(start.records, end.records)
    if isinstance(source.get("endOffset"), Mapping) and end.partitions is not None:
        # A topic's first batch has no start and need not begin at offset 0.
        first = None if first_offset is None else read_position(first_offset())
        if first is not None:
            return min(first.records, end.records)
        return max(0.0, end.records - float(source.get("numInputRows") or 0))
    return 0.0


def _latest(source: Mapping[str, Any], end: Position | None) -> float | None:
    if end is None:
        return None
    latest = _position(source, "latestOffset")
    # A source without admission control says nothing here, because it takes all it finds.
    return end.records if latest is None else max(latest.records, end.records)


def _sum(records: Sequence[float | None]) -> float | None:
    known = [value for value in records if value is not None]
    return sum(known) if known and len(known) == len(records) else None


def _rows_of_rate_source(seconds: int, *, rows_per_second: int, ramp_up_s: int) -> int:
    if ramp_up_s == 0:
        return seconds * rows_per_second
    step = rows_per_second // (ramp_up_s + 1)
    ramp = min(seconds, ramp_up_s)
    return step * ramp * (ramp + 1) // 2 + (seconds - ramp) * rows_per_second


def _is_count(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool) and value >= 0


def _first_count(options: Mapping[str, str], keys: Sequence[str]) -> int | None:
    spelt = {key.lower().replace("_", ""): value for key, value in options.items()}
    for key in keys:
        text = str(spelt.get(key, ""))
        if text.isdigit() and int(text) > 0:
            return int(text)
    return None
