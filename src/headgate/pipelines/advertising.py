"""Advertising (the Yahoo streaming benchmark): views of each campaign in windows of event time.

Plain PySpark. Taken out alone, with ``kafka = {"kafka.bootstrap.servers": "host:9092"}`` and a table of all
advertisements at ``ads.csv``:

    events = spark.readStream.format("kafka").options(**kafka, subscribe="ads").load()
    views = advertising(events, spark.read.csv("ads.csv", header=True)).writeStream
    views.option("checkpointLocation", "/data/checkpoint").start(format="console").awaitTermination()

A record is ``{"ad_id": "…", "event_type": "view", "time_ms": 1700000000000, …}``. One that is not a JSON object or
lacks one of these three is dropped, so that it cannot stop the stream; each micro-batch's progress shows under
``observedMetrics["advertising"]`` how many ``records`` there were and how many ``malformed``. Views of
advertisements that belong to no campaign are left out, as in the benchmark.
"""

from __future__ import annotations

from pyspark.sql import DataFrame
from pyspark.sql import functions as F  # noqa: N812 - the name that PySpark's users know

_SCHEMA = "sequence BIGINT, time_ms BIGINT, ad_id STRING, event_type STRING"
_LAST_MS = 253_402_300_799_999
"""The end of the year 9999; what is not a time must not become a watermark."""


def advertising(
    events: DataFrame, campaigns: DataFrame, *, window_s: float = 10.0, watermark_s: float = 30.0, audit: bool = False
) -> DataFrame:
    """Raw records and the static table ``(ad_id, campaign_id)`` to ``(campaign_id, window_start, views)``.

    In append mode a window appears once, when the newest event time is ``watermark_s`` beyond its end; in update mode
    at once, and again when it grows. Events that are later than the watermark are not counted.
    ``audit`` adds ``records`` and ``sequence_sum``: rows that were counted and the sum of their sequence numbers.
    """
    record = F.from_json(F.col("value").cast("string"), _SCHEMA)
    time = F.when(F.col("record.time_ms").between(0, _LAST_MS), F.timestamp_millis("record.time_ms")).alias("time")
    parsed = events.select(record.alias("record")).select("record.*", time)
    whole = F.col("time").isNotNull() & F.col("ad_id").isNotNull() & F.col("event_type").isNotNull()
    seen = parsed.observe("advertising", F.count(F.lit(1)).alias("records"), F.count_if(~whole).alias("malformed"))
    views = seen.where(whole & (F.col("event_type") == "view"))
    timed = views.select("sequence", "ad_id", "time").withWatermark("time", _interval(watermark_s))
    known = F.broadcast(campaigns.select(F.col("ad_id").cast("string"), "campaign_id"))
    joined = timed.join(known, "ad_id")
    counted = [F.count(F.lit(1)).alias("views")]
    if audit:
        counted += [F.count(F.lit(1)).alias("records"), F.try_sum("sequence").alias("sequence_sum")]
    windows = joined.groupBy("campaign_id", F.window("time", _interval(window_s))).agg(*counted)
    return windows.select("campaign_id", F.col("window.start").alias("window_start"), *windows.columns[2:])


def _interval(seconds: float) -> str:
    return f"{round(seconds * 1000)} milliseconds"
