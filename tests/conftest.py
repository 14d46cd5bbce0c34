"""One small real cluster, one session and one broker for all tests that need them."""

from __future__ import annotations

import signal
from collections.abc import Iterator, Sequence
from pathlib import Path

import pytest
from hypothesis import settings
from pyspark.sql import SparkSession

from headgate.kafka.broker import LocalBroker
from headgate.kafka.settings import KafkaSettings
from headgate.spark.cluster import LocalCluster
from headgate.wiring.session import open_session

if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    # Started in the background of a shell. What tests start would ignore interrupts as well, and some are interrupted.
    signal.signal(signal.SIGINT, signal.default_int_handler)

# How long an example takes is the machine's business, and machines are shared.
settings.register_profile("untimed", settings(), deadline=None)
settings.load_profile("untimed")


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(items: Sequence[pytest.Item]) -> None:
    """Before any are chosen by their marks."""
    for item in items:
        if "kafka" in getattr(item, "fixturenames", ()) or Path(__file__).with_name("kafka") in item.path.parents:
            item.add_marker(pytest.mark.kafka)


@pytest.fixture(scope="session")
def cluster() -> Iterator[LocalCluster]:
    """Three nodes, the first of which has an executor when the session has been opened; no CPU quota, to be quick."""
    with LocalCluster(nodes=3, initial=1, quota=None) as running:
        yield running


@pytest.fixture(scope="session")
def spark(cluster: LocalCluster) -> SparkSession:
    """With the jars of Kafka and Delta Lake."""
    return open_session("tests", cluster=cluster)


@pytest.fixture(scope="session")
def kafka() -> Iterator[KafkaSettings]:
    """A broker of our own, without topics; tests make theirs with names of their own."""
    with LocalBroker() as broker:
        yield broker.settings
