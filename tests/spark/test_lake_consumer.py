"""A consumer on real Kafka and Spark that dies at the worst moments: in the lake is each record once all the same."""

from __future__ import annotations

import json
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from confluent_kafka import Producer, TopicPartition
from deltalake import DeltaTable
from pyspark.sql import SparkSession

from headgate.consumers.chronicle import Chronicle
from headgate.consumers.commit_log import Commit, CommitLog
from headgate.consumers.consumer import ConsumerSettings, LakeConsumer
from headgate.consumers.lake import Lake, overlaps, read_table, transaction
from headgate.consumers.messages import Held, StateEvent
from headgate.consumers.running import ensure_group_topics
from headgate.consumers.volume import Volume
from headgate.kafka.admin import Admin
from headgate.kafka.settings import KafkaSettings
from headgate.kafka.topics import Topic, ensure_topics
from headgate.pipelines.lake import lake

pytestmark = pytest.mark.spark


class Died(Exception):
    """Stands for a process that was killed at that moment."""


@pytest.fixture
def topic(kafka: KafkaSettings, request: pytest.FixtureRequest) -> str:
    name = f"rows-{abs(hash(request.node.name)) % 10**8}"
    ensure_topics(kafka, [Topic(name, 3)])
    ensure_group_topics(kafka, consumers=4)
    return name


@pytest.fixture
def consumers(
    spark: SparkSession, kafka: KafkaSettings, topic: str, tmp_path: Path
) -> Iterator[Callable[..., LakeConsumer]]:
    made: list[LakeConsumer] = []

    def make(number: int = 1, *, delta: bool = False) -> LakeConsumer:
        def append(_: str, files: list[Path], folder: Path, commit: Commit) -> None:
            rows = spark.read.parquet(*map(str, files))
            rows.write.format("delta").options(**transaction("g", commit)).mode("append").save(str(folder))

        consumer = LakeConsumer(
            ConsumerSettings(number=number, group=f"group-{topic}", wait_s=0.2),
            kafka,
            spark,
            transform=lake,
            volume=Volume(tmp_path / f"volume-{number}"),
            lake=Lake(tmp_path / "lake", append=append if delta else None),
            chronicle=Chronicle(tmp_path / "cycles.jsonl"),
        )
        made.append(consumer)
        return consumer

    yield make
    for consumer in made:
        consumer.close()


def write(kafka: KafkaSettings, topic: str, first: int, end: int) -> None:
    producer = Producer({**kafka.for_client(), "log_level": 0})
    for sequence in range(first, end):
        value = {"sequence": sequence, "time_ms": 0, "table": f"t{sequence % 2}", "payload": "x" * 50}
        producer.produce(topic, json.dumps(value).encode(), partition=sequence % 3)
    assert producer.flush(30) == 0


def hold(consumer: LakeConsumer, topic: str, *, epoch: int, partitions: tuple[int, ...] = (0, 1, 2)) -> None:
    held = {f"{topic}-{number}": Held(topic=topic, number=number, epoch=epoch) for number in partitions}
    consumer._holdings.take(held.values())


def sequences(folder: Path) -> list[int]:
    tables = [table for table in ("t0", "t1") if (folder / table).is_dir() or (folder / "_written").is_dir()]
    return sorted(int(each) for table in tables for each in read_table(folder, table)["sequence"].to_pylist())


def check_log(folder: Path) -> None:
    assert overlaps(CommitLog(folder).commits()) == []


def test_it_reads_its_partitions_and_no_others_and_goes_on_where_it_was(
    kafka: KafkaSettings, topic: str, consumers: Callable[..., LakeConsumer], tmp_path: Path
) -> None:
    write(kafka, topic, 0, 30)
    consumer = consumers()
    hold(consumer, topic, epoch=1, partitions=(0, 2))
    consumer.cycle()
    assert sequences(tmp_path / "lake") == [each for each in range(30) if each % 3 != 1]
    write(kafka, topic, 30, 60)
    again = consumers()
    again.resume()
    again.cycle()
    assert sequences(tmp_path / "lake") == [each for each in range(60) if each % 3 != 1]
    check_log(tmp_path / "lake")


