"""Taxi rides (Gesscale's stream): which of a city's sights each ride begins closest to.

Plain PySpark. Taken out alone, with ``kafka = {"kafka.bootstrap.servers": "host:9092"}``:

    rides = spark.readStream.format("kafka").options(**kafka, subscribe="rides").load()
    nearest = taxi(rides).writeStream.option("checkpointLocation", "/data/checkpoint")
    nearest.start("/data/rides", format="parquet").awaitTermination()

A record is ``{"medallion": "…", "pickup_longitude": -73.98, "pickup_latitude": 40.75, "time_ms": …, …}``. One that is
not a JSON object, has no pick-up on this globe or no time is dropped, so that it cannot stop the stream; each
micro-batch's progress shows under ``observedMetrics["taxi"]`` (or ``["rides_per_hotspot"]``) how many ``records``
there were and how many ``malformed``. All other members may be missing.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from types import MappingProxyType

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F  # noqa: N812 - the name that PySpark's users know

HOTSPOTS: Mapping[str, tuple[float, float]] = MappingProxyType(
    {
        "Brooklyn Bridge": (-73.9969, 40.7061),
        "Central Park": (-73.9708, 40.7740),
        "Times Square": (-73.9855, 40.7580),
    }
)
"""Longitude and latitude. The paper has three major sights of New York and does not name them."""

_SCHEMA = (
    "sequence BIGINT, time_ms BIGINT, medallion STRING, pickup_longitude DOUBLE, pickup_latitude DOUBLE, "
    "dropoff_longitude DOUBLE, dropoff_latitude DOUBLE, passenger_count INT, trip_distance DOUBLE, fare_amount DOUBLE"
)
_METRES_PER_DEGREE = 111_195.0
"""Of latitude, on a sphere of the Earth's mean radius."""
_LAST_MS = 253_402_300_799_999
"""The end of the year 9999; what is not a time must not become a watermark."""


def taxi(rides: DataFrame, hotspots: Mapping[str, tuple[float, float]] = HOTSPOTS) -> DataFrame:
    """Raw records to the ride with ``sequence`` and ``time``, and its ``hotspot`` and ``distance_m``.

    Stateless. The distance is Euclidean, on a flat map whose scale is right at the hotspots: good to a
    part in five hundred within a city. Of two hotspots that are equally close, the first by name is taken.
    """
    ride = _parsed(rides, "taxi")
    fields = [name for name in ride.columns if name not in ("sequence", "time")]
    placed = ride.withColumn("closest", _closest(hotspots))
    return placed.select("sequence", "time", *fields, "closest.hotspot", "closest.distance_m")


def rides_per_hotspot(
    rides: DataFrame,
    window_s: float = 60.0,
    *,
    hotspots: Mapping[str, tuple[float, float]] = HOTSPOTS,
    watermark_s: float = 30.0,
    audit: bool = False,
) -> DataFrame:
    """Raw records to ``(hotspot, window_start, rides)``: how many rides began closest to each, per window.

    In append mode a window appears once, when the newest event time is ``watermark_s`` beyond its end; in update mode
    at once, and again when it grows. Rides that are later than the watermark are not counted.
    ``audit`` adds ``records`` and ``sequence_sum``: rows that were counted and the sum of their sequence numbers.
    """
    parsed = _parsed(rides, "rides_per_hotspot")
    placed = parsed.select("sequence", "time", _closest(hotspots).getField("hotspot").alias("hotspot"))
    counted = [F.count(F.lit(1)).alias("rides")]
    if audit:
        counted += [F.count(F.lit(1)).alias("records"), F.try_sum("sequence").alias("sequence_sum")]
    timed = placed.withWatermark("time", _interval(watermark_s))
    windows = timed.groupBy("hotspot", F.window("time", _interval(window_s))).agg(*counted)
    return windows.select("hotspot", F.col("window.start").alias("window_start"), *windows.columns[2:])


def _closest(hotspots: Mapping[str, tuple[float, float]]) -> Column:
    """The least of ``(distance_m, hotspot)`` over all hotspots."""
    if not hotspots:
        raise ValueError("give at least one hotspot: a name with its longitude and latitude")
    middle = math.radians(math.fsum(latitude for _, latitude in hotspots.values()) / len(hotspots))
    metres_east, metres_north = _METRES_PER_DEGREE * math.cos(middle), _METRES_PER_DEGREE
    candidates = []
    for name, (longitude, latitude) in hotspots.items():
        east = (F.col("pickup_longitude") - longitude) * metres_east
        north = (F.col("pickup_latitude") - latitude) * metres_north
        distance = F.sqrt(east * east + north * north)
        candidates.append(F.struct(distance.alias("distance_m"), F.lit(name).alias("hotspot")))
    return F.array_min(F.array(*candidates))


def _parsed(rides: DataFrame, metric: str) -> DataFrame:
    record = F.from_json(F.col("value").cast("string"), _SCHEMA)
    time = F.when(F.col("record.time_ms").between(0, _LAST_MS), F.timestamp_millis("record.time_ms")).alias("time")
    parsed = rides.select(record.alias("record")).select("record.*", time).drop("time_ms")
    on_globe = F.col("pickup_longitude").between(-180, 180) & F.col("pickup_latitude").between(-90, 90)
    whole = F.coalesce(on_globe & F.col("time").isNotNull(), F.lit(False))
    seen = parsed.observe(metric, F.count(F.lit(1)).alias("records"), F.count_if(~whole).alias("malformed"))
    return seen.where(whole)


def _interval(seconds: float) -> str:
    return f"{round(seconds * 1000)} milliseconds"
