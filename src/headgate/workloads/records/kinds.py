"""Every kind of record by its name."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from headgate.grammar import parse_spec
from headgate.workloads.records.ads import Ads
from headgate.workloads.records.images import Images
from headgate.workloads.records.kind import RecordKind
from headgate.workloads.records.rides import Rides
from headgate.workloads.records.rows import Rows
from headgate.workloads.records.tweets import Tweets
from headgate.workloads.records.vehicles import Vehicles
from headgate.workloads.records.words import Words

RECORD_KINDS: Mapping[str, type[Any]] = {
    "ads": Ads,
    "images": Images,
    "rides": Rides,
    "rows": Rows,
    "tweets": Tweets,
    "vehicles": Vehicles,
    "words": Words,
}


def parse_records(text: str, *, seed: int = 0) -> RecordKind:
    """A kind of record as users type it, such as ``rows:size=100``."""
    kind: RecordKind = replace(parse_spec(text, RECORD_KINDS, kind="records"), seed=seed)
    return kind
