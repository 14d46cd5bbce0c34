"""Sinks that are given the same batch again, by hand and by Spark."""

from __future__ import annotations

import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pyarrow.dataset as ds
import pytest
from deltalake import DeltaTable
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.functions import col, concat, lit

import headgate
from headgate.errors import UserMistake
from headgate.spark.sinks import Sink

pytestmark = [pytest.mark.spark, pytest.mark.timeout(300)]

PATIENCE_S = 120.0
ROWS = 40
TABLES = 3


@dataclass(frozen=True)
class AllSinks:
    """Every kind of sink, side by side."""

    folder: Path
    writer: str | None = None

    @property
    def sinks(self) -> tuple[Sink, ...]:
        return (
            headgate.ParquetSink(self.folder / "parquet"),
            headgate.DeltaSink(self.folder / "delta", self.writer),
            headgate.TablesSink(self.folder / "tables"),
            headgate.TablesSink(self.folder / "delta-tables", format="delta", writer=self.writer),
        )

    def write(self, frame: DataFrame, batch_id: int) -> None:
        for sink in self.sinks:
            sink.write(frame, batch_id)

    def read(self) -> Iterator[list[int]]:
        """What each of them holds, as other programs see it."""
        for name in ("parquet", "tables"):
            yield sorted(ds.dataset(self.folder / name, partitioning="hive").to_table().column("value").to_pylist())
        yield sorted(DeltaTable(self.folder / "delta").to_pyarrow_table().column("value").to_pylist())
        tables = [DeltaTable(path) for path in (self.folder / "delta-tables").glob("table=*")]
        assert len(tables) == TABLES
        yield sorted(value for table in tables for value in table.to_pyarrow_table().column("value").to_pylist())


def rows(spark: SparkSession, first: int, end: int) -> DataFrame:
    return named(spark.range(first, end, numPartitions=2).withColumnRenamed("id", "value"))


def named(frame: DataFrame) -> DataFrame:
    return frame.select("value", concat(lit("t-"), (col("value") % TABLES).cast("string")).alias("table"))


def test_a_batch_that_is_written_again_replaces_itself(spark: SparkSession, tmp_path: Path) -> None:
    everywhere = AllSinks(tmp_path, writer="tests")
    everywhere.write(rows(spark, 0, 10), 0)
    # A first try that got as far as one of the tables before its driver died.
    headgate.TablesSink(tmp_path / "delta-tables", format="delta", writer="tests").write(
        rows(spark, 10, 20).where("table = 't-1'"), 1
    )
    headgate.TablesSink(tmp_path / "tables").write(rows(spark, 10, 20).where("table = 't-1'"), 1)
    headgate.ParquetSink(tmp_path / "parquet").write(rows(spark, 10, 15), 1)
    everywhere.write(rows(spark, 10, 20), 1)
    everywhere.write(rows(spark, 10, 20), 1)
    for held in everywhere.read():
        assert held == list(range(20))
    for name in ("tables", "delta-tables"):
        folders = sorted(path.name for path in (tmp_path / name).glob("*=*"))
        assert folders == [f"table=t-{number}" for number in range(TABLES)]


def test_sinks_are_exact_when_spark_runs_a_batch_again(spark: SparkSession, tmp_path: Path) -> None:
    everywhere = AllSinks(tmp_path / "out")
    checkpoint = tmp_path / "checkpoint"

    def batches() -> set[int]:
        return {int(path.name) for path in (checkpoint / "commits").glob("[0-9]*")}

    def run_until(batch_id: int) -> None:
        stream = spark.readStream.format("rate-micro-batch").option("rowsPerBatch", ROWS).load()
        operator = headgate.operator(
            spark,
            name="everywhere",
            transform=named,
            source=stream,
            sink=everywhere,
            checkpoint=checkpoint,
            parallelism=2,
            trigger_s=0.0,
        )
        give_up_s = time.monotonic() + PATIENCE_S
        while batch_id not in batches() and operator.query.isActive and time.monotonic() < give_up_s:
            time.sleep(0.2)
        assert operator.query.exception() is None
        operator.stop()

    run_until(1)
    last = max(batches())
    (checkpoint / "commits" / str(last)).unlink()
    (checkpoint / "commits" / f".{last}.crc").unlink(missing_ok=True)
    run_until(last + 1)

    committed = (max(batches()) + 1) * ROWS
    for held in everywhere.read():
        # A batch that was under way at the end is written, but not yet said to be.
        assert [value for value in held if value < committed] == list(range(committed))


def test_a_sink_of_tables_says_which_column_is_missing(spark: SparkSession, tmp_path: Path) -> None:
    with pytest.raises(UserMistake, match="column 'country', but there are value, table"):
        headgate.TablesSink(tmp_path, by="country").write(rows(spark, 0, 1), 0)


def test_a_delta_sink_outside_of_a_query_must_know_its_writer(spark: SparkSession, tmp_path: Path) -> None:
    with pytest.raises(UserMistake, match="give it writer="):
        headgate.DeltaSink(tmp_path / "table").write(rows(spark, 0, 1), 0)
