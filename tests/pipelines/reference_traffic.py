"""Traffic in plain Python, in decimal numbers as they stand in the records."""

from __future__ import annotations

import datetime
import json
from collections import defaultdict
from collections.abc import Iterable, Mapping
from decimal import Decimal
from typing import Any

from reference_windows import window_start

Window = tuple[str, datetime.datetime]


def speeds_near(
    values: Iterable[bytes], points: Mapping[str, tuple[float, float]], *, radius_m: int, window_s: int
) -> dict[Window, dict[str, Any]]:
    """How many sightings each point has in each window, at which mean speed."""
    near: dict[Window, list[tuple[int, Decimal]]] = defaultdict(list)
    for value in values:
        seen = json.loads(value, parse_float=Decimal)
        for point, (x, y) in points.items():
            if (seen["x"] - Decimal(x)) ** 2 + (seen["y"] - Decimal(y)) ** 2 <= radius_m**2:
                near[point, window_start(seen["time_ms"], window_s)].append((seen["sequence"], seen["speed"]))
    return {
        window: {
            "sightings": len(seen),
            "mean_speed": float(sum(speed for _, speed in seen) / len(seen)),
            "records": len(seen),
            "sequence_sum": sum(sequence for sequence, _ in seen),
        }
        for window, seen in near.items()
    }


def too_fast(values: Iterable[bytes], limit: float) -> dict[int, dict[str, Any]]:
    """The records above the limit, by sequence number."""
    seen = [json.loads(value) for value in values]
    return {record["sequence"]: record for record in seen if record["speed"] > limit}
