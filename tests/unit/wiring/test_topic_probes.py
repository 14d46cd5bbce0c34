"""Probes of topics: made where a client of Kafka is there, and done without where it is not."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import pytest

import headgate
from headgate.errors import UserMistake
from headgate.kafka.probe import KafkaProbe
from headgate.wiring.operators import topic_probe

OPTIONS = {"kafka.bootstrap.servers": "127.0.0.1:1", "subscribe": "orders"}


def test_a_topic_is_probed_with_the_options_that_spark_was_given() -> None:
    assert isinstance(topic_probe(OPTIONS, ["orders"]), KafkaProbe)


def test_without_a_client_of_kafka_one_warning_says_what_to_install(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    for name in [name for name in sys.modules if name.startswith(("headgate.kafka.", "confluent_kafka"))]:
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.setitem(sys.modules, "confluent_kafka", None)
    assert topic_probe(OPTIONS, ["orders"]) is None
    assert [record.levelname for record in caplog.records] == ["WARNING"]
    assert "pip install 'headgate[kafka]'" in caplog.text


def test_an_operator_of_topics_must_know_their_brokers(tmp_path: Path) -> None:
    spark: Any = None
    with pytest.raises(UserMistake, match="give kafka='host:port'"):
        headgate.operator(spark, name="filter", transform=lambda raw: raw, reads="a", writes="b", checkpoint=tmp_path)
