"""Three brokers, of which one may be lost."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from written_records import patiently_ask, write

from headgate.errors import UserMistake
from headgate.kafka.admin import Admin
from headgate.kafka.broker import LocalBroker
from headgate.kafka.probe import KafkaProbe
from headgate.kafka.topics import Topic, delete_topics, ensure_topics


@pytest.fixture(scope="module")
def three() -> Iterator[LocalBroker]:
    with LocalBroker(brokers=3) as brokers:
        yield brokers


def test_a_stream_goes_on_when_one_of_three_is_killed(three: LocalBroker, topic: str) -> None:
    ensure_topics(three.settings, [Topic(topic, 3)])
    admin = Admin(three.settings)
    partitions = admin.metadata(topic).topics[topic].partitions.values()
    assert all(len(partition.isrs) == 3 for partition in partitions)
    write(three.settings, topic, 30)
    probe = KafkaProbe(three.settings, [topic])
    assert probe.probe() == 30.0
    killed = next(iter(partitions)).leader
    three.kill(killed)
    assert three.alive == tuple({1, 2, 3} - {killed})
    # Acknowledged by the two that are left, also in the partition that the killed one led.
    write(three.settings, topic, 60)
    assert patiently_ask(probe.probe) == 90.0
    ensure_topics(three.settings, [Topic(f"{topic}-b", 3, replicas=2)])
    three.start(killed)
    assert three.alive == (1, 2, 3)
    assert patiently_ask(probe.probe) == 90.0
    delete_topics(three.settings, [topic, f"{topic}-b"])


def test_a_broker_that_runs_is_not_started_twice(three: LocalBroker) -> None:
    running = three.processes
    three.start(1)
    assert three.processes == running
    with pytest.raises(UserMistake, match="no broker 4"):
        three.kill(4)
