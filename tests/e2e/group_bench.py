"""A consumer group as its user starts it, on a broker of its own, with a hand on every process of it."""

from __future__ import annotations

import contextlib
import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import psutil

from headgate.consumers.commit_log import Commit, CommitLog
from headgate.consumers.lake import overlaps
from headgate.kafka.broker import LocalBroker

FILE = """
name = "group"
folder = "{folder}"
[kafka]
bootstrap = "{bootstrap}"
[[topics]]
name = "rows"
partitions = {partitions}
[consumers]
reads = ["rows"]
format = "{format}"
algorithm_capacity = {capacity}
consumer_capacity = {limit}
most_consumers = 4
lease_s = {lease_s}
window_s = {window_s}
wait_s = {wait_s}
batch_bytes = {batch_bytes}
[[producers]]
topic = "rows"
records = "rows:size=500,tables={tables}"
workload = "{workload}"
peak = {peak}
duration_s = {duration_s}
partition_skew = 0.6
partition_drift_s = 20
"""


@dataclass
class GroupBench:
    process: subprocess.Popen[bytes]
    folder: Path
    broker: LocalBroker

    @property
    def lake(self) -> Path:
        return self.folder / "lake"

    def notes(self, code: str | None = None) -> list[dict[str, Any]]:
        return [line for line in self._lines() if line["kind"] == "note" and code in (None, line["code"])]

    def _lines(self) -> list[dict[str, Any]]:
        path = self.folder / "group.jsonl"
        lines = path.read_text().splitlines() if path.exists() else []
        return [json.loads(line) for line in lines if line.endswith("}")]

    def commits(self) -> list[Commit]:
        return list(CommitLog(self.lake).commits())

    def pid(self, number: int) -> int:
        """Of the process of a consumer."""
        return int(json.loads(self._state(number).read_text())["process"]["pid"])

    def _state(self, number: int) -> Path:
        return self.folder / "consumers" / f"consumer-{number}.json"

    def readers(self) -> list[int]:
        """Consumers that read, as the controller knows it, and have committed records lately."""
        lately = {commit.consumer for commit in self.commits()[-12:] if commit.ranges}
        looks = [line for line in self._lines() if line["kind"] == "group"]
        reading = set(looks[-1]["assignment"].values()) if looks else set()
        return sorted(number for number in lately & reading if self._state(number).exists())

    def kill_consumer(self, number: int) -> None:
        """With its Java, as a node that loses its power."""
        process = psutil.Process(self.pid(number))
        for each in [*process.children(recursive=True), process]:
            with contextlib.suppress(psutil.NoSuchProcess):
                each.kill()

    @contextlib.contextmanager
    def paused_consumer(self, number: int) -> Iterator[None]:
        process = psutil.Process(self.pid(number))
        family = [process, *process.children(recursive=True)]
        for each in family:
            each.suspend()
        try:
            yield
        finally:
            for each in family:
                with contextlib.suppress(psutil.NoSuchProcess):
                    each.resume()

    def kill_controller(self) -> None:
        for child in psutil.Process(self.process.pid).children():
            if "controller" in child.cmdline():
                child.kill()
                return
        raise AssertionError("there is no controller to be killed")

    def wait_for(self, reached: Callable[[], bool], what: str, *, within_s: float = 120.0) -> None:
        deadline_s = time.monotonic() + within_s
        while not reached():
            assert self.process.poll() is None, f"the group ended while waiting for: {what}"
            assert time.monotonic() < deadline_s, f"not within {within_s:.0f} s: {what}"
            time.sleep(0.3)

    def wait_for_note(self, code: str, *, after: int = 0, within_s: float = 120.0) -> None:
        self.wait_for(lambda: len(self.notes(code)) > after, f"a note '{code}'", within_s=within_s)

    def finished(self, within_s: float) -> dict[str, Any]:
        out, _ = self.process.communicate(timeout=within_s)
        assert out, (self.folder / "up.log").read_text()[-3000:]
        document: dict[str, Any] = json.loads(out)
        return document

    def check_commits(self) -> None:
        """No offset in the lake twice, none left out, and none by somebody who was replaced."""
        assert overlaps(self.commits()) == []


@contextlib.contextmanager
def running_group(
    folder: Path,
    *,
    partitions: int = 16,
    capacity: float = 300_000.0,
    workload: str = "sine:period=60s,low=0.2",
    peak: float = 800.0,
    duration_s: float = 60.0,
    lease_s: float = 20.0,
    window_s: float = 10.0,
    tables: int = 4,
    wait_s: float = 1.0,
    batch_bytes: float = 5e6,
    format: str = "parquet",  # noqa: A002 - as the file calls it
) -> Iterator[GroupBench]:
    folder.mkdir(parents=True, exist_ok=True)
    with LocalBroker() as broker:
        file = folder / "group.toml"
        file.write_text(
            FILE.format(
                folder=folder,
                bootstrap=broker.settings.bootstrap,
                partitions=partitions,
                capacity=capacity,
                limit=capacity * 4 / 3,
                workload=workload,
                peak=peak,
                duration_s=duration_s,
                lease_s=lease_s,
                window_s=window_s,
                tables=tables,
                wait_s=wait_s,
                batch_bytes=batch_bytes,
                format=format,
            )
        )
        with (folder / "up.log").open("wb") as log:
            process = subprocess.Popen(
                [sys.executable, "-m", "headgate", "consumers", "up", "--app", str(file), "--json"],
                stdout=subprocess.PIPE,
                stderr=log,
                start_new_session=True,
            )
        try:
            yield GroupBench(process, folder, broker)
        finally:
            assert process.stdout is not None
            process.stdout.close()
            if process.poll() is None:
                os.kill(process.pid, signal.SIGTERM)
                try:
                    process.wait(90)
                except subprocess.TimeoutExpired:
                    process.kill()
                    process.wait()
            for left in (folder / "consumers").glob("consumer-*.json"):
                pid = int(json.loads(left.read_text())["process"]["pid"])
                with contextlib.suppress(psutil.NoSuchProcess):
                    for each in [*psutil.Process(pid).children(recursive=True), psutil.Process(pid)]:
                        each.kill()
