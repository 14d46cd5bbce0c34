"""Real Spark keeps the agent's contract."""

from __future__ import annotations

import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

sys.path.insert(0, str(Path(__file__).parents[1] / "contract"))

from agent_contract import AgentContract, Harness

from headgate.core.allocation import Bounds
from headgate.errors import NotReady
from headgate.spark.agent import SparkAgent
from headgate.spark.trace_options import TraceOptions
from headgate.spark.trace_source import trace_stream

pytestmark = [pytest.mark.spark, pytest.mark.timeout(300)]


@pytest.fixture(scope="module")
def shared(spark: SparkSession, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Harness]:
    options = TraceOptions(workload="constant:rate=200", duration_s=3600, start_time_s=time.time(), partitions=2)
    query = (
        trace_stream(spark, options)
        .writeStream.format("noop")
        .queryName("contract")
        .option("checkpointLocation", str(tmp_path_factory.mktemp("contract") / "checkpoint"))
        .trigger(processingTime="500 milliseconds")
        .start()
    )
    bounds = Bounds(1, 3)
    with SparkAgent([query], app="tests", bounds=bounds, reconcile_every_s=1.0) as agent:
        harness = Harness(agent=agent, advance=time.sleep, bounds=bounds)
        _wait_until_ready(harness)
        yield harness
        harness.go_to(1)
    query.stop()


def _wait_until_ready(harness: Harness) -> None:
    give_up_s = time.monotonic() + harness.patience_s
    while True:
        try:
            harness.collect()
        except NotReady:
            if time.monotonic() > give_up_s:
                raise
            time.sleep(harness.step_s)
        else:
            return


class TestSparkAgent(AgentContract):
    @pytest.fixture
    def harness(self, shared: Harness) -> Harness:
        return shared
