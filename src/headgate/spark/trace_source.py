"""A Spark stream whose records arrive as a workload says: the source ``headgate-trace``.

The schedule is fixed by the options alone (``start_time_s`` among them), so a query that is
started again from its checkpoint goes on with the same records, those that arrived in the
meantime included. A record's content follows from its offset, so that any sink can be checked.

With the option ``records``, rows have the columns of Spark's Kafka source instead, so that a pipeline for
a topic runs on a trace as well.

Planning runs in one Python process on the driver for as long as the query lives; it reads the clock and
looks into an array. What a task needs to know about arrival times is a slice of that array, which
travels with its partition, so that tasks parse no workload.
"""

from __future__ import annotations

import gc
import itertools
import math
import time
from collections.abc import Iterator, MutableMapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.datasource import DataSource, DataSourceStreamReader, InputPartition
from pyspark.sql.streaming.datasource import ReadAllAvailable, ReadLimit, ReadMaxRows, SupportsTriggerAvailableNow
from pyspark.sql.types import StructType

from headgate.spark.content import keys_of, values_of
from headgate.spark.trace_options import SOURCE_NAME, TraceOptions
from headgate.workloads import count_at
from headgate.workloads.records import arrival_times_us, key_bytes, parse_keys, parse_records, start_us

SCHEMA = "offset BIGINT, time TIMESTAMP, key INT, value BIGINT"
RAW_SCHEMA = (
    "key BINARY, value BINARY, topic STRING, partition INT, offset BIGINT, timestamp TIMESTAMP, timestampType INT"
)
"""As Spark's Kafka source has it."""
RAW_TOPIC = "trace"
_RAW_NAMES = [column.split()[0] for column in RAW_SCHEMA.split(", ")]
_TIMESTAMP = pa.timestamp("us", tz="UTC")
_ROWS_PER_BATCH = 8192


def register_trace_source(spark: SparkSession) -> None:
    """Make ``headgate-trace`` known to a session."""
    spark.dataSource.register(TraceSource)


def trace_stream(spark: SparkSession, options: TraceOptions) -> DataFrame:
    """The stream; a workload that cannot be read is refused here, before Spark is asked."""
    options.curve()
    register_trace_source(spark)
    return spark.readStream.format(SOURCE_NAME).options(**options.write()).load()


class TraceSource(DataSource):
    """The entry point that Spark knows by name."""

    def __init__(self, options: MutableMapping[str, str]) -> None:
        super().__init__(options)
        self._trace = TraceOptions.read(dict(options))

    @classmethod
    def name(cls) -> str:
        return SOURCE_NAME

    def schema(self) -> str:
        return SCHEMA if self._trace.records is None else RAW_SCHEMA

    def streamReader(self, schema: StructType) -> TraceReader:  # noqa: N802, ARG002 - Spark's name and signature
        return TraceReader(self._trace)


@dataclass(frozen=True, slots=True)
class TracePartition(InputPartition):
    """A range of offsets and the piece of the arrival curve that covers it."""

    number: int
    first: int
    end: int
    epoch_us: int
    """When the piece of the curve begins, in microseconds since 1970."""
    curve: NDArray[np.int64]


