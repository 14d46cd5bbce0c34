"""The example apps do what they promise, run as users run them."""

from __future__ import annotations

import json
import signal
import sqlite3
from contextlib import closing
from pathlib import Path
from typing import Any

import psutil
import pyarrow.dataset
import pytest
from app_process import EXAMPLES, copied, eventually, finished, footprint, started, ticks

from headgate.config import load_app
from headgate.journal import read_journal

pytestmark = [pytest.mark.spark, pytest.mark.timeout(300)]


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("HEADGATE_HOME", str(tmp_path / "home"))
    return tmp_path / "home"


def completed_batches(journal: Path) -> int:
    with read_journal(journal) as reader:
        return sum(len(operator.batches) for sample in reader.samples() for operator in sample.operators)


def test_plain_pyspark_is_run_until_interrupted_and_leaves_a_report_and_nothing_else(
    tmp_path: Path, home: Path
) -> None:
    app = copied("pipeline.toml", tmp_path, policy='"static:executors=2,period_s=2"')
    folder = tmp_path / "out" / "pipeline"
    journal = folder / "orders.db"
    with started(app, home) as process:
        eventually(lambda: completed_batches(journal) >= 3 and ticks(journal), what="batches in the journal")
        traces = footprint(process, home)
        process.send_signal(signal.SIGINT)
        out, _ = process.communicate(timeout=90)
    assert process.returncode == 130, (tmp_path / "examples" / "stderr.txt").read_text()
    document: dict[str, Any] = json.loads(out)
    assert document["policy"] == "static:executors=2,period_s=2"
    assert document["records"]["out"] > 0
    assert document["query_restarts"] == 0
    assert Path(document["report"]).read_text().startswith("<!DOCTYPE html>")
    with closing(sqlite3.connect(journal)) as connection:
        assert connection.execute("PRAGMA integrity_check").fetchone() == ("ok",)
    assert ticks(journal)
    orders = pyarrow.dataset.dataset(folder / "sink" / "orders", format="parquet", exclude_invalid_files=True)
    assert set(orders.to_table().column("country").to_pylist()) == {"de", "fr", "it", "pl"}
    assert traces.processes
    assert traces.left() == []


def test_an_app_that_is_interrupted_while_it_starts_leaves_nothing(tmp_path: Path, home: Path) -> None:
    app = copied("pipeline.toml", tmp_path)
    with started(app, home) as process:
        eventually(lambda: list((home / "clusters").glob("*.json")), what="a cluster on record")
        family = psutil.Process(process.pid).children(recursive=True)
        process.send_signal(signal.SIGINT)
        out, _ = process.communicate(timeout=90)
    assert process.returncode == 130
    assert out == ""
    assert "Traceback" not in (tmp_path / "examples" / "stderr.txt").read_text()
    assert list((home / "clusters").glob("*")) == []
    assert psutil.wait_procs(family, timeout=10)[1] == []


def test_the_trace_example_works_off_every_record_and_ends_by_itself(tmp_path: Path, home: Path) -> None:
    app = copied("trace.toml", tmp_path, duration_s='"20s"', peak="1000", quota="1.0")
    assert load_app(app).slo_latency_s == 10
    with started(app, home) as process:
        eventually(lambda: ticks(tmp_path / "out" / "trace" / "trace.db"), what="a decision")
        traces = footprint(process, home)
        document = finished(process)
    assert document["sink"]["exact"], document["sink"]
    assert document["records"]["in"] == document["records"]["out"] > 0
    assert traces.left() == []


def command_of(process: psutil.Process) -> list[str]:
    """None of one that has ended meanwhile."""
    try:
        return process.cmdline()
    except psutil.Error:
        return []


def test_the_taxi_example_starts_a_broker_takes_in_every_ride_once_and_leaves_nothing(
    tmp_path: Path, home: Path
) -> None:
    app = copied("taxi.toml", tmp_path, policy='"static:executors=2,period_s=2"', quota="1.0")
    journal = tmp_path / "out" / "taxi" / "taxi.db"
    with started(app, home, "--duration", "10s") as process:
        eventually(lambda: completed_batches(journal) and ticks(journal), what="batches in the journal")
        traces = footprint(process, home)
        brokers = [each for each in traces.processes if "kafka.Kafka" in command_of(each)]
        document = finished(process)
    assert len(brokers) == 1
    assert traces.left() == []
    assert document["sink"]["exact"], document["sink"]
    assert document["unfinished"] is None
    assert document["produced"]["rides"] == document["operators"]["nearest"]["records"] > 0
    assert document["workload"].startswith("sine")
    assert Path(document["report"]).read_text().startswith("<!DOCTYPE html>")


@pytest.mark.parametrize("name", [path.name for path in sorted(EXAMPLES.glob("*.toml"))])
def test_every_example_is_a_valid_app_file(name: str) -> None:
    app = load_app(EXAMPLES / name)
    assert app.folder.resolve().parent.name == "out"
