"""The consumer group of an app file, brought to life: each of its processes, and all of them together.

A process is told the app file, where Kafka is and the group's folder, and makes the rest from these: so a monitor, a
controller or a consumer can also be started by hand, or by something else than ``headgate consumers up``.
"""

from __future__ import annotations

import contextlib
import json
import logging
import os
import signal
import subprocess
import sys
import threading
import time
import uuid
from collections.abc import Callable, Iterator, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Protocol, Self

from headgate.config import AppFile, ConsumersTable
from headgate.consumers.actions import GroupSettings
from headgate.consumers.chronicle import FILE, Chronicle
from headgate.consumers.commit_log import Commit, CommitLog
from headgate.consumers.fleet import Fleet, LocalFleet
from headgate.consumers.lake import Lake, committed_files, transaction
from headgate.consumers.monitor import Monitor
from headgate.consumers.running import RunningController, ensure_group_topics
from headgate.consumers.volume import Volume
from headgate.errors import UserMistake
from headgate.kafka.estimators import make_estimator
from headgate.kafka.offsets import end_offsets
from headgate.kafka.settings import KafkaSettings
from headgate.kafka.speed import SpeedMeter
from headgate.kafka.topics import partitions_of
from headgate.kafka.written import WrittenByOffsets, WrittenBySize, WrittenCount
from headgate.kubernetes.manifests import KubernetesGroup
from headgate.processes import ProcessRecord, describe, matches
from headgate.spark.audit import Audit, audit_files
from headgate.spark.committed import sink_files
from headgate.wiring.functions import operator_function

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    from headgate.consumers.consumer import LakeConsumer

Say = Callable[[str], None]

log = logging.getLogger("headgate")

OWNER_VARIABLE = "HEADGATE_GROUP_OWNER"
"""The process that a group ends with, if there is one."""
_OWNER_EVERY_S = 2.0
_TOKEN = "group.token"
_ENDED_WITHIN_S = 15.0


class Part(Protocol):
    """A process's work."""

    def run(self) -> None: ...

    def stop(self) -> None: ...


@dataclass(frozen=True, slots=True, kw_only=True)
class Group:
    """What every process of a group knows."""

    app: AppFile
    app_file: Path
    kafka: KafkaSettings

    @property
    def table(self) -> ConsumersTable:
        if self.app.consumers is None:
            raise UserMistake(f"{self.app_file} has no [consumers] table, so it is no consumer group; add one")
        return self.app.consumers

    @property
    def folder(self) -> Path:
        return self.app.folder

    @property
    def lake(self) -> Path:
        return Path(self.table.lake.replace("{folder}", str(self.folder)))

    @property
    def name(self) -> str:
        """By which Kafka knows the group."""
        return f"headgate-{self.app.name}"

    @property
    def settings(self) -> GroupSettings:
        table = self.table
        return GroupSettings(
            algorithm=table.algorithm,
            algorithm_capacity=table.algorithm_capacity,
            consumer_capacity=table.consumer_capacity,
            sentinel_s=table.sentinel_s,
            lease_s=table.lease_s,
            ready_within_s=table.ready_within_s,
            rescue=table.rescue,
            most_consumers=table.most_consumers,
        )

    @property
    def chronicle_path(self) -> Path:
        return self.folder / FILE

    def check(self) -> None:
        """Refuse what cannot work before anything is started."""
        _ = self.settings
        make_estimator(self.table.estimator, window_s=self.table.window_s)
        operator_function(self.table, folder=self.folder)

    def command(self, *words: str) -> list[str]:
        """Of one of the group's processes."""
        return [
            *(sys.executable, "-m", "headgate", "consumers", *words),
            *("--app", str(self.app_file), "--kafka", self.kafka.bootstrap, "--folder", str(self.folder), "--quiet"),
        ]

    def fleet(self) -> Fleet:
        """Who starts and ends its consumers."""
        group = self.on_kubernetes()
        if group is None:
            return self.processes()
        from headgate.kubernetes.fleet import KubernetesFleet

        return KubernetesFleet(group)

    def on_kubernetes(self) -> KubernetesGroup | None:
        table = self.table.kubernetes
        if table is None:
            return None
        return KubernetesGroup(
            group=self.app.name,
            bootstrap=self.kafka.bootstrap,
            app_file=self.app_file.name,
            **table.model_dump(),
        )

    def processes(self) -> LocalFleet:
        """Consumers as processes of this machine."""
        token = _token(self.folder)
        return LocalFleet(
            self.folder / "consumers",
            lambda number: self.command("consumer", str(number), "--token", token),
            token=token,
        )

    def audit(self, expected: int, *, complete: bool) -> Audit | None:
        """What is in the lake, compared with what was sent."""
        if self.table.format == "delta":
            files = [file for folder in _tables(self.lake) for file in sink_files(folder)]
        else:
            files = [file for paths in committed_files(self.lake).values() for file in paths]
        return audit_files(files, expected=expected, complete=complete)

    def left(self) -> int:
        """Records that have come and are not committed to the lake."""
        positions = CommitLog(self.lake).positions()
        behind = 0
        for partition, end in end_offsets(self.kafka, self.table.reads).items():
            known = positions.get(f"{partition.topic}-{partition.number}")
            behind += end - (0 if known is None or known.end is None else known.end)
        return behind


