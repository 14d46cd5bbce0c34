"""What a change costs a running stream: no stop, beside the usual way, stopping the query and starting it again.

On the images' operators without state, parallelism is changed; on a word count, which has state, executors. Twenty
changes in a row under a steady load. Of each the longest time between two committed batches around it counts, and is
compared with the 95th percentile of such times without any change. Then, in the same run, the usual way: the query is
stopped, the setting changed, and the query started again. At the end every record must be in the last sink once.
"""

from __future__ import annotations

import json
import statistics
import tempfile
import time
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
from pyspark.sql import SparkSession

from headgate.config import AppFile, load_app
from headgate.pipelines.word_count import word_count as batch_count
from headgate.spark import driver
from headgate.spark.committed import sink_files
from headgate.spark.gateway import SparkGateway
from headgate.spark.operators import Operator, start_operator
from headgate.spark.progress import read_event
from headgate.wiring.app import RunningApp
from headgate.wiring.examples import example_app
from headgate.wiring.operator_flow import OperatorFlow

CHANGES, RESTARTS = 20, 5
WARM_S, QUIET_S = 60.0, 60.0
AROUND = 3
"""Times between commits that belong to a change: the one that it falls into, and the next two."""
GOAL = 1.5


@dataclass
class Commits:
    """When batches of a query were committed, collected while it runs."""

    operator: Operator
    by_batch: dict[tuple[str, int], float] = field(default_factory=dict)
    runs: list[str] = field(default_factory=list)

    def look(self) -> None:
        for progress in self.operator.query.recentProgress:
            event = read_event(json.loads(progress.json))
            if event.executed:
                self.by_batch[str(progress.runId), event.batch_id] = event.finished_s
        run = str(self.operator.query.runId)
        if not self.runs or self.runs[-1] != run:
            self.runs.append(run)

    @property
    def times_s(self) -> list[float]:
        return sorted(self.by_batch.values())

    def around(self, moment_s: float) -> float | None:
        """The longest time between two commits around a moment."""
        gaps = [(before, after) for before, after in pairwise(self.times_s) if after > moment_s][:AROUND]
        return max((after - before for before, after in gaps), default=None)

    def within(self, since_s: float, until_s: float) -> list[float]:
        return [b - a for a, b in pairwise(self.times_s) if a >= since_s and b <= until_s]


@dataclass(frozen=True)
class Trial:
    app: AppFile
    operator: str
    every_s: float
    change: Callable[[RunningApp, Operator, int], None]
    """The change of a number, while the query runs."""
    restart: Callable[[Operator, int], Operator]
    """The same with the query stopped."""
    check: Callable[[RunningApp], str]
    """What is in the last sink."""


def run() -> None:
    with tempfile.TemporaryDirectory() as folder:
        images(Path(folder) / "images")
        word_count(Path(folder) / "words")


def images(folder: Path) -> None:
    print("  images, parallelism of 'recognize' 1 → 4 → 2 → 3 → …", flush=True)
    settings = (4, 2, 3, 1)

    def change(_: RunningApp, operator: Operator, number: int) -> None:
        operator.set_parallelism(settings[number % len(settings)])

    def restart(operator: Operator, number: int) -> Operator:
        operator.stop()
        return start_operator(_session(), replace(operator._plan, parallelism=settings[number % len(settings)]))

    def check(running: RunningApp) -> str:
        (audit,) = running.audits(complete=True).values()
        return audit.summary

    _measure(Trial(_images(folder), "recognize", 12.0, change, restart, check))


def word_count(folder: Path) -> None:
    print("  word count, executors 2 → 3 → 2 → …", flush=True)

    def change(running: RunningApp, _: Operator, number: int) -> None:
        running.controls.pin(3 if number % 2 == 0 else 2)

    def restart(operator: Operator, number: int) -> Operator:
        operator.stop()
        _resize(3 if number % 2 == 0 else 2)
        return start_operator(_session(), operator._plan)

    _measure(Trial(_word_count(folder), "count", 20.0, change, restart, _counted_again))


def _resize(executors: int) -> None:
    """Another number of executors for a query that does not run; there when this returns."""
    session = _session()
    driver.request_total(session, executors)
    for extra in driver.executor_ids(session)[executors:]:
        SparkGateway(session).remove(extra, force=True)
    while len(driver.executor_ids(session)) != executors:
        time.sleep(0.1)


