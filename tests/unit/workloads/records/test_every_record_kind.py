"""What holds for every kind of record."""

from __future__ import annotations

import itertools
import json

import pytest

from headgate.errors import UserMistake
from headgate.workloads.records import RECORD_KINDS, parse_records

START_MS = 1_800_000_000_000
TIMES_MS = [START_MS + 7 * number for number in range(500)]
JSON_KINDS = sorted(set(RECORD_KINDS) - {"images"})

MEMBERS = {
    "ads": {"user_id", "page_id", "ad_id", "ad_type", "event_type", "ip_address"},
    "rides": {
        "medallion",
        "pickup_longitude",
        "pickup_latitude",
        "dropoff_longitude",
        "dropoff_latitude",
        "passenger_count",
        "trip_distance",
        "fare_amount",
    },
    "rows": {"table", "payload"},
    "tweets": {"user", "text"},
    "vehicles": {"vehicle", "x", "y", "speed"},
    "words": {"text"},
}


@pytest.mark.parametrize("name", sorted(RECORD_KINDS))
def test_a_record_follows_from_seed_sequence_and_time_alone(name: str) -> None:
    count = 12 if name == "images" else 500
    times_ms = TIMES_MS[:count]
    whole = parse_records(name, seed=3).values(1000, times_ms)
    cuts = (0, 1, 5, count)
    pieces = [
        parse_records(name, seed=3).values(1000 + first, times_ms[first:end]) for first, end in itertools.pairwise(cuts)
    ]
    assert [value for piece in pieces for value in piece] == whole
    assert parse_records(name, seed=4).values(1000, times_ms) != whole
    assert parse_records(name, seed=3).values(2000, times_ms) != whole
    assert parse_records(name, seed=3).values(5, []) == []


@pytest.mark.parametrize("name", JSON_KINDS)
def test_every_record_tells_its_sequence_its_time_and_what_belongs_to_it(name: str) -> None:
    values = parse_records(name).values(10**9, TIMES_MS)
    records = [json.loads(value) for value in values]
    assert [record["sequence"] for record in records] == list(range(10**9, 10**9 + len(TIMES_MS)))
    assert [record["time_ms"] for record in records] == TIMES_MS
    assert {frozenset(record) for record in records} == {frozenset({"sequence", "time_ms", *MEMBERS[name]})}


def test_rows_have_one_size_and_come_from_all_tables() -> None:
    values = parse_records("rows:size=200,tables=12").values(0, TIMES_MS)
    assert {len(value) for value in values} == {200}
    tables = [json.loads(value)["table"] for value in values]
    assert set(tables) == {f"t{number:02d}" for number in range(12)}
    assert max(tables.count(table) for table in set(tables)) < 2 * 500 / 12


@pytest.mark.parametrize(
    ("text", "words"),
    [("word", "did you mean 'words'"), ("rows:size=3", "too small"), ("ads:page=3", "did you mean 'pages'")],
)
def test_a_wrong_kind_is_refused_with_a_sentence(text: str, words: str) -> None:
    with pytest.raises(UserMistake, match=words):
        parse_records(text)
