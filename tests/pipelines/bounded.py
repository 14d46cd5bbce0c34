"""A bounded stream: values into a topic in one go, a query over all of it in several micro-batches, its rows back.

Any test can use it: ``fill`` a topic, make a frame of ``raw_records``, ``run`` the query to the end.
"""

from __future__ import annotations

import uuid
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
from confluent_kafka import Producer
from confluent_kafka.admin import AdminClient, NewTopic
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.streaming.query import StreamingQuery

from headgate.kafka.settings import KafkaSettings
from headgate.spark.trace_options import TraceOptions
from headgate.spark.trace_source import trace_stream

DEADLINE_S = 120.0


def make_topic(kafka: KafkaSettings, name: str, *, partitions: int = 3) -> str:
    """An empty topic whose name begins so; no two calls give the same."""
    topic = f"{name}-{uuid.uuid4().hex[:8]}"
    admin = AdminClient(kafka.for_client())
    for created in admin.create_topics([NewTopic(topic, num_partitions=partitions, replication_factor=1)]).values():
        created.result(DEADLINE_S)
    return topic


def send(kafka: KafkaSettings, topic: str, values: Iterable[bytes | None], *, partitions: int = 3) -> None:
    """One value after the other to partitions 0, 1, 2, 0, …; back when the broker has all of them."""
    failures: list[str] = []
    producer = Producer({**kafka.for_client(), "enable.idempotence": True, "linger.ms": 5})
    for position, value in enumerate(values):
        producer.produce(
            topic,
            value,
            partition=position % partitions,
            on_delivery=lambda error, _: failures.append(str(error)) if error is not None else None,
        )
        producer.poll(0)
    assert producer.flush(DEADLINE_S) == 0, f"{topic}: the broker did not take all records in time"
    assert not failures, f"{topic}: {failures[0]}"


def fill(kafka: KafkaSettings, name: str, values: Iterable[bytes | None], *, partitions: int = 3) -> str:
    """A new topic that holds these values."""
    topic = make_topic(kafka, name, partitions=partitions)
    send(kafka, topic, values, partitions=partitions)
    return topic


def raw_records(spark: SparkSession, kafka: KafkaSettings, topic: str, *, per_batch: int | None = None) -> DataFrame:
    """The topic as a stream from its beginning, so many records a micro-batch."""
    reader = spark.readStream.format("kafka").options(**kafka.for_spark())
    reader = reader.option("subscribe", topic).option("startingOffsets", "earliest")
    if per_batch is not None:
        reader = reader.option("maxOffsetsPerTrigger", per_batch)
    return reader.load()


@dataclass(frozen=True, slots=True)
class Outcome:
    """What a query wrote, and what it said of itself."""

    rows: Sequence[dict[str, Any]]
    """In the order of the micro-batches, whose number is the member ``batch``."""
    progress: Sequence[Any]

    @property
    def batches(self) -> int:
        """Micro-batches that had records."""
        return sum(1 for progress in self.progress if progress.numInputRows > 0)

    @property
    def late(self) -> int:
        """Rows that came after the watermark and were dropped."""
        return sum(state.numRowsDroppedByWatermark for progress in self.progress for state in progress.stateOperators)

    def observed(self, metric: str, name: str) -> int:
        """Sum over all micro-batches of what the query observes under ``metric``."""
        return sum(
            progress.observedMetrics[metric][name] for progress in self.progress if metric in progress.observedMetrics
        )

    def last(self, *key: str) -> dict[tuple[Any, ...], dict[str, Any]]:
        """The newest row of each key: what a table holds that update mode keeps up to date."""
        return {tuple(row[name] for name in key): without(row, "batch") for row in self.rows}


def without(row: dict[str, Any], *names: str) -> dict[str, Any]:
    """The row less some members."""
    return {name: value for name, value in row.items() if name not in names}


def run(frame: DataFrame, folder: Path, *, mode: str = "append") -> Outcome:
    """Take in all that is there and end; the same folder again goes on from its checkpoint.

    Rows go to ``folder/rows``: each micro-batch overwrites a folder of its own, so a repeated one replaces itself.
    """
    query = start(frame, folder, mode=mode)
    try:
        assert query.awaitTermination(DEADLINE_S), "the query did not come to its end in time"
    finally:
        query.stop()
    return Outcome(rows=read_rows(folder), progress=query.recentProgress)