def _counted_again(running: RunningApp) -> str:
    """The last count of each word, compared with a count of the whole topic at once."""
    flow = running.flow
    assert isinstance(flow, OperatorFlow)
    assert flow.kafka is not None
    session = _session()
    topic = session.read.format("kafka").options(**flow.kafka.settings.for_spark(), subscribe="lines").load()
    expected = {row["word"]: row["count"] for row in batch_count(topic).collect()}
    files = map(str, sink_files(running.app.folder / "counts"))
    sink = session.read.parquet(*files).groupBy("word").agg({"count": "max"})
    found = {row[0]: row[1] for row in sink.collect()}
    wrong = sum(found.get(word) != count for word, count in expected.items()) + len(found.keys() - expected.keys())
    total = sum(expected.values())
    return f"{len(expected)} words that appeared {total} times, " + (
        f"{wrong} wrong" if wrong else "all counted exactly"
    )


def _session() -> SparkSession:
    session = SparkSession.getActiveSession()
    assert session is not None
    return session


def _measure(trial: Trial) -> None:
    every_s = trial.every_s
    with RunningApp(trial.app, say=lambda _: None) as running:
        flow = running.flow
        assert isinstance(flow, OperatorFlow)
        commits = Commits(next(each for each in flow.operators if each.name == trial.operator))

        def watch(seconds: float) -> None:
            until_s = time.time() + seconds
            while time.time() < until_s:
                time.sleep(0.5)
                commits.look()

        watch(WARM_S)
        quiet_s = time.time()
        watch(QUIET_S)
        changed_s = []
        for number in range(CHANGES):
            changed_s.append(time.time())
            trial.change(running, commits.operator, number)
            watch(every_s)
        runs = list(commits.runs)
        again_s = []
        for number in range(RESTARTS):
            again_s.append(time.time())
            commits.operator = trial.restart(commits.operator, number)
            watch(every_s)
        while not flow.finished():
            time.sleep(0.5)
        sink = trial.check(running)
    quiet = commits.within(quiet_s, changed_s[0])
    usual = float(np.percentile(quiet, 95))
    _tell("unchanged", quiet, usual)
    _tell("around a change", [gap for each in changed_s if (gap := commits.around(each)) is not None], usual)
    _tell("stopped and started again", [gap for each in again_s if (gap := commits.around(each)) is not None], usual)
    print(f"    {CHANGES} changes in {len(runs)} run of the query; in the sink: {sink}", flush=True)


def _tell(what: str, gaps: list[float], usual: float) -> None:
    within = sum(gap <= GOAL * usual for gap in gaps) / len(gaps)
    print(
        f"    {what:<26} {len(gaps):3d}: median {statistics.median(gaps):5.2f} s, p95 "
        f"{np.percentile(gaps, 95):5.2f} s, "
        f"longest {max(gaps):5.2f} s; longest ÷ usual p95 {max(gaps) / usual:4.2f}, "
        f"{within:.0%} within {GOAL:g} of it",
        flush=True,
    )


def _images(folder: Path) -> AppFile:
    seconds = WARM_S + QUIET_S + (CHANGES + RESTARTS) * 12.0 + 20.0
    return _app("images", folder, rate=3.0, seconds=seconds, nodes=4, executors=4, quota=0.4)


def _word_count(folder: Path) -> AppFile:
    seconds = WARM_S + QUIET_S + (CHANGES + RESTARTS) * 20.0 + 20.0
    return _app("word-count", folder, rate=3000.0, seconds=seconds, nodes=3, executors=2, quota=0.5)


def _app(
    example: str, folder: Path, *, rate: float, seconds: float, nodes: int, executors: int, quota: float
) -> AppFile:
    app = load_app(example_app(example))
    (producer,) = app.producers
    load = {"workload": f"constant:rate={rate:g}", "peak": None, "duration_s": seconds}
    cluster: dict[str, Any] = {"nodes": nodes, "initial": executors, "quota": quota}
    controller = {"policy": f"static:executors={executors}", "executors": (1, nodes), "guards": ()}
    return app.model_copy(
        update={
            "folder": folder,
            "cluster": app.cluster.model_copy(update=cluster),
            "producers": (producer.model_copy(update=load),),
            "controller": app.controller.model_copy(update=controller),
        }
    )
