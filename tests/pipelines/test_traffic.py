"""Traffic: by hand, over a topic in disorder, and over the embedded trace source."""

from __future__ import annotations

import json
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
    without,
)
from pyspark.sql import SparkSession
from reference_traffic import speeds_near, too_fast

from headgate.kafka.settings import KafkaSettings
from headgate.pipelines.traffic import POINTS, speeding, traffic
from headgate.workloads.records.vehicles import SPEED_LIMIT_M_S, Vehicles

pytestmark = pytest.mark.spark

BEGIN_MS = 1_700_000_000_000
FAR_MS = 1_800_000_000_000


def sighting(**members: Any) -> bytes:
    whole = {"sequence": 0, "time_ms": BEGIN_MS, "vehicle": "v1", "x": 0.0, "y": 0.0, "speed": 10.0, **members}
    return json.dumps(whole).encode()


IMPOSSIBLE = (
    sighting(speed=-1.0),
    sighting(speed=1e300),
    sighting(speed="fast"),
    sighting(speed=float("nan")),
    sighting(x=float("inf")),
    sighting(y=None),
    sighting(vehicle=None),
    sighting(time_ms=10**17),
    b'{"time_ms": 1, "vehicle": "v1", "x": 1e999, "y": 0, "speed": 10}',
)
"""JSON that no vehicle sent."""


def test_means_are_taken_over_sightings_within_the_radius(spark: SparkSession) -> None:
    sightings = [
        sighting(x=3.0, y=4.0, speed=10.0),
        sighting(x=-5.0, speed=11.001),
        sighting(x=5.001, speed=99.0),
        sighting(x=8.0, speed=20.0, time_ms=BEGIN_MS + 10_000),
        *IMPOSSIBLE,
        *NOT_RECORDS,
    ]
    points = {"here": (0, 0), "there": (10, 0), "nowhere": (900, 900)}
    rows = static_rows(traffic(static_records(spark, sightings), points, radius_m=5))
    assert {(row["point"], row["window_start"]): (row["sightings"], row["mean_speed"]) for row in rows} == {
        ("here", moment(BEGIN_MS)): (2, 10.5005),
        ("there", moment(BEGIN_MS)): (1, 99.0),
        ("there", moment(BEGIN_MS + 10_000)): (1, 20.0),
    }


def test_alerts_are_the_records_above_the_limit(spark: SparkSession) -> None:
    sightings = [sighting(sequence=1, speed=14.0), sighting(sequence=2, speed=14.5), *IMPOSSIBLE, *NOT_RECORDS]
    assert static_rows(speeding(static_records(spark, sightings), 14.0)) == [
        {"sequence": 2, "time": moment(BEGIN_MS), "vehicle": "v1", "x": 0.0, "y": 0.0, "speed": 14.5, "excess": 0.5}
    ]


def test_windows_and_alerts_of_a_disordered_topic_are_exact(
    spark: SparkSession, kafka: KafkaSettings, tmp_path: Path
) -> None:
    sightings = Vehicles(seed=6).values(0, times_ms(3000, every_ms=20))
    closing = [sighting(time_ms=FAR_MS, x=POINTS["centre"][0], y=POINTS["centre"][1], speed=1.0)]
    topic = fill(kafka, "vehicles", [*shuffled(sightings, within=90), *IMPOSSIBLE, *NOT_RECORDS, *closing])
    bad = len(IMPOSSIBLE) + len(NOT_RECORDS)

    windows = run(
        traffic(raw_records(spark, kafka, topic, per_batch=1100), watermark_s=5, audit=True), tmp_path / "windows"
    )
    assert (windows.batches, windows.late, windows.observed("traffic", "malformed")) == (3, 0, bad)
    found = {
        (row["point"], row["window_start"]): without(row, "point", "window_start", "batch") for row in windows.rows
    }
    assert len(found) == len(windows.rows)
    assert found == speeds_near(sightings, POINTS, radius_m=1000, window_s=10)

    alerts = run(speeding(raw_records(spark, kafka, topic)), tmp_path / "alerts")
    assert alerts.observed("speeding", "malformed") == bad
    fast = too_fast(sightings, SPEED_LIMIT_M_S)
    assert len(alerts.rows) == len(fast) > 0
    for row in alerts.rows:
        record = fast[row["sequence"]]
        assert {name: row[name] for name in ("vehicle", "x", "y", "speed")} == without(record, "sequence", "time_ms")
        assert row["time"] == moment(record["time_ms"])
        assert row["excess"] == pytest.approx(record["speed"] - SPEED_LIMIT_M_S)


def test_the_trace_source_feeds_it(spark: SparkSession, tmp_path: Path) -> None:
    speeds = traffic(trace_records(spark, "vehicles", seed=7, count=500), window_s=2, audit=True)
    newest = run(speeds, tmp_path, mode="update").last("point", "window_start")
    found = {window: without(row, "point", "window_start") for window, row in newest.items()}
    sightings = Vehicles(seed=7).values(0, trace_times_ms(500))
    assert found == speeds_near(sightings, POINTS, radius_m=1000, window_s=2)
