"""What one consumer carries, and where its time goes: by partitions, bytes in a partition, bytes in a batch and tables.

The tests of the consumer-group autoscaler (section 4.3.5; published 2.31 to 2.42 MB/s, into BigQuery), and one more. A
backlog is worked off by one consumer with ``local[1]``; the first cycles, in which Java is cold, are left out.
"""

from __future__ import annotations

import json
import statistics
import tempfile
import time
import uuid
from dataclasses import dataclass, replace
from pathlib import Path

import psutil
from pyspark import SparkContext

from headgate.consumers.chronicle import Chronicle
from headgate.consumers.consumer import ConsumerSettings, LakeConsumer
from headgate.consumers.lake import Lake
from headgate.consumers.messages import Held
from headgate.consumers.running import ensure_group_topics
from headgate.consumers.volume import Volume
from headgate.kafka.broker import LocalBroker
from headgate.kafka.production import Production, ProductionPlan
from headgate.kafka.settings import KafkaSettings
from headgate.kafka.topics import Topic, ensure_topics
from headgate.pipelines.lake import lake
from headgate.wiring.consumer_group import consumer_session
from headgate.wiring.session import close_plain_driver

RECORD_BYTES = 500
COLD_CYCLES = 3


@dataclass(frozen=True, slots=True, kw_only=True)
class Trial:
    partitions: int = 16
    megabytes: float = 80.0
    """In all partitions together."""
    batch_bytes: float = 5e6
    tables: int = 8


def run() -> None:
    base = Trial()
    trials = {
        "(warming up)": replace(base, megabytes=20.0),
        "as it is": base,
        "1 partition": replace(base, partitions=1),
        "4 partitions": replace(base, partitions=4),
        "64 partitions": replace(base, partitions=64),
        "1 MB a partition": replace(base, megabytes=16.0),
        "10 MB a partition": replace(base, megabytes=160.0),
        "1 MB a batch": replace(base, batch_bytes=1e6),
        "20 MB a batch": replace(base, batch_bytes=20e6, megabytes=200.0),
        "1 table": replace(base, tables=1),
        "50 tables": replace(base, tables=50),
    }
    with LocalBroker() as broker, tempfile.TemporaryDirectory() as folder:
        began_s = time.monotonic()
        session = consumer_session("bench", master="local[1]", memory_mb=512, delta=False)
        opened_s = time.monotonic() - began_s
        ensure_group_topics(broker.settings, consumers=2)
        for name, trial in trials.items():
            cycles = _cycles(broker.settings, session, trial, Path(folder) / uuid.uuid4().hex)
            _tell(name, cycles)
        java = psutil.Process(SparkContext._gateway.proc.pid)  # type: ignore[union-attr]
        family = [java, *java.children(recursive=True)]
        largest = max(each.memory_info().rss for each in family) / 1e6
        print(
            f"  session open after {opened_s:.1f} s; Java {largest:.0f} MB, "
            f"Python {psutil.Process().memory_info().rss / 1e6:.0f} MB",
            flush=True,
        )
        close_plain_driver()


def _cycles(kafka: KafkaSettings, session: object, trial: Trial, folder: Path) -> list[dict[str, float]]:
    topic = f"rows-{uuid.uuid4().hex[:8]}"
    ensure_topics(kafka, [Topic(topic, trial.partitions)])
    records = int(trial.megabytes * 1e6 / RECORD_BYTES)
    plan = ProductionPlan(
        topic=topic,
        records=f"rows:size={RECORD_BYTES},tables={trial.tables}",
        workload=f"constant:rate={records / 4:.0f}",
        duration_s=4.0,
    )
    with Production(kafka, plan) as production:
        while not production.finished:
            time.sleep(0.1)
    consumer = LakeConsumer(
        ConsumerSettings(number=1, group=topic, batch_bytes=trial.batch_bytes),
        kafka,
        session,  # type: ignore[arg-type]
        transform=lake,
        volume=Volume(folder / "volume"),
        lake=Lake(folder / "lake"),
        chronicle=Chronicle(folder / "cycles.jsonl"),
    )
    held = {f"{topic}-{number}": Held(topic=topic, number=number, epoch=1) for number in range(trial.partitions)}
    consumer._volume.remember(held=held)
    consumer.warm()
    consumer.resume()
    done = 0
    while done < records:
        consumer.cycle()
        lines = (folder / "cycles.jsonl").read_text().splitlines()
        done = sum(json.loads(line)["records"] for line in lines)
    whole = [json.loads(line) for line in lines]
    return [cycle for cycle in whole[COLD_CYCLES:] if cycle["bytes"] >= 0.9 * trial.batch_bytes] or whole[-1:]


def _tell(name: str, cycles: list[dict[str, float]]) -> None:
    speeds = [cycle["bytes"] / cycle["cycle_s"] / 1e6 for cycle in cycles]
    phases = {
        phase: statistics.mean(cycle[f"{phase}_s"] for cycle in cycles)
        for phase in ("gather", "write", "commit", "publish")
    }
    spread = statistics.pstdev(speeds)
    told = ", ".join(f"{phase} {seconds:.3f}" for phase, seconds in phases.items())
    print(f"  {name:<20} {statistics.mean(speeds):6.2f} ± {spread:4.2f} MB/s   {told} s", flush=True)
