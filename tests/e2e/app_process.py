"""An app started as users start it, in a process of its own that tests may kill."""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeVar

import psutil

from headgate.core.decision import Tick
from headgate.errors import HeadgateError
from headgate.journal import read_journal

T = TypeVar("T")

EXAMPLES = Path(__file__).parents[2] / "examples"

APP = """
name = "{name}"
folder = "{name}"

[cluster]
nodes = {nodes}
quota = {quota}
initial = 1

[stream]
workload = "{workload}"
peak = {rate}
duration_s = {duration_s}
partitions = 4
cost_us = {cost_us}

[controller]
policy = "{policy}"
executors = [1, {nodes}]
process = "{process}"
"""


def write_app(folder: Path, **options: Any) -> Path:
    defaults = {
        "name": "tested",
        "nodes": 2,
        "quota": 1.0,
        "workload": "constant",
        "rate": 500,
        "cost_us": 20,
        "duration_s": 40,
        "policy": "static:executors=2,period_s=2",
        "process": "thread",
    }
    path = folder / "app.toml"
    path.write_text(APP.format(**(defaults | options)))
    return path


def copied(name: str, tmp_path: Path, **changes: str) -> Path:
    """An example app in a folder of the test's own, with some of its lines replaced."""
    folder = tmp_path / "examples"
    shutil.copytree(EXAMPLES, folder, ignore=shutil.ignore_patterns("__pycache__"))
    path = folder / name
    lines = path.read_text().splitlines()
    for key, value in changes.items():
        places = [number for number, line in enumerate(lines) if line.startswith(f"{key} =")]
        assert len(places) == 1, f"{name} has {len(places)} lines with {key}"
        lines[places[0]] = f"{key} = {value}"
    path.write_text("\n".join(lines))
    return path


@contextmanager
def started(app: Path, home: Path, *options: str) -> Iterator[subprocess.Popen[str]]:
    """``headgate run`` on an app file; ended, with everything it started, whatever happens."""
    with (app.parent / "stderr.txt").open("a") as chatter:
        process = subprocess.Popen(
            [sys.executable, "-m", "headgate", "run", str(app), "--json", *options],
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


@dataclass(frozen=True, kw_only=True)
class Footprint:
    """What a running app has on this machine, all of which should go with it."""

    processes: tuple[psutil.Process, ...]
    places: tuple[Path, ...]

    def left(self) -> list[str]:
        gone, _ = psutil.wait_procs(self.processes, timeout=10)
        processes = [f"process {each}" for each in self.processes if each not in gone]
        return processes + [str(place) for place in self.places if place.exists()]


def footprint(process: subprocess.Popen[str], home: Path) -> Footprint:
    """Processes, control groups, scratch folders and entries in the user's state."""
    clusters = sorted((home / "clusters").glob("*.json"))
    records = [json.loads(path.read_text()) for path in clusters]
    places = [Path(record[key]) for record in records for key in ("folder", "groups") if record[key] is not None]
    parts = sorted((home / "run").glob("*.json"))
    assert clusters
    assert parts
    return Footprint(
        processes=tuple(psutil.Process(process.pid).children(recursive=True)), places=(*places, *clusters, *parts)
    )