def make_monitor(group: Group) -> Monitor:
    table, kafka = group.table, group.kafka
    partitions_of(kafka, table.reads)
    ensure_group_topics(kafka, consumers=table.most_consumers)
    by: type[WrittenByOffsets] | type[WrittenBySize] = (
        WrittenByOffsets if table.measured_by == "offsets" else WrittenBySize
    )
    count: WrittenCount = by(kafka, table.reads)
    records, bytes_ = (make_estimator(table.estimator, window_s=table.window_s) for _ in range(2))
    return Monitor(kafka, SpeedMeter(count, records=records, bytes_=bytes_))


def make_controller(group: Group) -> RunningController:
    return RunningController(
        group.kafka,
        group.settings,
        fleet=group.fleet(),
        topics=group.table.reads,
        group=group.name,
        chronicle=Chronicle(group.chronicle_path),
    )


def consumer_session(name: str, *, master: str, memory_mb: int, delta: bool) -> SparkSession:
    """The smallest one that reads Kafka and writes files."""
    from headgate.wiring.session import open_session

    conf = {
        "spark.driver.memory": f"{memory_mb}m",
        "spark.sql.shuffle.partitions": "1",
        "spark.sql.parquet.output.committer.class": "org.apache.parquet.hadoop.ParquetOutputCommitter",
        "spark.hadoop.mapreduce.fileoutputcommitter.algorithm.version": "2",
        "spark.hadoop.mapreduce.fileoutputcommitter.marksuccessfuljobs": "false",
        # Connections and records of partitions that others read by now.
        "spark.kafka.consumer.cache.timeout": "30s",
        "spark.kafka.consumer.cache.evictorThreadRunInterval": "10s",
        "spark.kafka.consumer.fetchedData.cache.timeout": "30s",
        "spark.kafka.consumer.fetchedData.cache.evictorThreadRunInterval": "10s",
    }
    return open_session(name, master=master, kafka=True, delta=delta, conf=conf)


