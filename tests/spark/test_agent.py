"""A real stream, scaled out and in while it runs, and robbed of an executor."""

from __future__ import annotations

import os
import signal
import time
from collections.abc import Callable, Iterator
from itertools import pairwise
from pathlib import Path

import pytest
from pyspark.sql import SparkSession
from pyspark.sql.streaming.query import StreamingQuery

from headgate.core.allocation import Allocation, Bounds
from headgate.core.ports import Order
from headgate.core.sample import AgentEvent, Batch, EventKind, ExecutorState, Sample
from headgate.errors import NotReady
from headgate.spark.agent import SparkAgent
from headgate.spark.cluster import LocalCluster

pytestmark = [pytest.mark.spark, pytest.mark.timeout(300)]

PATIENCE_S = 90.0
NODES = 3


class Watched:
    """A running agent and everything that it has told."""

    def __init__(self, agent: SparkAgent) -> None:
        self.agent = agent
        self.samples: list[Sample] = []
        self._orders = 0

    def until(self, condition: Callable[[Sample], bool], *, what: str) -> Sample:
        give_up_s = time.monotonic() + PATIENCE_S
        while time.monotonic() < give_up_s:
            time.sleep(0.5)
            try:
                sample = self.agent.collect()
            except NotReady:
                continue
            self.samples.append(sample)
            if condition(sample):
                return sample
        pytest.fail(f"still not after {PATIENCE_S:g} s: {what}; events: {self.events()}")

    def go_to(self, executors: int) -> Sample:
        self._orders += 1
        self.agent.apply(
            Order(allocation=Allocation(executors=executors), epoch=1, request_id=f"{id(self)}-{self._orders}")
        )
        return self.until(
            lambda sample: len(working(sample)) == executors == len(sample.executors), what=f"{executors} executors"
        )

    def see_batches(self, count: int) -> None:
        wanted = len(self.batches()) + count
        self.until(lambda _: len(self.batches()) >= wanted, what=f"{count} more batches")

    def batches(self) -> list[Batch]:
        return [batch for sample in self.samples for batch in sample.operators[0].batches]

    def events(self, kind: EventKind | None = None) -> list[AgentEvent]:
        return [event for sample in self.samples for event in sample.events if kind in (None, event.kind)]


def working(sample: Sample) -> list[str]:
    return [executor.id for executor in sample.executors if executor.state is ExecutorState.ACTIVE]


@pytest.fixture(scope="module")
def query(spark: SparkSession, tmp_path_factory: pytest.TempPathFactory) -> Iterator[StreamingQuery]:
    folder: Path = tmp_path_factory.mktemp("stream")
    stream = spark.readStream.format("rate").option("rowsPerSecond", 300).option("numPartitions", NODES).load()
    started = (
        stream.writeStream.format("noop")
        .queryName("watched")
        .option("checkpointLocation", str(folder / "checkpoint"))
        .trigger(processingTime="500 milliseconds")
        .start()
    )
    yield started
    started.stop()


@pytest.fixture(scope="module")
def watched(query: StreamingQuery) -> Iterator[Watched]:
    agent = SparkAgent([query], app="tests", bounds=Bounds(1, NODES), reconcile_every_s=1.0)
    with agent:
        watched = Watched(agent)
        yield watched
        watched.go_to(1)


def test_the_app_is_described_as_the_session_says(watched: Watched) -> None:
    described = watched.agent.describe()
    assert described.cluster == "standalone"
    assert described.size_limit == NODES
    assert described.cores_per_executor == 1
    assert [operator.name for operator in described.graph] == ["watched"]


def test_a_running_stream_is_scaled_out_and_in_without_a_restart_or_a_failed_task(
    watched: Watched, query: StreamingQuery
) -> None:
    run_id = query.runId
    before = watched.go_to(1)
    watched.see_batches(2)
    grown = watched.go_to(NODES)
    assert {executor.node for executor in grown.executors} > {executor.node for executor in before.executors}
    watched.until(lambda _: len(watched.events(EventKind.WARM)) >= NODES - 1, what="warm newcomers")
    watched.see_batches(2)
    shrunk = watched.go_to(1)
    watched.see_batches(2)

    assert query.isActive
    assert query.runId == run_id
    assert working(shrunk) == working(before), "the executor that had worked longest should have stayed"
    # Executors may have been here, and have had their share of trouble, before this query.
    failed: dict[str, set[int]] = {}
    for executor in (executor for sample in watched.samples for executor in sample.executors):
        failed.setdefault(executor.id, set()).add(executor.tasks_failed)
    assert all(len(counts) == 1 for counts in failed.values()), failed
    for earlier, later in pairwise(watched.batches()):
        assert later.id == earlier.id + 1
        assert later.first_record == earlier.end_record
    assert any(batch.tasks == NODES and batch.longest_task_s is not None for batch in watched.batches())
    assert [event.executor for event in watched.events(EventKind.LOST)] == []
    assert all(event.figures["join_s"] > 0 for event in watched.events(EventKind.JOINED))
    assert len(watched.events(EventKind.REMOVED)) >= NODES - 1
    assert watched.events(EventKind.SLOW_BATCH)


def test_an_executor_that_is_killed_is_replaced_and_the_stream_goes_on(
    watched: Watched, query: StreamingQuery, cluster: LocalCluster
) -> None:
    run_id = query.runId
    sample = watched.go_to(2)
    victim = max(working(sample), key=int)
    os.kill(cluster.executor_pids()[victim].pid, signal.SIGKILL)
    restored = watched.until(
        lambda sample: victim not in working(sample) and len(working(sample)) == 2, what="a replacement"
    )
    assert restored.target_executors == 2
    watched.until(
        lambda _: victim in [event.executor for event in watched.events(EventKind.LOST)], what="the loss reported"
    )
    watched.see_batches(2)
    assert query.isActive
    assert query.runId == run_id
    for earlier, later in pairwise(watched.batches()):
        assert later.first_record == earlier.end_record
