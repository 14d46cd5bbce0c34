"""Taxi rides in New York: between places where people really get in and out, at fares of the meter."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from headgate.core.options import check_options, option
from headgate.workloads.records.mixing import below, normals, shares

Degrees = NDArray[np.float64]

PLACES = (
    # name, longitude, latitude, spread in km, share of rides
    ("Midtown", -73.9840, 40.7549, 0.9, 0.26),
    ("Chelsea and Village", -73.9980, 40.7370, 0.8, 0.17),
    ("Upper East Side", -73.9590, 40.7736, 0.8, 0.14),
    ("Upper West Side", -73.9754, 40.7870, 0.8, 0.11),
    ("Lower Manhattan", -74.0090, 40.7110, 0.6, 0.10),
    ("Harlem", -73.9460, 40.8116, 0.8, 0.04),
    ("Williamsburg", -73.9571, 40.7140, 0.9, 0.05),
    ("Downtown Brooklyn", -73.9857, 40.6928, 0.9, 0.04),
    ("Long Island City", -73.9480, 40.7447, 0.7, 0.02),
    ("LaGuardia Airport", -73.8740, 40.7740, 0.3, 0.04),
    ("Kennedy Airport", -73.7781, 40.6413, 0.4, 0.03),
)
KM_PER_DEGREE_NORTH = 111.2
KM_PER_DEGREE_EAST = 84.2
"""At New York's latitude."""
_KM_PER_MILE = 1.609344
_DETOUR = 1.3
"""Streets against the straight line."""
_FLAG_FALL, _PER_MILE, _PER_MINUTE = 2.5, 2.5, 0.5
_PASSENGERS = np.cumsum([0.71, 0.14, 0.05, 0.03, 0.04, 0.03])

_MEDALLION, _FROM, _TO, _PASSENGER, _DELAY = range(1, 6)
_FROM_EAST, _FROM_NORTH, _TO_EAST, _TO_NORTH = 10, 12, 14, 16

_LONGITUDES = np.array([place[1] for place in PLACES])
_LATITUDES = np.array([place[2] for place in PLACES])
_SPREADS_KM = np.array([place[3] for place in PLACES])
_SHARES = np.cumsum([place[4] for place in PLACES]) / sum(place[4] for place in PLACES)


@dataclass(frozen=True, slots=True, kw_only=True)
class Rides:
    """Where a ride began and ended, how long it was (miles) and what it cost (dollars)."""

    name: ClassVar[str] = "rides"

    taxis: int = option(13_000, "different taxis", least=1, most=1_000_000)
    seed: int = option(0, "which records", least=0)

    def __post_init__(self) -> None:
        check_options(self.name, self)

    def values(self, first: int, times_ms: Sequence[int]) -> list[bytes]:
        sequences = np.arange(first, first + len(times_ms))
        from_east, from_north = self._spot(sequences, _FROM, _FROM_EAST, _FROM_NORTH)
        to_east, to_north = self._spot(sequences, _TO, _TO_EAST, _TO_NORTH)
        miles = np.maximum(0.1, _DETOUR * straight_km(from_east, from_north, to_east, to_north) / _KM_PER_MILE)
        standing_minutes = miles * 2.0 * shares(self.seed, _DELAY, sequences)
        fares = np.round((_FLAG_FALL + _PER_MILE * miles + _PER_MINUTE * standing_minutes) * 2) / 2
        passengers = 1 + np.searchsorted(_PASSENGERS[:-1], shares(self.seed, _PASSENGER, sequences), side="right")
        columns = (
            below(self.taxis, self.seed, _MEDALLION, sequences).tolist(),
            from_east.tolist(),
            from_north.tolist(),
            to_east.tolist(),
            to_north.tolist(),
            passengers.tolist(),
            miles.tolist(),
            fares.tolist(),
        )
        return [
            b'{"sequence": %d, "time_ms": %d, "medallion": "%06d", "pickup_longitude": %.6f, "pickup_latitude": %.6f, '
            b'"dropoff_longitude": %.6f, "dropoff_latitude": %.6f, "passenger_count": %d, "trip_distance": %.2f, '
            b'"fare_amount": %.2f}' % members
            for members in zip(sequences.tolist(), times_ms, *columns, strict=True)
        ]

    def _spot(self, sequences: NDArray[np.int64], place: int, east: int, north: int) -> tuple[Degrees, Degrees]:
        places = np.searchsorted(_SHARES[:-1], shares(self.seed, place, sequences), side="right")
        spread_km = _SPREADS_KM[places]
        longitudes = _LONGITUDES[places] + normals(self.seed, east, sequences) * spread_km / KM_PER_DEGREE_EAST
        latitudes = _LATITUDES[places] + normals(self.seed, north, sequences) * spread_km / KM_PER_DEGREE_NORTH
        return np.round(longitudes, 6), np.round(latitudes, 6)


def straight_km(from_east: Degrees, from_north: Degrees, to_east: Degrees, to_north: Degrees) -> Degrees:
    """Beeline between two spots of the city."""
    km: Degrees = np.hypot((to_east - from_east) * KM_PER_DEGREE_EAST, (to_north - from_north) * KM_PER_DEGREE_NORTH)
    return km
