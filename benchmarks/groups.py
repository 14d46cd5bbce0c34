"""A group that packs itself beside Kafka's own groups with a scaler by lag: real brokers, consumers and producers.

The same load, which drifts from partition to partition, one group after the other. Members of Kafka's groups are plain
processes whose sink takes only so many bytes a second; a scaler adds and removes them as KEDA does, by the lag divided
by a threshold. Consumers of ours are PySpark, and take longer to start.
"""

from __future__ import annotations

import json
import math
import statistics
import subprocess
import sys
import tempfile
import time
from collections import deque
from pathlib import Path

from headgate.kafka.broker import LocalBroker
from headgate.kafka.offsets import lag_of
from headgate.kafka.production import Production, ProductionPlan
from headgate.kafka.settings import KafkaSettings
from headgate.kafka.topics import Topic, ensure_topics
from headgate.packing.assignors import ASSIGNORS

sys.path.insert(0, str(Path(__file__).parents[1] / "tests" / "e2e"))

from group_bench import running_group

PARTITIONS, RECORD_BYTES = 16, 500
CAPACITY, LIMIT = 300_000.0, 400_000.0
PEAK = 3 * CAPACITY / RECORD_BYTES
DURATION_S, PERIOD_S = 240.0, 120.0
POLL_S, STABILIZATION_S, THRESHOLD_S, MOST = 10.0, 60.0, 10.0, 4
"""KEDA's 30 s and 300 s, shortened with the load's period."""


def run() -> None:
    workload = f"sine:period={PERIOD_S:.0f}s,low=0.2"
    with tempfile.TemporaryDirectory() as folder:
        with running_group(
            Path(folder) / "packed",
            partitions=PARTITIONS,
            capacity=CAPACITY,
            workload=workload,
            peak=PEAK,
            duration_s=DURATION_S,
            window_s=30.0,
        ) as group:
            found = group.finished(within_s=DURATION_S + 240)
        _tell("packed (mbf)", found["consumers"]["mean"], found["moved"], found["lag_records"])
        for assignor in ASSIGNORS:
            _kafkas(assignor, workload, Path(folder))


def _kafkas(assignor: str, workload: str, folder: Path) -> None:
    with LocalBroker() as broker:
        kafka, topic, log = broker.settings, "rows", folder / f"{assignor}.log"
        ensure_topics(kafka, [Topic(topic, PARTITIONS)])
        plan = ProductionPlan(
            topic=topic,
            records=f"rows:size={RECORD_BYTES},tables=4",
            workload=workload,
            peak=PEAK,
            duration_s=DURATION_S,
            partition_skew=0.6,
            partition_drift_s=20.0,
        )
        members = _Members(kafka, topic, assignor, log)
        sizes, lags = [], []
        try:
            members.resize(1)
            with Production(kafka, plan) as production:
                wanted: deque[tuple[float, int]] = deque()
                looked_s = -math.inf
                while not production.finished or lags[-1] > 0:
                    time.sleep(1.0)
                    now_s = time.monotonic()
                    lags.append(float(sum(lag_of(kafka, "compared", [topic]).values())))
                    sizes.append(len(members.processes))
                    if now_s - looked_s >= POLL_S:
                        looked_s = now_s
                        size = min(MOST, max(1, math.ceil(lags[-1] * RECORD_BYTES / (THRESHOLD_S * LIMIT))))
                        wanted.append((now_s, size))
                        while wanted[0][0] < now_s - STABILIZATION_S:
                            wanted.popleft()
                        members.resize(max(size, min(len(members.processes), max(each for _, each in wanted))))
        finally:
            members.resize(0)
        moves = len(log.read_text().splitlines()) - PARTITIONS
        _tell(
            f"Kafka's, {assignor}, by lag",
            statistics.mean(sizes),
            moves,
            {"mean": statistics.mean(lags), "max": max(lags)},
        )


class _Members:
    def __init__(self, kafka: KafkaSettings, topic: str, assignor: str, log: Path) -> None:
        self._words = [kafka.bootstrap, topic, "compared", assignor, str(LIMIT), str(log)]
        self.processes: list[subprocess.Popen[bytes]] = []

    def resize(self, size: int) -> None:
        while len(self.processes) < size:
            command = [sys.executable, "-m", "benchmarks.group_member", *self._words]
            self.processes.append(subprocess.Popen(command, cwd=Path(__file__).parents[1]))
        while len(self.processes) > size:
            process = self.processes.pop()
            process.terminate()
            try:
                process.wait(20)
            except subprocess.TimeoutExpired:
                process.kill()
                process.wait()


def _tell(label: str, consumers: float, moved: int, lag: dict[str, float]) -> None:
    told = json.dumps({"mean": round(lag["mean"]), "max": round(lag["max"])})
    print(f"  {label:<36} {consumers:5.2f} consumers, {moved:4d} partitions moved, lag in records {told}", flush=True)
