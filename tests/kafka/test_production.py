"""Paced production into a real topic: everything, once, also when processes or brokers go away."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
import uuid
from collections import Counter
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest
from confluent_kafka import Consumer, Message, TopicPartition

from headgate.errors import Permanent, UserMistake
from headgate.kafka.broker import LocalBroker
from headgate.kafka.offsets import end_offsets
from headgate.kafka.production import Production, ProductionPlan
from headgate.kafka.settings import KafkaSettings
from headgate.kafka.topics import Topic, delete_topics, ensure_topics
from headgate.link.processes import start_of
from headgate.workloads.records import event_times_ms, parse_keys


@pytest.fixture
def topic(kafka: KafkaSettings) -> Iterator[str]:
    name = f"production-{uuid.uuid4().hex[:8]}"
    ensure_topics(kafka, [Topic(name, 3)])
    yield name
    delete_topics(kafka, [name])


def plan(topic: str, **options: Any) -> ProductionPlan:
    return ProductionPlan(**{"topic": topic, "records": "rows", "workload": "constant:rate=1000", **options})


def everything(settings: KafkaSettings, topic: str, partitions: int = 3) -> list[Message]:
    """All that is in a topic."""
    consumer = Consumer({**settings.for_client(), "group.id": uuid.uuid4().hex, "log_level": 0})
    found: list[Message] = []
    try:
        places = [TopicPartition(topic, number, 0) for number in range(partitions)]
        wanted = sum(end_offsets(settings, [topic]).values())
        consumer.assign(places)
        deadline = time.monotonic() + 60
        while len(found) < wanted and time.monotonic() < deadline:
            found += consumer.consume(10_000, timeout=1.0)
    finally:
        consumer.close()
    assert all(message.error() is None for message in found)
    return found


def eventually(what: Callable[[], object], *, within_s: float = 30.0) -> None:
    deadline = time.monotonic() + within_s
    while not what():
        assert time.monotonic() < deadline, "did not happen in time"
        time.sleep(0.02)


def sequences(messages: list[Message]) -> list[int]:
    return sorted(json.loads(message.value() or b"")["sequence"] for message in messages)


def test_two_processes_bring_every_record_once_with_its_key_and_its_scheduled_time(
    kafka: KafkaSettings, topic: str
) -> None:
    asked = plan(
        topic,
        workload="sine:period=2s,low=0.2",
        peak=4000,
        duration_s=2.0,
        process="poisson",
        seed=6,
        processes=2,
        keys="zipf:keys=50",
        first_sequence=10,
    )
    with Production(kafka, asked) as production:
        assert production.wait(60)
        result = production.result()
    curve = asked.curve()
    total = int(curve[-1])
    assert production.total == total
    assert result.exact
    assert (result.sent, result.acknowledged, result.failed) == (total, total, 0)
    assert production.problem is None
    messages = everything(kafka, topic)
    assert sequences(messages) == list(range(10, 10 + total))
    times_ms = event_times_ms(curve, production.start_time_s, np.arange(total)).tolist()
    keys = parse_keys("zipf:keys=50", seed=6).numbers(np.arange(10, 10 + total))
    assert keys is not None
    places: dict[bytes | str | None, set[int | None]] = {}
    for message in messages:
        record = json.loads(message.value() or b"")
        assert record["time_ms"] == times_ms[record["sequence"] - 10]
        assert message.key() == b"key-%d" % keys[record["sequence"] - 10]
        # Sent when it was due, and not before.
        assert message.timestamp()[1] >= record["time_ms"] - 1
        places.setdefault(message.key(), set()).add(message.partition())
    assert all(len(partitions) == 1 for partitions in places.values())


def test_a_skew_loads_the_first_partition_most(kafka: KafkaSettings, topic: str) -> None:
    with Production(kafka, plan(topic, duration_s=2.0, partition_skew=2.0)) as production:
        assert production.wait(60)
    counts = Counter(message.partition() for message in everything(kafka, topic))
    shares = [counts[number] / 2000 for number in range(3)]
    assert shares == pytest.approx([36 / 49, 9 / 49, 4 / 49], abs=0.04)


def test_stopping_keeps_what_was_sent_and_says_how_much(kafka: KafkaSettings, topic: str) -> None:
    production = Production(kafka, plan(topic, duration_s=600.0))
    production.start()
    eventually(lambda: production.status().acknowledged > 200)
    assert not production.finished
    assert not production.wait(0.01)
    status = production.status()
    assert status.asked >= status.sent >= status.acknowledged > 200
    production.stop()
    assert production.finished
    result = production.result()
    assert not result.exact
    assert result.acknowledged == result.sent
    assert sequences(everything(kafka, topic)) == list(range(result.acknowledged))


def test_a_topic_that_is_not_there_is_said_before_anything_is_sent(kafka: KafkaSettings) -> None:
    production = Production(kafka, plan("there-is-no-such-topic"))
    with pytest.raises(UserMistake, match="there-is-no-such-topic"):
        production.start()


def test_records_that_the_broker_refuses_are_said_aloud(kafka: KafkaSettings) -> None:
    name = f"production-{uuid.uuid4().hex[:8]}"
    ensure_topics(kafka, [Topic(name, 1, settings={"max.message.bytes": "1000"})])
    try:
        with Production(kafka, plan(name, records="rows:size=5000", duration_s=1.0)) as production:
            assert production.wait(60)
            result = production.result()
        assert not result.exact
        assert result.failed == 1000
        assert "1000 records were refused" in str(production.problem)
    finally:
        delete_topics(kafka, [name])


PARENT = """
import json, sys
from headgate.kafka.offsets import end_offsets
from headgate.kafka.production import Production, ProductionPlan
from headgate.kafka.settings import KafkaSettings
from headgate.link.processes import start_of
production = Production(KafkaSettings(sys.argv[1]), ProductionPlan(
    topic=sys.argv[2], records="rows", workload="constant:rate=100", duration_s=600.0, processes=2))
