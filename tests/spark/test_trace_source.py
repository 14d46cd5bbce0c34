"""The trace source under real queries: exact, bounded, and honest about its backlog."""

from __future__ import annotations

import hashlib
import json
import time
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.streaming.query import StreamingQuery

from headgate.errors import UserMistake
from headgate.pipelines.hashing import BLOCK_BYTES, burn, measure_block_us
from headgate.spark.audit import audit_parquet, committed_files
from headgate.spark.content import values_of
from headgate.spark.trace_options import TraceOptions
from headgate.spark.trace_source import RAW_SCHEMA, TraceReader, trace_stream
from headgate.workloads.records import event_times_ms, key_bytes, parse_keys, parse_records

pytestmark = pytest.mark.spark


def arrived(**options: object) -> TraceOptions:
    """A trace of 3 000 records that has begun a minute ago and is over."""
    given = {"workload": "constant:rate=100", "duration_s": 30.0, "start_time_s": time.time() - 60.0, **options}
    return TraceOptions(**given)  # type: ignore[arg-type]


def into(folder: Path, frame: DataFrame) -> StreamingQuery:
    """Write everything that has arrived and end."""
    writer = frame.writeStream.format("parquet").option("path", str(folder / "sink"))
    query = writer.option("checkpointLocation", str(folder / "checkpoint")).trigger(availableNow=True).start()
    query.awaitTermination(120)
    return query


def test_batches_respect_the_limit_and_progress_shows_the_backlog(spark: SparkSession, tmp_path: Path) -> None:
    options = arrived(records_per_trigger=1000, partitions=2, process="poisson", seed=3)
    total = int(options.curve()[-1])
    query = into(tmp_path, trace_stream(spark, options))
    sources = [progress.sources[0] for progress in query.recentProgress if progress.numInputRows > 0]
    ends = [json.loads(source.endOffset)["records"] for source in sources]
    assert ends[:2] == [1000, 2000]
    assert ends[-1] == total
    assert {json.loads(source.latestOffset)["records"] for source in sources} == {total}
    assert audit_parquet(tmp_path / "sink", total).exact


def test_a_query_that_is_started_again_goes_on_where_it_was(spark: SparkSession, tmp_path: Path) -> None:
    options = arrived(partitions=3, skew=1.0)
    early = trace_stream(spark, options)
    writer = early.writeStream.format("parquet").option("path", str(tmp_path / "sink"))
    query = writer.option("checkpointLocation", str(tmp_path / "checkpoint")).start()
    query.processAllAvailable()
    query.stop()
    into(tmp_path, trace_stream(spark, options))
    audit = audit_parquet(tmp_path / "sink", 3000)
    assert audit.summary == "all 3000 records are in the sink exactly once and with the right content"


def test_work_is_really_done_for_every_record(spark: SparkSession, tmp_path: Path) -> None:
    into(tmp_path, burn(trace_stream(spark, arrived(duration_s=1.0)), iterations=10))
    rows = [row for file in committed_files(tmp_path / "sink") for row in pq.read_table(file).to_pylist()]
    assert len(rows) == 100
    for row in rows[:5]:
        text = str(row["value"])
        whole = (text * (10 * BLOCK_BYTES))[: 10 * BLOCK_BYTES]
        assert row["digest"] == hashlib.sha256(whole.encode()).hexdigest()
        assert row["value"] == int(values_of(np.array([row["offset"]]))[0])


def test_the_cost_of_work_can_be_measured(spark: SparkSession) -> None:
    assert 0.01 < measure_block_us(spark) < 100


def test_a_wrong_workload_is_refused_before_spark_is_asked(spark: SparkSession) -> None:
    with pytest.raises(UserMistake, match="unknown"):
        trace_stream(spark, arrived(workload="sinus"))


def test_raw_records_have_the_columns_and_the_content_of_a_topic(spark: SparkSession, tmp_path: Path) -> None:
    options = arrived(records="rows:size=120", keys="zipf:keys=20", partitions=3, records_per_trigger=1700, seed=8)
    frame = trace_stream(spark, options)
    assert frame.schema == spark.createDataFrame([], RAW_SCHEMA).schema
    into(tmp_path, frame)
    rows = [row for file in committed_files(tmp_path / "sink") for row in pq.read_table(file).to_pylist()]
    rows.sort(key=lambda row: row["offset"])
    numbers = np.arange(3000)
    assert [row["offset"] for row in rows] == numbers.tolist()
    times_ms = event_times_ms(options.curve(), options.start_time_s, numbers).tolist()
    assert [row["value"] for row in rows] == parse_records("rows:size=120", seed=8).values(0, times_ms)
    keys = parse_keys("zipf:keys=20", seed=8).numbers(numbers)
    assert keys is not None
    assert [row["key"] for row in rows] == key_bytes(keys)
    assert {row["topic"] for row in rows} == {"trace"}
    assert {row["timestampType"] for row in rows} == {0}
    assert {row["partition"] for row in rows} == {0, 1, 2}
    assert [int(row["timestamp"].timestamp() * 1000) for row in rows] == times_ms


def test_raw_records_are_the_same_however_they_are_cut() -> None:
    tables = []
    for partitions in (1, 5):
        options = arrived(records="words", start_time_s=1_800_000_000.123456, partitions=partitions, process="poisson")
        reader = TraceReader(options)
        planned = reader.partitions({"records": 700}, {"records": 2000})
        tables.append(pa.Table.from_batches([batch for piece in planned for batch in reader.read(piece)]))
    assert tables[0].drop(["partition"]).combine_chunks() == tables[1].drop(["partition"]).combine_chunks()
    assert tables[0].column("key").null_count == 1300


def test_wrong_records_are_refused_before_spark_is_asked() -> None:
    with pytest.raises(UserMistake, match="did you mean 'words'"):
        arrived(records="word")
    with pytest.raises(UserMistake, match="did you mean 'zipf'"):
        arrived(records="words", keys="zip")
