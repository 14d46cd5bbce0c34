"""Traffic monitoring: the average speed around points of interest, and alerts for vehicles that are too fast.

Plain PySpark. Taken out alone, with ``kafka = {"kafka.bootstrap.servers": "host:9092"}``:

    vehicles = spark.readStream.format("kafka").options(**kafka, subscribe="vehicles").load()
    speeds = traffic(vehicles, {"station": (4000, 6200)}, radius_m=300).writeStream
    speeds.option("checkpointLocation", "/data/checkpoint").start(format="console").awaitTermination()

A record is ``{"vehicle": "…", "x": 512.0, "y": 80.5, "speed": 12.4, "time_ms": 1700000000000, …}``, in metres and
metres per second. One that is not a JSON object, lacks one of these, or has a speed that no vehicle has
(below 0 or above 1 000 m/s) is dropped, so that it cannot stop the stream; each micro-batch's progress shows under
``observedMetrics["traffic"]`` (or ``["speeding"]``) how many ``records`` there were and how many ``malformed``.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from types import MappingProxyType

from pyspark.sql import DataFrame
from pyspark.sql import functions as F  # noqa: N812 - the name that PySpark's users know

POINTS: Mapping[str, tuple[float, float]] = MappingProxyType(
    {
        "centre": (5000.0, 5000.0),
        "north-east": (7600.0, 7600.0),
        "north-west": (2400.0, 7600.0),
        "south-east": (7600.0, 2400.0),
        "south-west": (2400.0, 2400.0),
    }
)
"""Crossings in a city of 10 km by 10 km: metres east and north of its corner."""

_SCHEMA = "sequence BIGINT, time_ms BIGINT, vehicle STRING, x DOUBLE, y DOUBLE, speed DOUBLE"
_LAST_MS = 253_402_300_799_999
"""The end of the year 9999; what is not a time must not become a watermark."""


def traffic(
    vehicles: DataFrame,
    points: Mapping[str, tuple[float, float]] = POINTS,
    *,
    radius_m: float = 1000.0,
    window_s: float = 10.0,
    watermark_s: float = 30.0,
    audit: bool = False,
) -> DataFrame:
    """Raw records to ``(point, window_start, sightings, mean_speed)``.

    A sighting is a record of a vehicle that is no further than ``radius_m`` from the point; circles may overlap.
    Speeds are added in millimetres per second, as whole numbers, so that the mean does not depend on the order in
    which they arrive. In append mode a window appears once, when the newest event time is ``watermark_s`` beyond its
    end; in update mode at once, and again when it grows. Records that are later than the watermark are not counted.
    ``audit`` adds ``records`` and ``sequence_sum``: rows that were counted and the sum of their sequence numbers.
    """
    if not points:
        raise ValueError("give at least one point: a name with its x and y in metres")
    around = [
        F.struct(F.lit(name).alias("point"), F.lit(float(x)).alias("x"), F.lit(float(y)).alias("y"))
        for name, (x, y) in points.items()
    ]
    east, north = F.col("x") - F.col("at.x"), F.col("y") - F.col("at.y")
    timed = _parsed(vehicles, "traffic").withWatermark("time", _interval(watermark_s))
    paired = timed.withColumn("at", F.explode(F.array(*around)))
    near = paired.where(east * east + north * north <= radius_m * radius_m)
    sightings, speeds_mm = F.count(F.lit(1)), F.sum(F.round(F.col("speed") * 1000).cast("bigint"))
    measured = [sightings.alias("sightings"), (speeds_mm / (sightings * 1000)).alias("mean_speed")]
    if audit:
        measured += [sightings.alias("records"), F.try_sum("sequence").alias("sequence_sum")]
    windows = near.groupBy("at.point", F.window("time", _interval(window_s))).agg(*measured)
    return windows.select("point", F.col("window.start").alias("window_start"), *windows.columns[2:])


def speeding(vehicles: DataFrame, limit: float = 50 / 3.6) -> DataFrame:
    """Raw records to ``(sequence, time, vehicle, x, y, speed, excess)``: one alert for each that is above the limit.

    Speeds and the limit are in metres per second. Stateless: a vehicle that stays too fast is reported each time.
    """
    alerts = _parsed(vehicles, "speeding").where(F.col("speed") > limit)
    return alerts.select("sequence", "time", "vehicle", "x", "y", "speed", (F.col("speed") - limit).alias("excess"))


def _parsed(vehicles: DataFrame, metric: str) -> DataFrame:
    record = F.from_json(F.col("value").cast("string"), _SCHEMA)
    time = F.when(F.col("record.time_ms").between(0, _LAST_MS), F.timestamp_millis("record.time_ms")).alias("time")
    parsed = vehicles.select(record.alias("record")).select("record.*", time)
    placed = (F.abs("x") < math.inf) & (F.abs("y") < math.inf)
    moving = F.col("time").isNotNull() & F.col("vehicle").isNotNull() & F.col("speed").between(0, 1000)
    whole = F.coalesce(placed & moving, F.lit(False))
    seen = parsed.observe(metric, F.count(F.lit(1)).alias("records"), F.count_if(~whole).alias("malformed"))
    return seen.where(whole).select("sequence", "time", "vehicle", "x", "y", "speed")


def _interval(seconds: float) -> str:
    return f"{round(seconds * 1000)} milliseconds"
