"""What Spark does for a consumer: a batch read with explicit offsets, and a write of all tables at once, aside.

Batch reads, because the partitions of a *streaming* query cannot change while it runs.
"""

from __future__ import annotations

import json
from collections.abc import Callable

from pyspark.sql import DataFrame, Observation, SparkSession
from pyspark.sql import functions as F  # noqa: N812 - the name that PySpark's users know

from headgate.consumers.cycle import Intake
from headgate.consumers.lake import Lake
from headgate.consumers.messages import split
from headgate.errors import UserMistake
from headgate.kafka.settings import KafkaSettings

Transform = Callable[[DataFrame], DataFrame]
"""From records of Kafka to rows with a column ``table``."""

_FETCHING = {"kafka.max.partition.fetch.bytes": "262144", "kafka.fetch.max.wait.ms": "20"}
"""All partitions are fetched ahead of their reading, and the heap is small; and a connection that waits at the end of a
partition has to end that before it goes elsewhere, one after the other for each of them."""
_KAFKA_COLUMNS = (
    "key BINARY, value BINARY, topic STRING, partition INT, offset BIGINT, timestamp TIMESTAMP, timestampType INT"
)


class Ingest:
    def __init__(self, session: SparkSession, kafka: KafkaSettings, *, transform: Transform, lake: Lake) -> None:
        self._session = session
        self._kafka = kafka
        self._transform = transform
        self._lake = lake

    def rehearse(self, name: str) -> None:
        """Let Spark do once what it will do in each cycle, before partitions wait for it."""
        empty = self._session.createDataFrame([(None, b"{}", "", 0, 0, None, 0)], _KAFKA_COLUMNS)
        self._write_aside(empty, name)
        # The user's function may have left out the empty row, and then nothing was written yet.
        row = self._session.createDataFrame([("rehearsal", 0)], "table string, sequence long")
        row.write.partitionBy("table").mode("append").parquet(str(self._lake.aside(name)))
        self._lake.rehearse(name)
        self._lake.forget(name)

    def bring(self, intake: Intake, name: str) -> tuple[int, int]:
        """Read what is to be taken in and write it aside, under a name; how many records and bytes it was."""
        return self._write_aside(self._read(intake), name) if intake.records else (0, 0)

    def _read(self, intake: Intake) -> DataFrame:
        starts: dict[str, dict[str, int]] = {}
        ends: dict[str, dict[str, int]] = {}
        for partition, (first, end) in intake.ranges.items():
            topic, number = split(partition)
            starts.setdefault(topic, {})[str(number)] = first + intake.lost.get(partition, 0)
            ends.setdefault(topic, {})[str(number)] = end
        assigned = {topic: [int(number) for number in numbers] for topic, numbers in starts.items()}
        return (
            self._session.read.format("kafka")
            .options(**_FETCHING)
            .options(**self._kafka.for_spark())
            .option("assign", json.dumps(assigned))
            .option("startingOffsets", json.dumps(starts))
            .option("endingOffsets", json.dumps(ends))
            .load()
        )

    def _write_aside(self, records: DataFrame, name: str) -> tuple[int, int]:
        seen = Observation()
        size = F.coalesce(F.length("key"), F.lit(0)) + F.coalesce(F.length("value"), F.lit(0))
        counted = records.observe(seen, F.count(F.lit(1)).alias("records"), F.sum(size).alias("bytes"))
        rows = self._transform(counted)
        check_rows(rows)
        # A task each for all partitions would cost more than what they read, and make as many files of each table.
        few = rows.coalesce(self._session.sparkContext.defaultParallelism)
        few.write.partitionBy("table").mode("overwrite").parquet(str(self._lake.aside(name)))
        return int(seen.get["records"]), int(seen.get["bytes"] or 0)


def check_rows(rows: DataFrame) -> None:
    """Refuse a function whose rows do not say which table they belong to."""
    if "table" not in rows.columns:
        raise UserMistake(f"the function's rows have no column 'table' (only {', '.join(rows.columns)}); add it")
