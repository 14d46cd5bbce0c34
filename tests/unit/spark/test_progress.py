"""Progress events read as volumes and times."""

from __future__ import annotations

import json
from datetime import UTC, datetime
from typing import Any

import pytest
from fake_driver import progress, records

from headgate.spark.progress import partition_count, read_event, read_position, records_limit

KAFKA_EVENT = """
{
  "id" : "5a1e1d0c-5a51-4d5c-a1d7-09f5c1b3e6a1",
  "runId" : "2f0b8c3a-64f7-4a71-8f54-8d40c9a0a9b5",
  "name" : "orders",
  "timestamp" : "2026-03-01T12:00:00.250Z",
  "batchId" : 17,
  "batchDuration" : 2500,
  "numInputRows" : 600,
  "inputRowsPerSecond" : 100.0,
  "processedRowsPerSecond" : 240.0,
  "durationMs" : {
    "addBatch" : 2000, "commitOffsets" : 60, "getBatch" : 2, "latestOffset" : 250,
    "queryPlanning" : 40, "triggerExecution" : 2500, "walCommit" : 70
  },
  "stateOperators" : [ ],
  "sources" : [ {
    "description" : "KafkaV2[Subscribe[orders]]",
    "startOffset" : { "orders" : { "1" : 500, "0" : 400 } },
    "endOffset" : { "orders" : { "2" : 50, "1" : 600, "0" : 550 } },
    "latestOffset" : { "orders" : { "2" : 90, "1" : 700, "0" : 650 } },
    "numInputRows" : 600,
    "metrics" : { "avgOffsetsBehindLatest" : "80.0", "maxOffsetsBehindLatest" : "100" }
  } ],
  "sink" : { "description" : "KafkaTable", "numOutputRows" : 600 }
}
"""


def test_a_topics_volume_is_the_growth_of_its_offsets_over_old_and_new_partitions() -> None:
    event = read_event(json.loads(KAFKA_EVENT))
    assert (event.start, event.end, event.latest) == (900.0, 1200.0, 1440.0)
    assert event.partitions == 3


def test_rows_that_were_counted_twice_do_not_count_in_the_volume() -> None:
    event = read_event(json.loads(KAFKA_EVENT))
    assert event.rows == 600
    assert event.end is not None
    assert event.start is not None
    assert event.end - event.start == 300


def test_a_batch_lasts_from_its_trigger_to_the_end_of_its_execution() -> None:
    event = read_event(json.loads(KAFKA_EVENT))
    started_s = datetime(2026, 3, 1, 12, 0, 0, 250_000, tzinfo=UTC).timestamp()
    assert event.started_s == pytest.approx(started_s)
    assert event.finished_s == pytest.approx(started_s + 2.5)
    assert event.looked_s == pytest.approx(started_s + 0.25)
    assert event.phases["addBatch"] == 2.0
    assert event.executed


def test_a_look_that_found_nothing_is_not_a_batch() -> None:
    assert not read_event(progress(4, at_s=50, source=records(10, 10), executed=False)).executed


def test_the_first_batch_of_a_topic_has_no_start_and_begins_where_its_rows_do() -> None:
    source = {"startOffset": None, "endOffset": {"t": {"0": 5000}}, "latestOffset": {"t": {"0": 5010}}}
    event = read_event(progress(0, at_s=50, source=source, rows=100))
    assert (event.start, event.end, event.latest) == (4900.0, 5000.0, 5010.0)


def test_the_first_batch_of_a_topic_begins_where_the_checkpoint_says_it_did() -> None:
    source = {
        "startOffset": None,
        "endOffset": {"t": {"0": 5000, "1": 20}},
        "latestOffset": {"t": {"0": 5010, "1": 20}},
    }
    asked: list[int] = []

    def first_offset(source: int) -> dict[str, dict[str, int]]:
        asked.append(source)
        return {"t": {"0": 4900, "1": 0}}

    event = read_event(progress(0, at_s=50, source=source, rows=240), first_offset=first_offset)
    assert (event.start, event.end, event.latest) == (4900.0, 5020.0, 5030.0)
    assert asked == [0]


def test_the_first_batch_of_a_trace_begins_at_zero() -> None:
    event = read_event(progress(0, at_s=50, source={"startOffset": None, "endOffset": {"records": 80}}, rows=160))
    assert (event.start, event.end, event.latest) == (0.0, 80.0, 80.0)


def test_several_sources_are_one_input() -> None:
    raw = progress(3, at_s=50, source=records(10, 20, 30))
    raw["sources"].append({"description": "KafkaV2[Subscribe[t]]", **json.loads(KAFKA_EVENT)["sources"][0]})
    event = read_event(raw)
    assert (event.start, event.end, event.latest) == (910.0, 1220.0, 1470.0)


def test_one_source_that_does_not_tell_makes_the_whole_input_unknown() -> None:
    raw = progress(3, at_s=50, source=records(10, 20))
    raw["sources"].append({"description": "FileStreamSource[/in]", "endOffset": {"logOffset": 3}})
    event = read_event(raw)
    assert (event.start, event.end, event.latest) == (None, None, None)


@pytest.mark.parametrize(
    ("description", "seconds", "expected"),
    [
        ("RateStreamV2[rowsPerSecond=100, rampUpTimeSeconds=0, numPartitions=3", 5, 500.0),
        ("RateStreamV2[rowsPerSecond=10, rampUpTimeSeconds=4, numPartitions=default", 3, 12.0),
        ("RateStreamV2[rowsPerSecond=10, rampUpTimeSeconds=4, numPartitions=default", 6, 40.0),
    ],
)
def test_the_rate_sources_seconds_become_rows(description: str, seconds: int, expected: float) -> None:
    position = read_position(seconds, description)
    assert position is not None
    assert position.records == expected


@pytest.mark.parametrize(
    "offset",
    [
        None,
        7,
        True,
        "not json",
        {},
        {"logOffset": 3},
        {"t": {}},
        {"t": {"x": 1}},
        {"records": None},
        {"records": -1},
        [],
    ],
)
def test_an_offset_that_is_no_record_count_is_unknown(offset: Any) -> None:
    assert read_position(offset, "FileStreamSource[/in]") is None


def test_an_offset_may_be_json_inside_a_text() -> None:
    assert read_position('{"t": {"0": 3, "1": 4}}') == (7.0, 2)


def test_a_limit_is_known_only_if_every_source_has_one() -> None:
    assert records_limit([{"maxoffsetspertrigger": "500"}]) == 500.0
    assert records_limit([{"maxoffsetspertrigger": "500"}, {"subscribe": "t"}]) is None
    assert records_limit([{"records_per_trigger": "70"}]) == 70.0
    assert records_limit([{"recordspertrigger": "none"}]) is None
    assert records_limit([]) is None


def test_partitions_come_from_the_sources_options_where_they_are_set() -> None:
    assert partition_count([{"partitions": "4"}, {"numpartitions": "2"}]) == 6
    assert partition_count([{"subscribe": "t"}]) is None