def make_consumer(group: Group, number: int) -> LakeConsumer:
    """With a Spark session of its own in this process."""
    from headgate.consumers.consumer import ConsumerSettings, LakeConsumer

    table, delta = group.table, group.table.format == "delta"
    session = consumer_session(f"{group.name}-{number}", master=table.master, memory_mb=table.memory_mb, delta=delta)

    def append(name: str, files: list[Path], folder: Path, commit: Commit) -> None:  # noqa: ARG001 - as the lake calls it
        rows = session.read.parquet(*map(str, files))
        options = transaction(group.name, commit)
        rows.write.format("delta").options(**options).mode("append").save(str(folder))

    return LakeConsumer(
        ConsumerSettings(number=number, group=group.name, batch_bytes=table.batch_bytes, wait_s=table.wait_s),
        group.kafka,
        session,
        transform=operator_function(table, folder=group.folder),
        volume=Volume(group.folder / "volumes" / f"consumer-{number}"),
        lake=Lake(group.lake, append=append if delta else None),
        chronicle=Chronicle(group.folder / "consumers" / f"consumer-{number}.jsonl"),
    )


@contextlib.contextmanager
def stopped_by_signals(part: Part) -> Iterator[None]:
    """Ctrl-C and SIGTERM ask for an end after what is under way."""
    before = {number: signal.getsignal(number) for number in (signal.SIGINT, signal.SIGTERM)}
    for number in before:
        signal.signal(number, lambda *_: part.stop())
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


def follow_owner(part: Part) -> None:
    """Stop it when ``headgate consumers up``, of which it is a part, has gone without being able to say so."""
    owner = os.environ.get(OWNER_VARIABLE)
    if owner is None:
        return
    record = ProcessRecord(**json.loads(owner))

    def watch() -> None:
        while matches(record):
            time.sleep(_OWNER_EVERY_S)
        log.warning("whoever started this group is gone; this part of it ends")
        part.stop()

    threading.Thread(target=watch, name="headgate-owner", daemon=True).start()


def owner_environment() -> dict[str, str]:
    """For the parts of a group that this process starts, and for those that they start."""
    return {OWNER_VARIABLE: json.dumps(asdict(describe(os.getpid(), role="owner")))}


class Supervised:
    """A process of the group that is started again when it dies; it ends with the ``with`` block."""

    def __init__(self, name: str, command: Sequence[str], *, log: Path, say: Say) -> None:
        self._name = name
        self._command = list(command)
        self._log = log
        self._say = say
        self._ending = threading.Event()
        self._process: subprocess.Popen[bytes] | None = None
        self.refusal: str | None = None
        self._thread = threading.Thread(target=self._watch, name=f"headgate-{name}", daemon=True)

    @property
    def pid(self) -> int | None:
        return None if self._process is None else self._process.pid

    def __enter__(self) -> Self:
        self._start()
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._ending.set()
        self._thread.join()
        process = self._process
        if process is not None and process.poll() is None:
            process.terminate()
            try:
                process.wait(_ENDED_WITHIN_S)
            except subprocess.TimeoutExpired:
                process.kill()
                process.wait()

    def _start(self) -> None:
        with self._log.open("ab") as output:
            self._process = subprocess.Popen(
                self._command,
                env={**os.environ, **owner_environment()},
                stdin=subprocess.DEVNULL,
                stdout=output,
                stderr=subprocess.STDOUT,
                start_new_session=True,
            )

    def _watch(self) -> None:
        while not self._ending.wait(0.5):
            assert self._process is not None
            code = self._process.poll()
            if code is None:
                continue
            if code == 2:
                lines = self._log.read_text(errors="replace").strip().splitlines()
                self.refusal = lines[-1].removeprefix("headgate: ") if lines else f"the {self._name} was refused"
                return
            self._say(f"the {self._name} ended with code {code} and is started again")
            self._start()


def _token(folder: Path) -> str:
    """A word by which the processes of this group are known, the same for all its controllers."""
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / _TOKEN
    with contextlib.suppress(FileExistsError), path.open("x", encoding="utf-8") as file:
        file.write(f"group-{uuid.uuid4().hex}")
    return path.read_text(encoding="utf-8").strip()


def _tables(lake: Path) -> list[Path]:
    return [folder for folder in sorted(lake.iterdir()) if folder.is_dir() and folder.name[0] not in "._"]