def start(frame: DataFrame, folder: Path, *, mode: str = "append") -> StreamingQuery:
    """As ``run``, without waiting: for tests that disturb the query while it works."""

    def write(batch: DataFrame, number: int) -> None:
        batch.write.mode("overwrite").parquet(str(folder / "rows" / f"batch={number}"))

    writer = frame.writeStream.outputMode(mode).option("checkpointLocation", str(folder / "checkpoint"))
    return writer.foreachBatch(write).trigger(availableNow=True).start()


def passed_on(messages: DataFrame, kafka: KafkaSettings, name: str, folder: Path) -> str:
    """The topic that holds what one operator of a chain made of all that there is."""
    topic = make_topic(kafka, name)
    writer = messages.writeStream.format("kafka").options(**kafka.for_spark()).option("topic", topic)
    query = writer.option("checkpointLocation", str(folder / name)).trigger(availableNow=True).start()
    try:
        assert query.awaitTermination(DEADLINE_S), f"{name} did not come to its end in time"
    finally:
        query.stop()
    return topic


def read_rows(folder: Path) -> list[dict[str, Any]]:
    """What is in the sink of ``run``, oldest micro-batch first."""
    batches = sorted(int(path.name.removeprefix("batch=")) for path in (folder / "rows").glob("batch=*"))
    return [
        {**row, "batch": number}
        for number in batches
        for file in sorted((folder / "rows" / f"batch={number}").glob("*.parquet"))
        for row in rows_in(file)
    ]


def rows_in(file: Path) -> list[dict[str, Any]]:
    """The rows of a Parquet file; times have their zone, which Spark does not write beside them: UTC."""
    rows = pq.ParquetFile(file, coerce_int96_timestamp_unit="us").read().to_pylist()
    return [
        {name: value.replace(tzinfo=UTC) if isinstance(value, datetime) else value for name, value in row.items()}
        for row in rows
    ]


def trace_records(spark: SparkSession, records: str, *, seed: int, count: int) -> DataFrame:
    """The embedded trace source with so many records, 100 a second, that all have arrived: in two micro-batches."""
    options = TraceOptions(
        workload="constant:rate=100",
        duration_s=count / 100,
        start_time_s=TRACE_BEGIN_MS // 1000,
        seed=seed,
        records=records,
        records_per_trigger=-(-count // 2),
    )
    return trace_stream(spark, options)


TRACE_BEGIN_MS = 1_700_000_000_010
"""The first record arrives when a hundredth of the first second is over."""


def trace_times_ms(count: int) -> list[int]:
    """Event times of ``trace_records``."""
    return times_ms(count, every_ms=10, begin_ms=TRACE_BEGIN_MS)


def static_records(spark: SparkSession, values: Sequence[bytes | None]) -> DataFrame:
    """The same columns as a topic's, without a topic: one partition, offsets from 0."""
    schema = "key BINARY, value BINARY, topic STRING, partition INT, offset BIGINT"
    schema += ", timestamp TIMESTAMP, timestampType INT"
    sent = datetime(2026, 1, 1, tzinfo=UTC)
    rows = [(None, value, "static", 0, offset, sent, 0) for offset, value in enumerate(values)]
    return spark.createDataFrame(rows, schema).coalesce(1)


def static_rows(frame: DataFrame) -> list[dict[str, Any]]:
    """What a frame that is not a stream holds; times have their zone."""
    return [
        {
            # PySpark gives times in the zone of this machine, and does not say so.
            name: value.astimezone(UTC) if isinstance(value, datetime) else value
            for name, value in row.asDict(recursive=True).items()
        }
        for row in frame.collect()
    ]


def moment(time_ms: int) -> datetime:
    """An event time as rows have it."""
    return datetime.fromtimestamp(time_ms // 1000, tz=UTC) + timedelta(milliseconds=time_ms % 1000)


NOT_RECORDS: Sequence[bytes | None] = (
    None,
    b"",
    b"not JSON",
    b'{"sequence": 1, "time',
    b"[1, 2]",
    b"\xff\xfe\x00",
    b"{}",
)
"""What may lie in any topic and is no record of any kind."""


def times_ms(count: int, *, every_ms: int = 7, begin_ms: int = 1_700_000_000_000) -> list[int]:
    """Event times at even distances; fixed, so that every run has the same windows."""
    return [begin_ms + number * every_ms for number in range(count)]


def shuffled(values: Sequence[bytes], *, within: int) -> list[bytes]:
    """The same values, disordered: none is more than ``within`` places from where it was.

    >>> shuffled([b"a", b"b", b"c", b"d", b"e"], within=2)
    [b'b', b'a', b'd', b'c', b'e']
    """
    pieces = (values[first : first + within] for first in range(0, len(values), within))
    return [value for piece in pieces for value in reversed(piece)]
