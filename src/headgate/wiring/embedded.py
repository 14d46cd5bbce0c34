"""The embedded stream: a workload's records through real work into a Parquet sink that can be audited.

Start time and checkpoint live in the app's folder, so that a driver that comes back goes on with
the same records at the same times.
"""

from __future__ import annotations

import json
import time
from dataclasses import dataclass
from pathlib import Path

from pyspark.sql import SparkSession
from pyspark.sql.streaming.query import StreamingQuery

from headgate.config import StreamTable
from headgate.errors import UserMistake
from headgate.pipelines.hashing import burn, iterations_for, measure_block_us
from headgate.spark.trace_options import TraceOptions
from headgate.spark.trace_source import trace_stream


@dataclass(frozen=True, slots=True, kw_only=True)
class TraceStream:
    """A started embedded stream."""

    query: StreamingQuery
    sink: Path
    start_time_s: float
    duration_s: float
    total_records: int

    @property
    def ends_at_s(self) -> float:
        return self.start_time_s + self.duration_s

    def finished(self) -> bool:
        """Whether every record of the workload has been written."""
        if time.time() < self.ends_at_s:
            return False
        progress = self.query.lastProgress
        if progress is None:
            return False
        end = progress.sources[0].endOffset
        return bool(end) and json.loads(end)["records"] >= self.total_records


def start_trace_stream(
    session: SparkSession, options: TraceOptions, *, name: str, folder: Path, trigger_s: float, cost_us: float
) -> TraceStream:
    """Start, or go on with, the stream that lives in a folder."""
    curve = options.curve()
    worked = trace_stream(session, options)
    if cost_us > 0:
        worked = burn(worked, iterations=iterations_for(cost_us, block_us=measure_block_us(session)))
    query = (
        worked.writeStream.format("parquet")
        .option("path", str(folder / "sink"))
        .option("checkpointLocation", str(folder / "checkpoint"))
        .trigger(processingTime=f"{trigger_s * 1000:.0f} milliseconds")
        .queryName(name)
        .start()
    )
    return TraceStream(
        query=query,
        sink=folder / "sink",
        start_time_s=options.start_time_s,
        duration_s=float(len(curve) - 1),
        total_records=int(curve[-1]),
    )


def trace_options(table: StreamTable, *, folder: Path) -> TraceOptions:
    """The trace of an app file; where an earlier start left off, if the folder has seen one."""
    return TraceOptions(
        workload=table.workload,
        start_time_s=start_time(folder),
        peak=table.peak,
        duration_s=table.duration_s,
        time_scale=table.time_scale,
        seed=table.seed,
        process=table.process,
        partitions=table.partitions,
        records_per_trigger=table.records_per_trigger,
        records=table.records,
    )


def start_time(folder: Path) -> float:
    """When the workload began: now, or what an earlier start has written down."""
    note = folder / "stream.json"
    if note.exists():
        try:
            return float(json.loads(note.read_text(encoding="utf-8"))["start_time_s"])
        except (ValueError, KeyError, TypeError):
            raise UserMistake(f"{note} is damaged; remove the folder {folder} to start the stream anew") from None
    start_time_s = time.time() + 1.0
    note.write_text(json.dumps({"start_time_s": start_time_s}), encoding="utf-8")
    return start_time_s
