"""What a lake holds, in plain Python."""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Iterable


def tables(values: Iterable[bytes]) -> dict[str, dict[int, tuple[int, str]]]:
    """Of each table, by sequence number: event time in milliseconds, and payload."""
    held: dict[str, dict[int, tuple[int, str]]] = defaultdict(dict)
    for value in values:
        row = json.loads(value)
        held[row["table"]][row["sequence"]] = (row["time_ms"], row["payload"])
    return dict(held)
