"""Views of campaigns: by hand, over a topic in disorder, and over the embedded trace source."""

from __future__ import annotations

import json
from collections.abc import Iterator
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
)
from pyspark.sql import DataFrame, SparkSession
from reference_advertising import campaign_views

from headgate.kafka.settings import KafkaSettings
from headgate.pipelines.advertising import advertising
from headgate.workloads.records.ads import CAMPAIGN_ADS, Ads

pytestmark = pytest.mark.spark

BEGIN_MS = 1_700_000_000_000
FAR_MS = 1_800_000_000_000


@pytest.fixture(scope="module")
def campaigns(spark: SparkSession) -> Iterator[DataFrame]:
    table = spark.createDataFrame(CAMPAIGN_ADS, "ad_id STRING, campaign_id STRING").coalesce(1).cache()
    yield table
    table.unpersist()


def event(time_ms: int, ad_id: str, event_type: str = "view", sequence: int = 0) -> bytes:
    members = {"sequence": sequence, "time_ms": time_ms, "ad_id": ad_id, "event_type": event_type}
    return json.dumps(members).encode()


def counted(rows: list[dict[str, Any]]) -> dict[tuple[Any, ...], tuple[int, int, int]]:
    found = {
        (row["campaign_id"], row["window_start"]): (row["views"], row["records"], row["sequence_sum"]) for row in rows
    }
    assert len(found) == len(rows), "a window of a campaign appeared twice"
    return found


def expected(values: list[bytes], *, window_s: int) -> dict[tuple[Any, ...], tuple[int, int, int]]:
    views = campaign_views(values, dict(CAMPAIGN_ADS), window_s=window_s)
    return {window: (len(seen), len(seen), sum(seen)) for window, seen in views.items()}


def test_only_views_of_known_ads_count_in_their_window(spark: SparkSession) -> None:
    table = spark.createDataFrame([("a", "shoes"), ("b", "shoes"), ("c", "hats")], "ad_id STRING, campaign_id STRING")
    events = [
        event(BEGIN_MS, "a"),
        event(BEGIN_MS + 9_999, "b"),
        event(BEGIN_MS + 10_000, "b"),
        event(BEGIN_MS, "a", "click"),
        event(BEGIN_MS, "nobody's"),
        event(BEGIN_MS + 1, "c"),
        event(10**17, "c"),
        event(-5, "c"),
        b'{"ad_id": "c", "event_type": "view"}',
        *NOT_RECORDS,
    ]
    rows = static_rows(advertising(static_records(spark, events), table))
    assert {(row["campaign_id"], row["window_start"]): row["views"] for row in rows} == {
        ("shoes", moment(BEGIN_MS)): 2,
        ("shoes", moment(BEGIN_MS + 10_000)): 1,
        ("hats", moment(BEGIN_MS)): 1,
    }


def test_windows_of_a_disordered_topic_are_exact_and_late_views_are_left_out(
    spark: SparkSession, kafka: KafkaSettings, campaigns: DataFrame, tmp_path: Path
) -> None:
    events = Ads(seed=4).values(0, times_ms(3000, every_ms=20))
    late = event(BEGIN_MS, CAMPAIGN_ADS[0][0], sequence=10**6)
    closing = [event(FAR_MS, CAMPAIGN_ADS[0][0])]
    topic = fill(kafka, "ads", [*shuffled(events, within=90), *NOT_RECORDS, late, *closing])
    raw = raw_records(spark, kafka, topic, per_batch=1100)
    outcome = run(advertising(raw, campaigns, watermark_s=5, audit=True), tmp_path)
    assert (outcome.batches, outcome.late) == (3, 1)
    assert outcome.observed("advertising", "malformed") == len(NOT_RECORDS)
    assert counted(list(outcome.rows)) == expected(events, window_s=10)


def test_the_trace_source_feeds_it(spark: SparkSession, campaigns: DataFrame, tmp_path: Path) -> None:
    views = advertising(trace_records(spark, "ads", seed=5, count=500), campaigns, window_s=2, audit=True)
    newest = run(views, tmp_path, mode="update").last("campaign_id", "window_start")
    assert counted(list(newest.values())) == expected(Ads(seed=5).values(0, trace_times_ms(500)), window_s=2)
