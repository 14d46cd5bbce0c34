"""``headgate.attach`` on a real session, as a data engineer uses it: from the driver and from another terminal."""

from __future__ import annotations

import json
import logging
import socket
import time
from collections.abc import Callable, Iterator
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import SparkSession
from pyspark.sql.streaming.query import StreamingQuery

import headgate
from headgate.cli import run_cli
from headgate.core.decision import Levers, Outcome
from headgate.core.sample import Batch
from headgate.core.status import Status
from headgate.errors import UserMistake
from headgate.journal import read_journal
from headgate.link import find
from headgate.policies import Hpa, Static
from headgate.spark import driver

pytestmark = [pytest.mark.spark, pytest.mark.timeout(300)]

PATIENCE_S = 60.0
NODES = 3

Start = Callable[..., StreamingQuery]


@pytest.fixture
def start(spark: SparkSession, tmp_path: Path) -> Iterator[Start]:
    """Starts small streams, and ends them with the test."""
    started: list[StreamingQuery] = []

    def start(name: str, *columns: str) -> StreamingQuery:
        stream = spark.readStream.format("rate").option("rowsPerSecond", 200).option("numPartitions", 2).load()
        query = (
            (stream.selectExpr(*columns) if columns else stream)
            .writeStream.format("noop")
            .queryName(name)
            .option("checkpointLocation", str(tmp_path / f"checkpoint-{name}"))
            .trigger(processingTime="500 milliseconds")
            .start()
        )
        started.append(query)
        return query

    yield start
    for query in started:
        query.stop()
    back_to_one_executor(spark)


@pytest.fixture(autouse=True)
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("HEADGATE_HOME", str(tmp_path / "home"))
    return tmp_path / "home"


@pytest.fixture(autouse=True)
def words() -> Iterator[list[str]]:
    """What Headgate says; the command line, run in this process, would otherwise leave its own set-up behind."""
    logger = logging.getLogger("headgate")
    before = (logger.handlers[:], logger.level, logger.propagate)
    said: list[str] = []

    class Listener(logging.Handler):
        def emit(self, record: logging.LogRecord) -> None:
            said.append(f"{record.levelname} {record.getMessage()}")

    logger.addHandler(Listener())
    yield said
    logger.handlers[:], logger.propagate = before[0], before[2]
    logger.setLevel(before[1])


def until(ask: Callable[[], Any], *, what: str) -> None:
    give_up_s = time.monotonic() + PATIENCE_S
    while not ask():
        assert time.monotonic() < give_up_s, f"never: {what}"
        time.sleep(0.2)


def back_to_one_executor(spark: SparkSession) -> None:
    """End all but one, and wait until it has been alone for a while: some may be leaving or coming at this moment."""
    for executor in driver.executor_ids(spark)[1:]:
        spark.sparkContext._jsc.sc().killExecutor(executor)
    driver.request_total(spark, 1)
    seen: list[tuple[str, ...]] = []

    def is_alone() -> bool:
        seen.append(driver.executor_ids(spark))
        return len(seen) > 10 and len(seen[-1]) == 1 and len(set(seen[-10:])) == 1

    until(is_alone, what="a single executor")


def free_port() -> int:
    with socket.socket() as trial:
        trial.bind(("127.0.0.1", 0))
        port: int = trial.getsockname()[1]
        return port


def size(status: Status) -> int | None:
    return status.observed.executors if status.observed is not None else None


def reasons(status: Status) -> list[str]:
    return [reason.code for reason in status.last_tick.decision.reasons] if status.last_tick is not None else []


def batches(journal: Path) -> list[Batch]:
    with read_journal(journal) as reader:
        return [batch for sample in reader.samples() for batch in sample.operators[0].batches]


def assert_no_batch_was_lost(journal: Path) -> None:
    seen = batches(journal)
    assert len(seen) > 3
    for earlier, later in pairwise(seen):
        assert (later.id, later.first_record) == (earlier.id + 1, earlier.end_record)


def test_a_running_stream_is_sized_by_hand_and_by_its_policy_and_never_notices(start: Start, tmp_path: Path) -> None:
    query = start("orders")
    run_id = query.runId
    journal = tmp_path / "orders.db"
    policy = Static(executors=1, period_s=1.0)
    with headgate.attach(query, policy=policy, executors=(1, NODES), journal=journal) as scaler:
        status = scaler.status()
        assert (status.app, status.epoch, status.running) == ("orders", 1, True)
        assert status.bounds.most == NODES
        until(lambda: reasons(scaler.status()) == ["fixed-size"], what="a decision with its reason")

        scaler.pin(2)
        until(lambda: size(scaler.status()) == 2, what="the pinned size")
        assert "pinned" in reasons(scaler.status())
        scaler.pause()
        scaler.unpin()
        until(lambda: "paused" in reasons(scaler.status()), what="a decision that is held back")
        held = scaler.status()
        assert held.target is not None
        assert held.target.executors == 2
        assert held.levers == Levers(paused=True)
        scaler.resume()
        until(lambda: size(scaler.status()) == 1, what="the policy's size")
        with pytest.raises(UserMistake, match="outside the bounds"):
            scaler.pin(NODES + 1)
        for again in (headgate.attach, headgate.serve):
            with pytest.raises(UserMistake, match="'orders' is attached already"):
                again(query, executors=(1, NODES))
        until(lambda: len(batches(journal)) > 3, what="batches while it was sized")
    assert scaler.failure is None
    assert query.isActive
    assert query.runId == run_id
    assert_no_batch_was_lost(journal)


