"""How fast Spark and Kafka start: with classes that are shared between processes, and without, in turns."""

from __future__ import annotations

import os
import statistics
import time

import psutil

from headgate.class_archive import OFF_VARIABLE
from headgate.kafka.broker import LocalBroker
from headgate.spark.cluster import LocalCluster

TURNS = 3
_KINDS = ("shared", "not shared")


def run() -> None:
    for _ in range(2):
        # The first one lists its classes, and beside the second one the archive is made.
        _cluster(patience_s=120.0)
        _broker(patience_s=60.0)
    for what, start in (("Spark, two executors, first query", _cluster), ("Kafka, one broker", _broker)):
        took: dict[str, list[tuple[float, float]]] = {kind: [] for kind in _KINDS}
        for _ in range(TURNS):
            for kind in _KINDS:
                took[kind].append(_switched(start, on=kind == "shared"))
        wall, processor = ({kind: statistics.median(each[i] for each in took[kind]) for kind in _KINDS} for i in (0, 1))
        print(
            f"  {what}: {wall['shared']:5.1f} s instead of {wall['not shared']:5.1f} s "
            f"(×{wall['shared'] / wall['not shared']:.2f}); processor time {processor['shared']:5.1f} s instead of "
            f"{processor['not shared']:5.1f} s (×{processor['shared'] / processor['not shared']:.2f})",
            flush=True,
        )


def _switched(start: object, *, on: bool) -> tuple[float, float]:
    assert callable(start)
    if not on:
        os.environ[OFF_VARIABLE] = "off"
    try:
        found: tuple[float, float] = start()
        return found
    finally:
        os.environ.pop(OFF_VARIABLE, None)


def _cluster(patience_s: float = 0.0) -> tuple[float, float]:
    began_s = time.monotonic()
    with LocalCluster(nodes=2, initial=2, quota=None) as cluster:
        session = cluster.session("starts")
        session.range(1000).selectExpr("id % 7 AS k").groupBy("k").count().collect()
        found = time.monotonic() - began_s, _processor_s(cluster.token)
        if cluster._making is not None:
            cluster._making.wait(patience_s)
    return found


def _broker(patience_s: float = 0.0) -> tuple[float, float]:
    began_s = time.monotonic()
    with LocalBroker() as broker:
        found = time.monotonic() - began_s, _processor_s(broker.layout.token)
        if broker._making is not None:
            broker._making.wait(patience_s)
    return found


def _processor_s(token: str) -> float:
    """Of all Java processes that bear the token."""
    total = 0.0
    for process in psutil.process_iter(["cmdline", "cpu_times"]):
        if any(token in word for word in process.info["cmdline"] or ()):
            total += process.info["cpu_times"].user + process.info["cpu_times"].system
    return total
