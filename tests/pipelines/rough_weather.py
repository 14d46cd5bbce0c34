"""A pipeline through everything that may happen to it: executors come and go, one is killed, the queries stop.

A trial says what goes in, which operators work on it, and what must come out. ``endure`` sends a few records, lets the
app grow when they were worked on, sends more, kills an executor in the middle of a batch, stops every query in the
middle of the work, starts them again from their checkpoints, lets the app shrink, sends the rest, and waits.
"""

from __future__ import annotations

import os
import signal
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from bounded import make_topic, send
from pyspark.sql import SparkSession

import headgate
from headgate.kafka.offsets import end_offsets
from headgate.kafka.settings import KafkaSettings
from headgate.spark.cluster import LocalCluster
from headgate.spark.gateway import SparkGateway
from headgate.spark.operators import Operator
from headgate.wiring.completion import Completion, Step

_PATIENCE_S = 90.0
_LOOK_EVERY_S = 0.05
_FIRST_SHARE, _SECOND_SHARE = 0.15, 0.7
_PARTITIONS = 3


@dataclass(frozen=True, slots=True, kw_only=True)
class Site:
    """Where a trial takes place."""

    spark: SparkSession
    kafka: KafkaSettings
    folder: Path
    topics: Mapping[str, str]
    """The real names of the trial's topics; the first takes the records."""

    def operator(self, name: str, transform: Any, **options: Any) -> Operator:
        """Start an operator of this trial, or go on with it."""
        renamed = dict(options)
        if "reads" in renamed:
            renamed["reads"] = [self.topics[topic] for topic in renamed["reads"]]
        if renamed.get("writes") is not None:
            renamed["writes"] = self.topics[renamed["writes"]]
        return headgate.operator(
            self.spark,
            name=f"{name}-{self.folder.name}",
            transform=transform,
            kafka=self.kafka,
            checkpoint=self.folder / "checkpoints" / name,
            max_parallelism=renamed.pop("max_parallelism", 2),
            trigger_s=renamed.pop("trigger_s", 0.2),
            **renamed,
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class Trial:
    """One pipeline, its input and its known answer."""

    name: str
    topics: tuple[str, ...]
    values: Sequence[bytes]
    closing: Sequence[Sequence[bytes]] = ()
    """Rounds of records far ahead in event time, which let the last windows close: one round per stage with windows."""
    start: Callable[[Site], list[Operator]]
    """Starts the operators, upstream first; called again to go on from their checkpoints."""
    found: Callable[[Site], Any]
    expected: Any


@dataclass(slots=True)
class Weather:
    """What happened to the app."""

    killed: list[str] = field(default_factory=list)
    sizes: list[int] = field(default_factory=list)
    runs: set[str] = field(default_factory=set)
    done_before_stop: int = 0
    """Records that the first operator had worked off."""
    behind_at_stop: str | None = None
    """What was left to do for any of them."""
    found: Any = None
    """What was in the last sink in the end."""


def endure(trial: Trial, *, spark: SparkSession, cluster: LocalCluster, kafka: KafkaSettings, folder: Path) -> Weather:
    """Run a trial to its end; the caller compares what was found with what was expected."""
    weather, gateway = Weather(), SparkGateway(spark)
    site = _site(trial, spark, kafka, folder)
    first, second = (int(len(trial.values) * share) for share in (_FIRST_SHARE, _SECOND_SHARE))
    intake = site.topics[trial.topics[0]]
    send(kafka, intake, trial.values[:first], partitions=_PARTITIONS)
    operators = trial.start(site)
    try:
        with headgate.attach(
            [operator.query for operator in operators],
            policy="static:executors=1",
            executors=(1, 3),
            journal=folder / "first.db",
            app=f"{trial.name}-1",
        ) as scaler:
            _eventually(lambda: _taken(site, operators), what="the first batch")
            _grow(scaler, weather, gateway)
            send(kafka, intake, trial.values[first:second], partitions=_PARTITIONS)
            _kill_one_at_work(weather, gateway, cluster)
            _eventually(lambda: _busy(gateway), what="work after the kill")
            weather.runs |= {str(operator.query.runId) for operator in operators}
            for operator in operators:
                operator.stop()
        weather.done_before_stop = _taken(site, operators)
        weather.behind_at_stop = _completion(site, operators).behind()
        operators = trial.start(site)
        with headgate.attach(
            [operator.query for operator in operators],
            policy="static:executors=2",
            executors=(1, 3),
            journal=folder / "second.db",
            app=f"{trial.name}-2",
        ) as scaler:
            send(kafka, intake, trial.values[second:], partitions=_PARTITIONS)
            scaler.pin(1)
            _eventually(lambda: len(gateway.registered()) == 1, what="one executor")
            weather.sizes.append(1)
            weather.runs |= {str(operator.query.runId) for operator in operators}
            for more in ([], *trial.closing):
                send(kafka, intake, more, partitions=_PARTITIONS)
                completion = _completion(site, operators)
                _eventually(completion.reached, what="the end of the work", within_s=2 * _PATIENCE_S)
                assert completion.left is None, completion.left
    finally:
        for operator in operators:
            operator.stop()
    weather.found = trial.found(site)
    return weather


def _site(trial: Trial, spark: SparkSession, kafka: KafkaSettings, folder: Path) -> Site:
    topics = {name: make_topic(kafka, name, partitions=_PARTITIONS) for name in trial.topics}
    return Site(spark=spark, kafka=kafka, folder=folder, topics=topics)


def _grow(scaler: headgate.Scaler, weather: Weather, gateway: SparkGateway) -> None:
    scaler.pin(3)
    _eventually(lambda: len(gateway.registered()) == 3, what="three executors")
    # Killed before the controller saw it come, an executor would be nobody's loss.
    _eventually(lambda: _observed(scaler) == 3, what="a sample with three executors")
    weather.sizes.append(3)


def _observed(scaler: headgate.Scaler) -> int | None:
    observed = scaler.status().observed
    return None if observed is None else observed.executors


def _kill_one_at_work(weather: Weather, gateway: SparkGateway, cluster: LocalCluster) -> None:
    def at_work() -> str | None:
        running = [task.executor for stage in gateway.active_stages() for task in stage.running]
        return max(running, key=int, default=None)

    victim = _eventually(at_work, what="an executor with a running task")
    os.kill(cluster.executor_pids()[victim].pid, signal.SIGKILL)
    weather.killed.append(victim)
    _eventually(lambda: victim not in gateway.registered(), what="the loss of the killed executor")


def _busy(gateway: SparkGateway) -> bool:
    return any(stage.running for stage in gateway.active_stages())


def _taken(site: Site, operators: Sequence[Operator]) -> int:
    return _completion(site, operators).taken()[operators[0].name]


def _completion(site: Site, operators: Sequence[Operator]) -> Completion:
    steps = [
        Step(
            name=operator.name,
            reads=operator.reads,
            checkpoint=site.folder / "checkpoints" / operator.name.removesuffix(f"-{site.folder.name}"),
            trigger_s=1.0,
        )
        for operator in operators
    ]

    def ends(topics: Sequence[str]) -> dict[str, dict[int, int]]:
        found: dict[str, dict[int, int]] = {topic: {} for topic in topics}
        for place, end in end_offsets(site.kafka, topics).items():
            found[place.topic][place.number] = end
        return found

    return Completion(steps, starts={}, ends=ends, now_s=time.monotonic)


def _eventually(condition: Callable[[], Any], *, what: str, within_s: float = _PATIENCE_S) -> Any:
    deadline = time.monotonic() + within_s
    while time.monotonic() < deadline:
        found = condition()
        if found:
            return found
        time.sleep(_LOOK_EVERY_S)
    raise AssertionError(f"{what} did not come within {within_s:.0f} s")
