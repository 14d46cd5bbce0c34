"""Lake ingest: records of many tables from one topic, one table each.

Plain PySpark. Taken out alone, with ``kafka = {"kafka.bootstrap.servers": "host:9092"}``, Spark's file sink writes a
folder per table, exactly once:

    rows = spark.readStream.format("kafka").options(**kafka, subscribe="rows").load()
    tables = lake(rows).writeStream.partitionBy("table").option("checkpointLocation", "/data/checkpoint")
    tables.start("/data/lake", format="parquet").awaitTermination()

A record is ``{"table": "t03", "payload": "…", "sequence": 7, "time_ms": 1700000000000}``. One that is not a
JSON object, has no payload, or names no table is dropped, so that it cannot stop the stream; each micro-batch's
progress shows under ``observedMetrics["lake"]`` how many ``records`` there were and how many ``malformed``.
"""

from __future__ import annotations

from pyspark.sql import DataFrame
from pyspark.sql import functions as F  # noqa: N812 - the name that PySpark's users know

_SCHEMA = "table STRING, sequence BIGINT, time_ms BIGINT, payload STRING"
_TABLE_NAME = r"^[A-Za-z0-9][A-Za-z0-9_.-]{0,127}\z"
_LAST_MS = 253_402_300_799_999
"""The end of the year 9999: Spark's timestamps go further, but not all that read a lake do."""


def lake(rows: DataFrame) -> DataFrame:
    """Raw records to ``(table, sequence, time, payload, partition, offset)``.

    Partition and offset in the topic tell where a row came from, and identify it if it should ever appear twice.
    A table's name becomes that of a folder: letters, digits, ``_``, ``-`` and ``.``, a letter or digit first.
    """
    record = F.from_json(F.col("value").cast("string"), _SCHEMA)
    time = F.when(F.col("record.time_ms").between(0, _LAST_MS), F.timestamp_millis("record.time_ms")).alias("time")
    parsed = rows.select(record.alias("record"), "partition", "offset").select("record.*", time, "partition", "offset")
    whole = F.coalesce(F.col("table").rlike(_TABLE_NAME) & F.col("payload").isNotNull(), F.lit(False))
    seen = parsed.observe("lake", F.count(F.lit(1)).alias("records"), F.count_if(~whole).alias("malformed"))
    return seen.where(whole).select("table", "sequence", "time", "payload", "partition", "offset")
