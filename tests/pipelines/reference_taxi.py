"""The closest hotspot of each ride, in pandas and numpy: on a flat map, as the pipeline, and on the globe."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping

import numpy as np
import pandas as pd

EARTH_RADIUS_M = 6_371_008.8
METRES_PER_DEGREE = 111_195.0

Places = Mapping[str, tuple[float, float]]


def closest_hotspots(values: Iterable[bytes], hotspots: Places) -> pd.DataFrame:
    """The rides by sequence number, with ``hotspot`` and ``distance_m``."""
    rides = pd.DataFrame([json.loads(value) for value in values]).set_index("sequence")
    names = sorted(hotspots)
    scale = np.cos(np.radians(np.mean([latitude for _, latitude in hotspots.values()])))
    distances = np.stack(
        [
            METRES_PER_DEGREE
            * np.hypot((rides["pickup_longitude"] - longitude) * scale, rides["pickup_latitude"] - latitude)
            for longitude, latitude in (hotspots[name] for name in names)
        ]
    )
    return rides.assign(hotspot=np.array(names)[distances.argmin(axis=0)], distance_m=distances.min(axis=0))


def globe_distance_m(ride: Mapping[str, float], place: tuple[float, float]) -> float:
    """The haversine distance of a pick-up: what the flat map is measured by."""
    (there_east, there_north) = np.radians(place)
    east, north = np.radians([ride["pickup_longitude"], ride["pickup_latitude"]])
    across = np.sin((north - there_north) / 2) ** 2
    across += np.cos(north) * np.cos(there_north) * np.sin((east - there_east) / 2) ** 2
    return float(2 * EARTH_RADIUS_M * np.arcsin(np.sqrt(across)))
