"""Taxi rides: by hand, over a topic in disorder, and over the embedded trace source."""

from __future__ import annotations

import json
from collections import defaultdict
from pathlib import Path
from typing import Any

import pytest
from bounded import (
    NOT_RECORDS,
    fill,
    moment,
    raw_records,
    run,
    shuffled,
    static_records,
    static_rows,
    times_ms,
    trace_records,
    trace_times_ms,
)
from pyspark.sql import SparkSession
from reference_taxi import closest_hotspots
from reference_windows import window_start

from headgate.kafka.settings import KafkaSettings
from headgate.pipelines.taxi import HOTSPOTS, rides_per_hotspot, taxi
from headgate.workloads.records.rides import Rides

pytestmark = pytest.mark.spark

BEGIN_MS = 1_700_000_000_000
FAR_MS = 1_800_000_000_000


def ride(longitude: Any, latitude: Any, **members: Any) -> bytes:
    whole = {"sequence": 0, "time_ms": BEGIN_MS, "pickup_longitude": longitude, "pickup_latitude": latitude, **members}
    return json.dumps(whole).encode()


IMPOSSIBLE = (ride(-200.0, 40.0), ride(-74.0, float("nan")), ride(None, 40.0), ride(-74.0, 40.0, time_ms=None))
"""JSON that no taxi sent."""


def test_a_ride_gets_its_closest_hotspot(spark: SparkSession) -> None:
    hotspots = {"west": (0.0, 0.0), "east": (0.1, 0.0)}
    rides = [
        ride(0.04, 0.0, sequence=1, medallion="007", passenger_count=2, trip_distance=1.5, fare_amount=9.5),
        ride(0.1, 0.001, sequence=2),
        ride(0.05, 0.0, sequence=3),
        *IMPOSSIBLE,
        *NOT_RECORDS,
    ]
    frame = taxi(static_records(spark, rides), hotspots)
    first, second, third = sorted(static_rows(frame), key=lambda row: row["sequence"])
    assert first == {
        "sequence": 1,
        "time": moment(BEGIN_MS),
        "medallion": "007",
        "pickup_longitude": 0.04,
        "pickup_latitude": 0.0,
        "dropoff_longitude": None,
        "dropoff_latitude": None,
        "passenger_count": 2,
        "trip_distance": 1.5,
        "fare_amount": 9.5,
        "hotspot": "west",
        "distance_m": pytest.approx(4447.8),
    }
    assert (second["hotspot"], second["distance_m"]) == ("east", pytest.approx(111.195))
    assert third["hotspot"] == "east", "of two at the same distance, the first by name"


def test_rides_are_counted_by_hotspot_and_window(spark: SparkSession) -> None:
    rides = [
        ride(-73.985, 40.758),
        ride(-73.986, 40.758, time_ms=BEGIN_MS + 59_000),
        ride(-73.997, 40.706),
        *IMPOSSIBLE,
        *NOT_RECORDS,
    ]
    rows = static_rows(rides_per_hotspot(static_records(spark, rides), 20))
    assert {(row["hotspot"], row["window_start"]): row["rides"] for row in rows} == {
        ("Times Square", moment(BEGIN_MS)): 1,
        ("Times Square", moment(BEGIN_MS + 40_000)): 1,
        ("Brooklyn Bridge", moment(BEGIN_MS)): 1,
    }


def test_rides_and_windows_of_a_disordered_topic_are_exact(
    spark: SparkSession, kafka: KafkaSettings, tmp_path: Path
) -> None:
    rides = Rides(seed=8).values(0, times_ms(2400, every_ms=50))
    closing = [ride(-74.0, 40.7, time_ms=FAR_MS, sequence=2400)]
    topic = fill(kafka, "rides", [*shuffled(rides, within=60), *IMPOSSIBLE, *NOT_RECORDS, *closing])
    bad = len(IMPOSSIBLE) + len(NOT_RECORDS)
    wanted = closest_hotspots(rides, HOTSPOTS).to_dict("index")

    placed = run(taxi(raw_records(spark, kafka, topic, per_batch=1300)), tmp_path / "placed")
    assert (placed.batches, placed.observed("taxi", "malformed")) == (2, bad)
    assert sorted(row["sequence"] for row in placed.rows) == list(range(2401))
    for row in placed.rows:
        if row["sequence"] < 2400:
            expected = wanted[row["sequence"]]
            assert row["distance_m"] == pytest.approx(expected["distance_m"], rel=1e-9)
            assert row["time"] == moment(expected["time_ms"])
            kept = [name for name in expected if name not in ("time_ms", "distance_m")]
            assert {name: row[name] for name in kept} == {name: expected[name] for name in kept}

    stream = raw_records(spark, kafka, topic, per_batch=1300)
    counted = run(rides_per_hotspot(stream, 30, watermark_s=6, audit=True), tmp_path / "counted")
    assert (counted.batches, counted.late, counted.observed("rides_per_hotspot", "malformed")) == (2, 0, bad)
    windows: dict[tuple[Any, ...], list[int]] = defaultdict(list)
    for sequence, members in wanted.items():
        windows[members["hotspot"], window_start(members["time_ms"], 30)].append(sequence)
    found = [
        ((row["hotspot"], row["window_start"]), (row["rides"], row["records"], row["sequence_sum"]))
        for row in counted.rows
    ]
    assert sorted(found) == sorted((window, (len(seen), len(seen), sum(seen))) for window, seen in windows.items())


def test_the_trace_source_feeds_it(spark: SparkSession, tmp_path: Path) -> None:
    outcome = run(taxi(trace_records(spark, "rides", seed=9, count=500)), tmp_path)
    wanted = closest_hotspots(Rides(seed=9).values(0, trace_times_ms(500)), HOTSPOTS)
    found = [(row["sequence"], row["time"], row["hotspot"]) for row in outcome.rows]
    assert sorted(found) == [
        (sequence, moment(members["time_ms"]), members["hotspot"])
        for sequence, members in wanted.to_dict("index").items()
    ]
