"""Lake ingest: by hand, from a topic into one folder per table, and over the embedded trace source."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest
from bounded import (
    DEADLINE_S,
    NOT_RECORDS,
    fill,
    moment,
    raw_records,
    run,
    static_records,
    static_rows,
    times_ms,
    trace_records,
    trace_times_ms,
)
from pyspark.sql import SparkSession
from reference_lake import tables

from headgate.kafka.settings import KafkaSettings
from headgate.pipelines.lake import lake
from headgate.workloads.records.rows import Rows

pytestmark = pytest.mark.spark


def row(**members: Any) -> bytes:
    return json.dumps({"table": "t", "payload": "p", "sequence": 1, "time_ms": 5, **members}).encode()


NOT_ROWS = (
    row(table="../etc"),
    row(table=""),
    row(table=".hidden"),
    row(table="_delta_log"),
    row(table="a/b"),
    row(table="t\n"),
    row(table="t" * 129),
    row(table=None),
    row(payload=None),
)
"""JSON that belongs into no table."""


def test_a_row_keeps_where_it_came_from(spark: SparkSession) -> None:
    rows = [*NOT_RECORDS, *NOT_ROWS, row(), row(table="a.b-c_9", payload={"deep": [1]}, time_ms=10**17, sequence=None)]
    first = len(NOT_RECORDS) + len(NOT_ROWS)
    assert static_rows(lake(static_records(spark, rows))) == [
        {"table": "t", "sequence": 1, "time": moment(5), "payload": "p", "partition": 0, "offset": first},
        {
            "table": "a.b-c_9",
            "sequence": None,
            "time": None,
            "payload": '{"deep":[1]}',
            "partition": 0,
            "offset": first + 1,
        },
    ]


def test_taken_out_alone_it_fills_one_folder_per_table(
    spark: SparkSession, kafka: KafkaSettings, tmp_path: Path
) -> None:
    rows = Rows(tables=5, seed=3).values(0, times_ms(2000))
    topic = fill(kafka, "rows", [*rows, *NOT_RECORDS, *NOT_ROWS])
    writer = lake(raw_records(spark, kafka, topic, per_batch=900)).writeStream.partitionBy("table")
    writer = writer.option("checkpointLocation", str(tmp_path / "checkpoint")).trigger(availableNow=True)
    query = writer.start(str(tmp_path / "lake"), format="parquet")
    assert query.awaitTermination(DEADLINE_S)
    observed = [progress.observedMetrics["lake"] for progress in query.recentProgress if progress.numInputRows > 0]
    assert [len(observed), sum(metrics["malformed"] for metrics in observed)] == [3, len(NOT_RECORDS) + len(NOT_ROWS)]
    wanted = tables(rows)
    assert {path.name for path in (tmp_path / "lake").glob("table=*")} == {f"table={name}" for name in wanted}
    for name, expected in wanted.items():
        files = (tmp_path / "lake" / f"table={name}").glob("*.parquet")
        held = [
            (row["sequence"], row["payload"])
            for file in files
            for row in pq.ParquetFile(file).read(columns=["sequence", "payload"]).to_pylist()
        ]
        assert sorted(held) == sorted((sequence, payload) for sequence, (_, payload) in expected.items())


def test_the_trace_source_feeds_it(spark: SparkSession, tmp_path: Path) -> None:
    outcome = run(lake(trace_records(spark, "rows:tables=3", seed=4, count=500)), tmp_path)
    wanted = tables(Rows(tables=3, seed=4).values(0, trace_times_ms(500)))
    found = [(row["table"], row["sequence"], row["time"], row["payload"]) for row in outcome.rows]
    assert sorted(found) == sorted(
        (name, sequence, moment(time_ms), payload)
        for name, rows in wanted.items()
        for sequence, (time_ms, payload) in rows.items()
    )