def test_it_gives_signs_of_life_in_the_middle_of_a_cycle_but_not_of_what_is_changing(
    topic: str, consumers: Callable[..., LakeConsumer], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("headgate.consumers.consumer._SIGN_EVERY_S", 0.1)
    consumer, told = consumers(), list[StateEvent]()
    hold(consumer, topic, epoch=1)
    monkeypatch.setattr(consumer._outbox, "send", lambda message, **_: told.append(message))
    consumer._cycle_began_s = time.monotonic() - 1.0
    signs = threading.Thread(target=consumer._give_signs)
    signs.start()
    try:
        deadline_s = time.monotonic() + 20
        while len(told) < 3:
            assert time.monotonic() < deadline_s, "no sign of life"
            time.sleep(0.05)
        with consumer._holdings.changing:
            before = len(told)
            time.sleep(0.5)
            assert len(told) == before
    finally:
        consumer.stop()
        signs.join(10)
    assert not signs.is_alive()
    assert {len(state.partitions) for state in told} == {3}
    assert {state.request for state in told} == {None}


@pytest.mark.parametrize("delta", [False, True], ids=["parquet", "delta"])
@pytest.mark.parametrize("moment", ["before the commit", "after the commit", "in the middle of publishing"])
def test_one_that_dies_leaves_nothing_twice_and_nothing_out(
    kafka: KafkaSettings,
    topic: str,
    consumers: Callable[..., LakeConsumer],
    tmp_path: Path,
    moment: str,
    delta: bool,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    write(kafka, topic, 0, 30)
    consumer = consumers(delta=delta)
    hold(consumer, topic, epoch=1)

    def die(*_: Any, **__: Any) -> None:
        raise Died

    if moment == "before the commit":
        monkeypatch.setattr(consumer._log, "commit", die)
    elif moment == "after the commit":
        monkeypatch.setattr(consumer._lake, "publish", die)
    else:
        put = consumer._lake._appended if delta else consumer._lake._moved
        seen: list[str] = []

        def put_one(table: str, paths: list[Path], commit: Commit) -> None:
            seen.append(table)
            if len(seen) > 1:
                raise Died
            put(table, paths, commit)

        monkeypatch.setattr(consumer._lake, "_appended" if delta else "_moved", put_one)
    with pytest.raises(Died):
        consumer.cycle()
    again = consumers(delta=delta)
    again.resume()
    again.cycle()
    write(kafka, topic, 30, 36)
    again.cycle()
    check_log(tmp_path / "lake")
    if delta:
        rows = [DeltaTable(str(tmp_path / "lake" / table)).to_pyarrow_table() for table in ("t0", "t1")]
        assert sorted(each for table in rows for each in table["sequence"].to_pylist()) == list(range(36))
    else:
        assert sequences(tmp_path / "lake") == list(range(36))
    assert list((tmp_path / "lake" / "_written").iterdir()) == []


def test_one_that_was_replaced_while_it_wrote_is_not_heard_any_more(
    kafka: KafkaSettings, topic: str, consumers: Callable[..., LakeConsumer], tmp_path: Path, caplog: Any
) -> None:
    write(kafka, topic, 0, 30)
    old, new = consumers(1), consumers(2)
    hold(old, topic, epoch=1)
    written = old._ingest.bring

    def paused(*given: Any) -> Any:
        """It wakes up after another one has been given one of its partitions and has read it."""
        found = written(*given)
        hold(new, topic, epoch=2, partitions=(1,))
        new.cycle()
        return found

    old._ingest.bring = paused  # type: ignore[method-assign]
    old.cycle()
    assert set(old.held) == {f"{topic}-0", f"{topic}-2"}
    old._ingest.bring = written  # type: ignore[method-assign]
    old.cycle()
    assert sequences(tmp_path / "lake") == list(range(30))
    check_log(tmp_path / "lake")


def test_what_retention_has_deleted_is_said_and_left_out(
    kafka: KafkaSettings, topic: str, consumers: Callable[..., LakeConsumer], tmp_path: Path
) -> None:
    write(kafka, topic, 0, 30)
    consumer = consumers()
    hold(consumer, topic, epoch=1)
    consumer.cycle()
    write(kafka, topic, 30, 60)
    admin = Admin(kafka)
    [deleted] = admin.client.delete_records([TopicPartition(topic, 0, 15)]).values()
    admin.result(deleted, doing="deleting records")
    consumer.cycle()
    found = sequences(tmp_path / "lake")
    # The first partition has every third; its records 10 to 14 are gone.
    assert found == [each for each in range(60) if not (each % 3 == 0 and 30 <= each < 45)]
    lost = [each.lost for commit in CommitLog(tmp_path / "lake").commits() for each in commit.ranges.values()]
    assert sum(lost) == 5
    check_log(tmp_path / "lake")
