"""Whatever happens to executors and queries, the last sink holds what a plain computation over the records gives."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from pathlib import Path

import pytest
from pyspark.sql import SparkSession
from rough_weather import Trial, endure
from trials import (
    advertising_trial,
    images_trial,
    lake_trial,
    sentiment_trial,
    taxi_trial,
    top_k_trial,
    traffic_trial,
    word_count_trial,
)

from headgate.core.sample import EventKind
from headgate.journal import read_journal
from headgate.kafka.settings import KafkaSettings
from headgate.spark.cluster import LocalCluster

pytestmark = [pytest.mark.spark, pytest.mark.timeout(400)]

LONG = pytest.mark.soak
TRIALS = [
    pytest.param(taxi_trial, id="taxi"),
    pytest.param(word_count_trial, id="word-count"),
    pytest.param(top_k_trial, id="top-k"),
    pytest.param(advertising_trial, id="advertising", marks=LONG),
    pytest.param(traffic_trial, id="traffic", marks=LONG),
    pytest.param(sentiment_trial, id="sentiment", marks=LONG),
    pytest.param(images_trial, id="images", marks=LONG),
    pytest.param(lake_trial, id="lake", marks=LONG),
    pytest.param(partial(lake_trial, form="delta"), id="lake-delta", marks=LONG),
]


@pytest.mark.parametrize("make", TRIALS)
def test_the_last_sink_is_exact_in_rough_weather(
    make: Callable[[], Trial],
    spark: SparkSession,
    cluster: LocalCluster,
    kafka: KafkaSettings,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("HEADGATE_HOME", str(tmp_path / "home"))
    trial = make()
    weather = endure(trial, spark=spark, cluster=cluster, kafka=kafka, folder=tmp_path)
    assert weather.found == trial.expected
    assert weather.sizes == [3, 1]
    assert weather.done_before_stop > 0
    assert weather.behind_at_stop is not None, "the queries stopped in the middle of the work"
    with read_journal(tmp_path / "first.db") as reader:
        lost = [event for sample in reader.samples() for event in sample.events if event.kind is EventKind.LOST]
    assert [event.executor for event in lost] == weather.killed
