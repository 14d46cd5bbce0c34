"""What a checkpoint says about its query, read through Spark's own file system, wherever it is kept."""

from __future__ import annotations

import json
from typing import Any

from py4j.protocol import Py4JError
from pyspark.sql import SparkSession

STATE_PARTITIONS = "spark.sql.shuffle.partitions"


def state_partitions(spark: SparkSession, checkpoint: str) -> int | None:
    """Into how many partitions the query's first batch cut its state, for good; ``None`` before there was one."""
    newest = max((int(name) for name in _names(spark, f"{checkpoint}/offsets") if name.isdigit()), default=None)
    if newest is None:
        return None
    lines = (_text(spark, f"{checkpoint}/offsets/{newest}") or "").splitlines()
    try:
        return int(json.loads(lines[1])["conf"][STATE_PARTITIONS])
    except (IndexError, KeyError, TypeError, ValueError):
        return None


def first_offset(spark: SparkSession, checkpoint: str, source: int) -> Any:
    """Where a query began to read one of its sources, as that source noted it; ``None`` if it did not."""
    text = _text(spark, f"{checkpoint}/sources/{source}/0")
    try:
        # A version stands before it, after a zero byte that tells old releases of Spark to stay away.
        return json.loads((text or "").partition("\n")[2])
    except ValueError:
        return None


def _names(spark: SparkSession, folder: str) -> list[str]:
    path, files = _open(spark, folder)
    try:
        return [str(status.getPath().getName()) for status in files.listStatus(path)]
    except Py4JError:
        return []


def _text(spark: SparkSession, name: str) -> str | None:
    path, files = _open(spark, name)
    jvm: Any = spark.sparkContext._jvm
    try:
        stream = files.open(path)
    except Py4JError:
        return None
    try:
        return str(jvm.org.apache.commons.io.IOUtils.toString(stream, "UTF-8"))
    finally:
        stream.close()


def _open(spark: SparkSession, name: str) -> tuple[Any, Any]:
    context: Any = spark.sparkContext
    path = context._jvm.org.apache.hadoop.fs.Path(name)
    return path, path.getFileSystem(context._jsc.hadoopConfiguration())