production.start()
print(json.dumps([(pid, start_of(pid)) for pid in production.pids]), flush=True)
production.wait()
"""


def test_the_processes_end_with_their_parent_however_that_ends(kafka: KafkaSettings, topic: str) -> None:
    parent = subprocess.Popen([sys.executable, "-c", PARENT, kafka.bootstrap, topic], stdout=subprocess.PIPE, text=True)
    assert parent.stdout is not None
    try:
        children = json.loads(parent.stdout.readline())
        assert [start_of(pid) for pid, _ in children] == [started for _, started in children]
        assert len(children) == 2
    finally:
        parent.kill()
        parent.wait()
        parent.stdout.close()
    eventually(lambda: not any(start_of(pid) == started for pid, started in children))


def test_a_process_that_was_killed_is_said_aloud(kafka: KafkaSettings, topic: str) -> None:
    production = Production(kafka, plan(topic, duration_s=600.0))
    production.start()
    try:
        eventually(lambda: production.status().sent > 0)
        os.kill(production.pids[0], signal.SIGKILL)
        assert production.wait(30)
        assert isinstance(production.problem, Permanent)
        assert "ended with -9" in str(production.problem)
        assert not production.result().exact
    finally:
        production.stop()


def test_a_broker_that_goes_and_comes_back_costs_time_but_no_record(caplog: pytest.LogCaptureFixture) -> None:
    with LocalBroker() as broker:
        ensure_topics(broker.settings, [Topic("t", 3)])
        with Production(broker.settings, plan("t", duration_s=4.0)) as production:
            eventually(lambda: production.status().acknowledged > 500)
            broker.kill(broker.alive[0])
            eventually(lambda: production.status().trouble is not None)
            broker.start(1)
            assert production.wait(120)
            result = production.result()
        assert result.exact
        assert result.most_late_s > 0.5
        assert sequences(everything(broker.settings, "t")) == list(range(4000))
    said = [record.getMessage() for record in caplog.records if record.name.startswith("headgate.kafka.production")]
    assert any("away; the producer goes on trying" in line for line in said)
    assert any("Kafka is back" in line for line in said)


def command(kafka: KafkaSettings, topic: str, *options: str) -> subprocess.Popen[str]:
    args = ["produce", "--bootstrap", kafka.bootstrap, "--topic", topic, "--records", "words", "--json", *options]
    # A terminal's default, whatever the tests were started from.
    return subprocess.Popen(
        [sys.executable, "-m", "headgate", *args],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.default_int_handler),
    )


def test_the_command_makes_the_topic_and_answers_with_the_rates(kafka: KafkaSettings) -> None:
    name = f"production-{uuid.uuid4().hex[:8]}"
    try:
        run = command(kafka, name, "--workload", "constant:rate=500", "--duration", "2s", "--partitions", "2")
        out, err = run.communicate(timeout=60)
        assert run.returncode == 0, err
        answer = json.loads(out)
        assert (answer["total"], answer["acknowledged"], answer["exact"]) == (1000, 1000, True)
        assert answer["asked_per_s"] == 500
        assert f"topic '{name}' made with 2 partitions" in err
        assert sequences(everything(kafka, name, partitions=2)) == list(range(1000))
    finally:
        delete_topics(kafka, [name])


def test_an_interrupted_command_says_what_it_has_sent(kafka: KafkaSettings, topic: str) -> None:
    run = command(kafka, topic, "--workload", "constant:rate=500", "--duration", "10m")
    try:
        eventually(lambda: sum(end_offsets(kafka, [topic]).values()) > 100)
        run.send_signal(signal.SIGINT)
        out, err = run.communicate(timeout=60)
    finally:
        run.kill()
        run.wait()
    assert run.returncode == 130, err
    answer = json.loads(out)
    assert not answer["exact"]
    assert f"interrupted: {answer['acknowledged']} of 300000 records are in topic '{topic}'" in " ".join(err.split())
    assert sequences(everything(kafka, topic)) == list(range(answer["acknowledged"]))