def test_another_terminal_has_the_levers_and_a_new_scaler_takes_over_where_the_old_one_stopped(
    start: Start, spark: SparkSession, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    def terminal(*args: object) -> dict[str, Any]:
        capsys.readouterr()
        code = run_cli([str(arg) for arg in (*args, "--app", "orders", "--json")])
        captured = capsys.readouterr()
        assert code == 0, captured.err
        document: dict[str, Any] = json.loads(captured.out)
        return document

    query = start("orders")
    journal = tmp_path / "orders.db"
    port = free_port()
    first = headgate.attach(
        query, policy="static:executors=1,period_s=1", executors=(1, NODES), journal=journal, port=port
    )
    assert find("controller", "orders").address == f"127.0.0.1:{port}"
    assert terminal("status")["policy"].startswith("static:")
    assert terminal("pause")["levers"]["paused"] is True
    assert terminal("resume")["levers"]["paused"] is False
    assert terminal("pin", 2)["levers"]["pinned"] == 2
    until(lambda: (terminal("status")["observed"] or {}).get("executors") == 2, what="the pinned size")
    first.stop()
    assert not first.status().running
    assert run_cli(["status", "--app", "orders"]) == 2

    before = query.lastProgress
    assert before is not None
    until(lambda: query.lastProgress.batchId > before.batchId + 2, what="batches without a scaler")
    until(lambda: len(driver.executor_ids(spark)) == 2, what="the size without a scaler")

    second = headgate.attach(
        query, policy="static:executors=1,period_s=1", executors=(1, NODES), journal=journal, port=port
    )
    resumed = terminal("status")
    assert resumed["epoch"] == 2
    assert resumed["levers"] == {"paused": False, "pinned": 2}
    assert resumed["target"]["executors"] == 2
    assert terminal("unpin")["levers"]["pinned"] is None
    until(lambda: size(second.status()) == 1, what="the policy's size")
    query.stop()
    assert second.wait(PATIENCE_S)
    assert second.failure is None
    with pytest.raises(UserMistake, match="has ended"):
        second.pin(2)
    with read_journal(journal) as reader:
        assert {tick.epoch for tick in reader.ticks()} == {1, 2}


def test_a_dry_run_of_two_queries_decides_changes_nothing_and_ends_with_the_last_of_them(
    start: Start, spark: SparkSession, home: Path
) -> None:
    pair = [start("clicks"), start("views/all")]
    present = driver.executor_ids(spark)
    scaler = headgate.attach(
        pair, policy=Static(executors=3, period_s=1.0), executors=(1, NODES), app="both", dry_run=True
    )
    until(lambda: getattr(scaler.status().last_tick, "evaluation", None) is not None, what="a decision on figures")
    tick = scaler.status().last_tick
    assert tick is not None
    assert tick.outcome is Outcome.DRY_RUN
    assert tick.decision.granted.executors == 3
    until(
        lambda: (
            [operator.name for operator in getattr(scaler.status().now, "operators", ())] == ["clicks", "views/all"]
        ),
        what="both queries measured",
    )
    pair[0].stop()
    assert not scaler.wait(3.0)
    assert driver.executor_ids(spark) == present
    pair[1].stop()
    assert scaler.wait(PATIENCE_S)
    assert scaler.journal.parent == home / "journals"
    assert list((home / "run").iterdir()) == []


def test_a_query_that_fails_takes_its_scaler_along_and_the_reason_is_said(start: Start, words: list[str]) -> None:
    query = start("orders/eu", "if(value > 300, raise_error('spoiled record'), value) AS value")
    scaler = headgate.attach(query, policy="static:period_s=1", executors=(1, NODES))
    assert scaler.wait(PATIENCE_S)
    assert "spoiled record" in str(scaler.failure)
    assert [word for word in words if word.startswith("ERROR") and "spoiled record" in word]
    assert not scaler.status().running
    with pytest.raises(UserMistake, match="'orders/eu' has ended"):
        headgate.attach(query, executors=(1, NODES))


def test_what_cannot_work_is_refused_in_one_sentence_and_leaves_nothing_behind(
    start: Start, tmp_path: Path, home: Path
) -> None:
    query = start("orders")
    other = tmp_path / "other.db"
    headgate.attach(query, policy="static", executors=(1, 1), app="other", journal=other).stop()

    class Planner(Static):
        """Scales what no query offers."""

        scales = frozenset({*Static.scales, "parallelism"})

    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        port = taken.getsockname()[1]
        mistakes: list[tuple[Any, dict[str, Any], str]] = [
            (query, {"executors": (1, 40)}, "spark.cores.max=3 allows 3 executors"),
            (query, {"executors": 3}, "not a pair"),
            (query, {"policy": "hpaa"}, "did you mean 'hpa'"),
            (query, {"policy": Hpa}, "neither a name nor a policy"),
            (query, {"policy": Planner()}, "does not offer"),
            (query, {"guards": [object()]}, "neither a name nor a guard"),
            (query, {"port": port}, f"port {port} for the controller of 'orders' is in use"),
            (query, {"journal": other}, "belongs to app 'other'"),
            (query, {"journal": tmp_path / "missing" / "x.db"}, "missing"),
            ([query, query], {}, "'orders' appears twice"),
            ([], {}, "no query"),
            ("orders", {}, "a str"),
        ]
        for given, options, sentence in mistakes:
            with pytest.raises(UserMistake) as caught:
                headgate.attach(given, **{"executors": (1, NODES), **options})
            assert sentence in str(caught.value)
            assert "\n" not in str(caught.value)
    assert query.isActive
    assert list((home / "run").iterdir()) == []
