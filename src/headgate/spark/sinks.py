"""Where an operator's results end up, written so that a batch that runs again changes nothing.

Spark repeats a micro-batch, with the same number and the same input, when it was not known to be
finished. Each sink here makes a repetition replace or skip the first try: the numbers of the batches are in the
data's place (Parquet) or in the table's own log (Delta Lake). A topic cannot do that: what is written
to one is there at least once, and who reads it de-duplicates.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any, Protocol, runtime_checkable

from pyspark import inheritable_thread_target
from pyspark.sql import DataFrame
from pyspark.sql.functions import col, lit

from headgate.errors import UserMistake

BATCH = "batch"
"""The folder level that Parquet sinks add, and so the column that readers of the whole folder see."""

_FORMATS = ("parquet", "delta")
_QUERY_ID = "sql.streaming.queryId"
_TABLES_AT_ONCE = 4
_TOPIC_COLUMNS = ("key", "value", "headers", "partition")


@runtime_checkable
class Sink(Protocol):
    """Takes the result of one micro-batch; must look at it once only, because each look makes it anew."""

    def write(self, frame: DataFrame, batch_id: int) -> None: ...


@dataclass(frozen=True, slots=True)
class ParquetSink:
    """Each micro-batch is a folder of its own, ``path/batch=N``: any program that reads Parquet can read ``path``."""

    path: str | Path

    def write(self, frame: DataFrame, batch_id: int) -> None:
        if BATCH in frame.columns:
            raise UserMistake(
                f"a column is called '{BATCH}', as are the folders of the Parquet sink; rename the column"
            )
        frame.write.mode("overwrite").parquet(f"{self.path}/{BATCH}={batch_id}")


@dataclass(frozen=True, slots=True)
class DeltaSink:
    """A Delta Lake table, whose log remembers the last batch of each writer.

    The writer is the query, by the id that its checkpoint keeps, unless another name is given.
    """

    path: str | Path
    writer: str | None = None

    def write(self, frame: DataFrame, batch_id: int) -> None:
        _append_to_delta(frame, str(self.path), writer=self.writer or _query_id(frame), batch_id=batch_id)


@dataclass(frozen=True, slots=True)
class TablesSink:
    """Records of many tables, each into its own below ``path``: in the folder ``<by>=<table>``, without that column.

    Parquet tables are all written by one job, as ``<by>=<table>/batch=N``. Delta tables have a commit each, so the
    batch is kept in the executors until the last of them.
    """

    path: str | Path
    by: str = "table"
    format: str = "parquet"
    writer: str | None = None

    def __post_init__(self) -> None:
        if self.format not in _FORMATS:
            raise UserMistake(f"format={self.format!r} is not known to the sink of tables; give parquet or delta")

    def write(self, frame: DataFrame, batch_id: int) -> None:
        if self.by not in frame.columns:
            raise UserMistake(
                f"the sink of tables goes by column '{self.by}', but there are {', '.join(frame.columns)}; "
                "name one of them with by="
            )
        if self.format == "parquet":
            self._write_parquet(frame, batch_id)
        else:
            self._write_delta(frame, batch_id)

    def _write_parquet(self, frame: DataFrame, batch_id: int) -> None:
        # Only the folders of this batch are replaced, and the same batch has the same tables again.
        placed = frame.withColumn(BATCH, lit(batch_id))
        writer = placed.write.mode("overwrite").option("partitionOverwriteMode", "dynamic")
        writer.partitionBy(self.by, BATCH).parquet(str(self.path))

    def _write_delta(self, frame: DataFrame, batch_id: int) -> None:
        writer = self.writer or _query_id(frame)
        kept = frame.persist()
        try:
            tables = [row[0] for row in kept.select(self.by).distinct().collect()]

            def append(table: Any) -> None:
                part = kept.where(col(self.by).eqNullSafe(lit(table))).drop(self.by)
                _append_to_delta(part, f"{self.path}/{self._folder(frame, table)}", writer=writer, batch_id=batch_id)

            _run_at_once(frame, append, tables)
        finally:
            kept.unpersist()

    def _folder(self, frame: DataFrame, table: Any) -> str:
        """As Spark names the folder of a partition, with what no file name may have written otherwise."""
        jvm: Any = frame.sparkSession.sparkContext._jvm
        names = jvm.org.apache.spark.sql.catalyst.catalog.ExternalCatalogUtils
        return str(names.getPartitionPathString(self.by, None if table is None else str(table)))


@dataclass(frozen=True, slots=True)
class TopicSink:
    """A Kafka topic, through Spark's own sink: at least once."""

    topic: str
    options: Mapping[str, str] = field(default_factory=dict, repr=False)

    def write(self, frame: DataFrame, batch_id: int) -> None:  # noqa: ARG002 - a topic knows no batches
        message = frame.select(*(name for name in _TOPIC_COLUMNS if name in frame.columns))
        message.write.format("kafka").options(**self.options).option("topic", self.topic).save()


def check_message(frame: DataFrame, *, operator: str, topic: str) -> None:
    """Refuse a frame that cannot be written to a topic, before there is any data."""
    kinds = dict(frame.dtypes)
    if kinds.get("value") not in ("string", "binary"):
        found = ", ".join(f"{name} {kind}" for name, kind in kinds.items()) or "none"
        raise UserMistake(
            f"operator '{operator}' writes to topic '{topic}', so its transform must give a column 'value' of text or "
            f"bytes; it gives {found}"
        )
    if kinds.get("key", "binary") not in ("string", "binary"):
        raise UserMistake(
            f"operator '{operator}' gives a column 'key' of type {kinds['key']}; keys of messages are text or bytes"
        )


def _append_to_delta(frame: DataFrame, path: str, *, writer: str, batch_id: int) -> None:
    appended = frame.write.format("delta").mode("append")
    appended.option("txnAppId", writer).option("txnVersion", batch_id).save(path)


def _query_id(frame: DataFrame) -> str:
    """The id of the query whose batch is being written; it is kept in the checkpoint."""
    found = frame.sparkSession.sparkContext.getLocalProperty(_QUERY_ID)
    if found is None:
        raise UserMistake(
            "a Delta sink was used outside of a streaming query, so it cannot tell whose batch this is; give it writer="
        )
    return str(found)


def _run_at_once(frame: DataFrame, append: Callable[[Any], None], tables: list[Any]) -> None:
    """A few commits at a time, because each mostly waits; jobs stay those of the query that they belong to."""
    # A wrapping for each, because all calls of one share the properties that Spark writes into.
    tasks = [inheritable_thread_target(frame.sparkSession)(partial(append, table)) for table in tables]
    with ThreadPoolExecutor(_TABLES_AT_ONCE, thread_name_prefix="headgate-tables") as pool:
        for done in [pool.submit(task) for task in tasks]:
            done.result()
