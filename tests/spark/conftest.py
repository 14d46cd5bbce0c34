"""One small real cluster and one session for all tests that need Spark."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from pyspark.sql import SparkSession

from headgate.spark.cluster import LocalCluster


@pytest.fixture(scope="session")
def cluster() -> Iterator[LocalCluster]:
    """Three nodes, the first of which has an executor when the session has been opened; no CPU quota, to be quick."""
    with LocalCluster(nodes=3, initial=1, quota=None) as running:
        yield running


@pytest.fixture(scope="session")
def spark(cluster: LocalCluster) -> SparkSession:
    return cluster.session("tests")
