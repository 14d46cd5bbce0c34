"""A Spark stream whose records arrive as a workload says: the source ``headgate-trace``.

The schedule is fixed by the options alone (``start_time_s`` among them), so a query that is
started again from its checkpoint goes on with the same records, those that arrived in the
meantime included. A record's content follows from its offset, so that any sink can be checked.

Planning runs in one Python process on the driver for as long as the query lives; it reads the clock and
looks into an array. What a task needs to know about arrival times is a slice of that array, which
travels with its partition, so that tasks parse no workload.
"""

from __future__ import annotations

import itertools
import math
import time
from collections.abc import Iterator, Mapping, MutableMapping, Sequence
from dataclasses import dataclass, fields
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.datasource import DataSource, DataSourceStreamReader, InputPartition
from pyspark.sql.streaming.datasource import ReadAllAvailable, ReadLimit, ReadMaxRows, SupportsTriggerAvailableNow
from pyspark.sql.types import StructType

from headgate.core.options import check_options, option
from headgate.errors import UserMistake
from headgate.grammar import build
from headgate.spark.content import keys_of, values_of
from headgate.workloads import arrivals, count_at, parse_workload

SOURCE_NAME = "headgate-trace"
SCHEMA = "offset BIGINT, time TIMESTAMP, key INT, value BIGINT"
_ROWS_PER_BATCH = 8192


@dataclass(frozen=True, slots=True, kw_only=True)
class TraceOptions:
    """Everything that makes a stream; the same options are the same stream."""

    workload: str = option("", "the load, as in sine:period=10m,low=0.2, or a CSV file")
    start_time_s: float = option(0.0, "when the trace begins, in seconds since 1970", above=0)
    peak: float | None = option(None, "rescales the highest rate to this", above=0)
    duration_s: float | None = option(None, "how long records arrive", above=0)
    time_scale: float = option(1.0, "compresses time", above=0)
    seed: int = option(0, "of noise and of Poisson arrivals", least=0)
    process: str = option("even", "how records are spread within a second", choices=("even", "poisson"))
    partitions: int = option(1, "tasks that a micro-batch is read by", least=1, most=10_000)
    records_per_trigger: int | None = option(None, "the most records that a micro-batch takes", least=1)
    skew: float = option(0.0, "0 cuts batches evenly; 1 gives each partition 1/rank of the first", least=0, most=5)

    def __post_init__(self) -> None:
        check_options(SOURCE_NAME, self)
        if not self.workload:
            raise UserMistake(f"{SOURCE_NAME} needs the option 'workload'; give one, as in constant:rate=1000")

    @classmethod
    def read(cls, options: Mapping[str, str]) -> TraceOptions:
        """From the texts that Spark keeps; its options do not know upper from lower case."""
        known = {field.name.replace("_", ""): field.name for field in fields(cls)}
        given = {}
        for key, text in options.items():
            name = known.get(key.lower().replace("_", ""))
            if name is not None:
                given[name] = text
            elif key.lower() != "path":
                given[key] = text  # not ours: refused by name below
        if "start_time_s" not in given:
            raise UserMistake(
                f"{SOURCE_NAME} needs the option 'start_time_s' (seconds since 1970), so that a query that is started "
                "again goes on with the same schedule; give the time of its first start"
            )
        return build(cls, given, kind="source", name=SOURCE_NAME)

    def write(self) -> dict[str, str]:
        """As texts for ``spark.readStream.options``."""
        given = {field.name: getattr(self, field.name) for field in fields(self)}
        return {
            name: repr(value) if isinstance(value, float) else str(value)
            for name, value in given.items()
            if value is not None
        }

    def curve(self) -> NDArray[np.int64]:
        """Records arrived by each second since the start."""
        workload = parse_workload(
            self.workload, peak=self.peak, duration_s=self.duration_s, time_scale=self.time_scale, seed=self.seed
        )
        return arrivals(workload, process=self.process, seed=self.seed)


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
        return SCHEMA

    def streamReader(self, schema: StructType) -> TraceReader:  # noqa: N802, ARG002 - Spark's name and signature
        return TraceReader(self._trace)


@dataclass(frozen=True, slots=True)
class TracePartition(InputPartition):
    """A range of offsets and the piece of the arrival curve that covers it."""

    first: int
    end: int
    epoch_s: float
    """When the piece of the curve begins."""
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
        for first, after in itertools.pairwise(cuts):
            low = max(0, int(np.searchsorted(curve, first, side="right")) - 1)
            high = int(np.searchsorted(curve, after, side="left"))
            piece = curve[low : high + 1]
            planned.append(TracePartition(first, after, self._options.start_time_s + low, piece))
        return planned

    def read(self, partition: InputPartition) -> Iterator[pa.RecordBatch]:
        assert isinstance(partition, TracePartition)
        for first in range(partition.first, partition.end, _ROWS_PER_BATCH):
            yield rows(partition, first, min(first + _ROWS_PER_BATCH, partition.end))

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
    second = np.searchsorted(partition.curve, offsets, side="right") - 1
    before = partition.curve[second]
    within = (offsets + 1 - before) / (partition.curve[second + 1] - before)
    arrived_us = np.round((partition.epoch_s + second + within) * 1e6).astype(np.int64)
    columns: list[Any] = [
        pa.array(offsets),
        pa.array(arrived_us, type=pa.timestamp("us", tz="UTC")),
        pa.array(keys_of(offsets)),
        pa.array(values_of(offsets)),
    ]
    return pa.RecordBatch.from_arrays(columns, names=["offset", "time", "key", "value"])
