"""The computations that pipelines are judged by, judged by hand."""

from __future__ import annotations

import datetime
import json
import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parents[2] / "pipelines"))

from reference_advertising import campaign_views
from reference_lake import tables
from reference_taxi import closest_hotspots, globe_distance_m
from reference_traffic import speeds_near, too_fast
from reference_word_count import word_counts

from headgate.pipelines.taxi import HOTSPOTS
from headgate.workloads.records.rides import Rides

START = datetime.datetime(2023, 11, 14, 22, 13, 20, tzinfo=datetime.UTC)


def records(*members: dict[str, object]) -> list[bytes]:
    common = {"time_ms": 1_700_000_001_000}
    return [json.dumps({"sequence": number, **common, **own}).encode() for number, own in enumerate(members, 1)]


def test_words_count_once_for_each_appearance() -> None:
    counted = word_counts(records({"text": "a B a"}, {"text": "b?"}))
    assert counted == {
        "a": {"count": 2, "records": 2, "sequence_sum": 2},
        "b": {"count": 2, "records": 2, "sequence_sum": 3},
    }


def test_views_fall_into_windows_of_their_campaign() -> None:
    events = records(
        {"ad_id": "x", "event_type": "view"},
        {"ad_id": "y", "event_type": "view"},
        {"ad_id": "x", "event_type": "click"},
        {"ad_id": "z", "event_type": "view"},
        {"ad_id": "x", "event_type": "view", "time_ms": 1_700_000_010_000},
    )
    views = campaign_views(events, {"x": "c", "y": "c"}, window_s=10)
    assert views == {("c", START): [1, 2], ("c", START + datetime.timedelta(seconds=10)): [5]}


def test_speeds_are_averaged_within_the_radius() -> None:
    vehicles = records(
        {"x": 3.0, "y": 4.0, "speed": 10.1}, {"x": 0.0, "y": 0.0, "speed": 10.2}, {"x": 5.01, "y": 0.0, "speed": 50.0}
    )
    near = speeds_near(vehicles, {"here": (0, 0)}, radius_m=5, window_s=10)
    assert near == {("here", START): {"sightings": 2, "mean_speed": 10.15, "records": 2, "sequence_sum": 3}}
    assert set(too_fast(vehicles, 10.1)) == {2, 3}


def test_the_flat_map_is_true_to_the_globe_within_the_city() -> None:
    rides = closest_hotspots(Rides(seed=1).values(0, [0] * 2000), HOTSPOTS).to_dict("records")
    for ride in rides:
        on_globe = {name: globe_distance_m(ride, place) for name, place in HOTSPOTS.items()}
        assert ride["distance_m"] == pytest.approx(on_globe[ride["hotspot"]], rel=0.002)
        assert on_globe[ride["hotspot"]] <= min(on_globe.values()) * 1.004


def test_a_lake_holds_each_table_by_itself() -> None:
    rows = records({"table": "a", "payload": "p"}, {"table": "b", "payload": "q"})
    assert tables(rows) == {"a": {1: (1_700_000_001_000, "p")}, "b": {2: (1_700_000_001_000, "q")}}