class TraceReader(DataSourceStreamReader, SupportsTriggerAvailableNow):
    def __init__(self, options: TraceOptions) -> None:
        self._options = options
        self._known_curve: NDArray[np.int64] | None = None
        self._final: int | None = None

    def initialOffset(self) -> dict[str, int]:  # noqa: N802
        return {"records": 0}

    def getDefaultReadLimit(self) -> ReadLimit:  # noqa: N802
        most = self._options.records_per_trigger
        return ReadAllAvailable() if most is None else ReadMaxRows(most)

    def latestOffset(self, start: dict[str, int], limit: ReadLimit) -> dict[str, int]:  # noqa: N802
        # A clock that was set back must not take records back.
        latest = max(start["records"], self._arrived())
        if isinstance(limit, ReadMaxRows):
            latest = min(latest, start["records"] + limit.max_rows)
        return {"records": latest}

    def reportLatestOffset(self) -> dict[str, int]:  # noqa: N802
        return {"records": self._arrived()}

    def prepareForTriggerAvailableNow(self) -> None:  # noqa: N802
        self._final = self._arrived()

    def partitions(self, start: dict[str, int], end: dict[str, int]) -> Sequence[TracePartition]:
        curve = self._curve
        cuts = cut(start["records"], end["records"], self._options.partitions, self._options.skew)
        planned = []
        for number, (first, after) in enumerate(itertools.pairwise(cuts)):
            low = max(0, int(np.searchsorted(curve, first, side="right")) - 1)
            high = int(np.searchsorted(curve, after, side="left"))
            piece = curve[low : high + 1]
            epoch_us = start_us(self._options.start_time_s) + low * 1_000_000
            planned.append(TracePartition(number, first, after, epoch_us, piece))
        return planned

    def read(self, partition: InputPartition) -> Iterator[pa.RecordBatch]:
        assert isinstance(partition, TracePartition)
        _settle()
        make = rows if self._options.records is None else RawRows(self._options)
        for first in range(partition.first, partition.end, _ROWS_PER_BATCH):
            yield make(partition, first, min(first + _ROWS_PER_BATCH, partition.end))

    def _arrived(self) -> int:
        if self._final is not None:
            return self._final
        return count_at(self._curve, time.time() - self._options.start_time_s)

    @property
    def _curve(self) -> NDArray[np.int64]:
        # Not made at once: a copy of this object travels to every task, which has no use for it.
        if self._known_curve is None:
            self._known_curve = self._options.curve()
        return self._known_curve


_settled = False


def _settle() -> None:
    """Spare the libraries of this process the search for garbage after every task.

    PySpark's daemon collects garbage each time a task ends, and looks at every object that was ever
    imported: 20 to 40 ms of processor time, more than the task itself.
    """
    global _settled
    if not _settled:
        gc.freeze()
        _settled = True


def cut(first: int, end: int, partitions: int, skew: float) -> list[int]:
    """Ends of the pieces that a range of offsets is cut into; none is empty.

    >>> cut(0, 10, 4, 0.0)
    [0, 2, 5, 7, 10]
    >>> cut(0, 110, 3, 1.0)
    [0, 60, 90, 110]
    """
    if skew == 0.0:
        whole = [first + (end - first) * part // partitions for part in range(partitions + 1)]
    else:
        shares = [1.0 / rank**skew for rank in range(1, partitions + 1)]
        total = math.fsum(shares)
        inner = [first + round((end - first) * math.fsum(shares[:part]) / total) for part in range(partitions)]
        whole = [*inner, end]
    return sorted(set(whole))


def rows(partition: TracePartition, first: int, end: int) -> pa.RecordBatch:
    """The records of a range of offsets within a partition."""
    offsets = np.arange(first, end, dtype=np.int64)
    columns: list[Any] = [
        pa.array(offsets),
        pa.array(_arrived_us(partition, offsets), type=_TIMESTAMP),
        pa.array(keys_of(offsets)),
        pa.array(values_of(offsets)),
    ]
    return pa.RecordBatch.from_arrays(columns, names=["offset", "time", "key", "value"])


class RawRows:
    """The same as raw records: what a topic would have."""

    def __init__(self, options: TraceOptions) -> None:
        assert options.records is not None
        self._kind = parse_records(options.records, seed=options.seed)
        self._keys = parse_keys(options.keys, seed=options.seed)

    def __call__(self, partition: TracePartition, first: int, end: int) -> pa.RecordBatch:
        offsets = np.arange(first, end, dtype=np.int64)
        arrived_us = _arrived_us(partition, offsets)
        numbers = self._keys.numbers(offsets)
        keys: Any = [None] * len(offsets) if numbers is None else key_bytes(numbers)
        columns: list[Any] = [
            pa.array(keys, type=pa.binary()),
            pa.array(self._kind.values(first, (arrived_us // 1000).tolist()), type=pa.binary()),
            pa.array([RAW_TOPIC] * len(offsets)),
            pa.array(np.full(len(offsets), partition.number, dtype=np.int32)),
            pa.array(offsets),
            pa.array(arrived_us, type=_TIMESTAMP),
            pa.array(np.zeros(len(offsets), dtype=np.int32)),
        ]
        return pa.RecordBatch.from_arrays(columns, names=_RAW_NAMES)


def _arrived_us(partition: TracePartition, offsets: NDArray[np.int64]) -> NDArray[np.int64]:
    return partition.epoch_us + arrival_times_us(partition.curve, offsets)
