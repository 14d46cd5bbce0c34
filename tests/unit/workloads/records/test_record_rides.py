"""Rides: New York places, distances that fit them, fares that fit the distances."""

from __future__ import annotations

import json

import numpy as np
import pytest

from headgate.workloads.records.rides import PLACES, Rides, straight_km


@pytest.fixture(scope="module")
def rides() -> dict[str, np.ndarray]:
    records = [json.loads(value) for value in Rides(seed=9).values(0, [1_800_000_000_000] * 20_000)]
    return {name: np.array([record[name] for record in records]) for name in records[0]}


def test_people_get_in_and_out_in_new_york(rides: dict[str, np.ndarray]) -> None:
    for end in ("pickup", "dropoff"):
        assert rides[f"{end}_longitude"].min() > -74.1
        assert rides[f"{end}_longitude"].max() < -73.7
        assert rides[f"{end}_latitude"].min() > 40.6
        assert rides[f"{end}_latitude"].max() < 40.9


@pytest.mark.parametrize("place", PLACES, ids=lambda place: place[0])
def test_every_place_has_about_its_share_of_rides_nearby(rides: dict[str, np.ndarray], place: tuple) -> None:
    _, longitude, latitude, spread_km, share = place
    km = straight_km(rides["pickup_longitude"], rides["pickup_latitude"], longitude, latitude)
    assert np.mean(km < 3 * spread_km) > 0.9 * share


def test_distances_fit_the_places_and_fares_fit_the_distances(rides: dict[str, np.ndarray]) -> None:
    ends = ("pickup_longitude", "pickup_latitude", "dropoff_longitude", "dropoff_latitude")
    straight_miles = straight_km(*(rides[end] for end in ends)) / 1.609344
    miles = rides["trip_distance"]
    assert np.all(miles + 0.006 >= straight_miles)
    assert np.all(miles <= 1.31 * straight_miles + 0.11)
    assert 1.5 < np.median(miles) < 4.0
    fares = rides["fare_amount"]
    assert np.all(fares >= 2.5)
    assert np.corrcoef(miles, fares)[0, 1] > 0.95
    assert np.all(fares * 2 == np.round(fares * 2))
    assert set(rides["passenger_count"]) == {1, 2, 3, 4, 5, 6}
    assert np.mean(rides["passenger_count"] == 1) == pytest.approx(0.71, abs=0.02)
