"""An app started as users start it, in a process of its own that tests may kill."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, TypeVar

import psutil

from headgate.core.decision import Tick
from headgate.errors import HeadgateError
from headgate.journal import read_journal

T = TypeVar("T")

APP = """
name = "{name}"
folder = "{name}"

[cluster]
nodes = 2
quota = {quota}
initial = 1

[stream]
workload = "constant"
peak = {rate}
duration_s = {duration_s}
partitions = 4
cost_us = 20

[controller]
policy = "{policy}"
executors = [1, 2]
process = "{process}"
"""


def write_app(folder: Path, **options: Any) -> Path:
    defaults = {
        "name": "tested",
        "quota": 1.0,
        "rate": 500,
        "duration_s": 40,
        "policy": "static:executors=2,period_s=2",
        "process": "thread",
    }
    path = folder / "app.toml"
    path.write_text(APP.format(**(defaults | options)))
    return path


@contextmanager
def started(app: Path, home: Path) -> Iterator[subprocess.Popen[str]]:
    """``headgate run`` on an app file; ended, with everything it started, whatever happens."""
    with (app.parent / "stderr.txt").open("a") as chatter:
        process = subprocess.Popen(
            [sys.executable, "-m", "headgate", "run", str(app), "--json"],
            stdout=subprocess.PIPE,
            stderr=chatter,
            text=True,
            env={**os.environ, "HEADGATE_HOME": str(home)},
        )
    try:
        yield process
    finally:
        if process.poll() is None:
            process.send_signal(signal.SIGTERM)
            try:
                process.wait(timeout=60)
            except subprocess.TimeoutExpired:
                process.kill()
                process.wait()
        if process.stdout is not None:
            process.stdout.close()


def finished(process: subprocess.Popen[str], *, within_s: float = 180) -> dict[str, Any]:
    """The document that the app ends with."""
    out, _ = process.communicate(timeout=within_s)
    assert process.returncode == 0, out
    document: dict[str, Any] = json.loads(out)
    return document


def eventually(ask: Callable[[], T | None], *, what: str, within_s: float = 120) -> T:
    """The first answer that is one; how long it may take is no promise of the product."""
    ends_s = time.monotonic() + within_s
    while True:
        try:
            answer = ask()
        except HeadgateError:
            answer = None
        if answer:
            return answer
        assert time.monotonic() < ends_s, f"never: {what}"
        time.sleep(0.3)


def ticks(journal: Path) -> list[Tick]:
    with read_journal(journal) as reader:
        return list(reader.ticks())


def sizes(journal: Path) -> list[int]:
    """Executors that were there, sample by sample."""
    with read_journal(journal) as reader:
        return [len(sample.executors) for sample in reader.samples()]


def executor_pids(home: Path) -> list[int]:
    """Running executor processes of the clusters on record, in the order in which they were seen to start."""
    records = [json.loads(path.read_text()) for path in sorted((home / "clusters").glob("*.json"))]
    seen = [each["pid"] for record in records for each in record["processes"] if each["role"].startswith("executor")]
    return [pid for pid in seen if psutil.pid_exists(pid)]
