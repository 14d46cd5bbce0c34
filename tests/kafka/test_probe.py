"""Arrivals asked from a real broker, also while it is gone."""

from __future__ import annotations

import logging
import threading
from functools import partial

import pytest
from written_records import patiently_ask, wait_until, write

from headgate.errors import Temporary, UserMistake
from headgate.kafka.admin import END, Admin, Partition
from headgate.kafka.broker import LocalBroker
from headgate.kafka.offsets import lag_of
from headgate.kafka.probe import KafkaProbe
from headgate.kafka.settings import KafkaSettings
from headgate.kafka.topics import Topic, ensure_topics


def test_a_probe_counts_the_records_of_all_topics(kafka: KafkaSettings, topic: str) -> None:
    topics = [topic, f"{topic}-b"]
    ensure_topics(kafka, [Topic(name, 3) for name in topics])
    probe = KafkaProbe(kafka, topics)
    assert probe.probe() == 0.0
    write(kafka, topics[0], 100)
    write(kafka, topics[1], 11)
    assert probe.probe() == 111.0


def test_partitions_that_were_added_are_counted_after_a_while(kafka: KafkaSettings, topic: str) -> None:
    now_s = 0.0
    ensure_topics(kafka, [Topic(topic, 1)])
    probe = KafkaProbe(kafka, [topic], now_s=lambda: now_s)
    assert probe.probe() == 0.0
    ensure_topics(kafka, [Topic(topic, 2)], grow=True)
    write(kafka, topic, 7, partition=1)
    now_s = 11.0
    assert probe.probe() == 7.0


def test_a_topic_that_is_missing_is_said_and_found_later(kafka: KafkaSettings, topic: str) -> None:
    now_s = 0.0
    probe = KafkaProbe(kafka, [topic], now_s=lambda: now_s)
    with pytest.raises(UserMistake, match=topic):
        probe.probe()
    ensure_topics(kafka, [Topic(topic, 1)])
    now_s = 1.0
    assert probe.probe() == 0.0


def test_a_probe_outlives_a_restart_of_the_broker(
    own_broker: LocalBroker, topic: str, caplog: pytest.LogCaptureFixture
) -> None:
    settings = own_broker.settings
    ensure_topics(settings, [Topic(topic, 2)])
    write(settings, topic, 20)
    probe = KafkaProbe(settings, [topic])
    assert probe.probe() == 20.0
    with caplog.at_level(logging.WARNING):
        own_broker.kill(1)
        assert own_broker.alive == ()
        for _ in range(3):
            with pytest.raises(Temporary, match=settings.bootstrap):
                probe.probe()
        own_broker.start(1)
        assert patiently_ask(probe.probe) == 20.0
        write(settings, topic, 5)
        assert patiently_ask(probe.probe) == 25.0
    gone, back = [record.message for record in caplog.records if "Kafka at" in record.message]
    assert "does not answer" in gone
    assert "answers again" in back


def test_an_open_connection_learns_of_new_leaders_after_a_restart(own_broker: LocalBroker, topic: str) -> None:
    settings = own_broker.settings
    ensure_topics(settings, [Topic(topic, 2)])
    write(settings, topic, 20)
    admin, partitions = Admin(settings, within_s=5.0), [Partition(topic, 0), Partition(topic, 1)]
    assert patiently_ask(lambda: sum(admin.offsets(partitions, END).values())) == 20
    assert patiently_ask(lambda: sum(lag_of(settings, "nobody", [topic], admin=admin).values())) == 20
    own_broker.stop(1)
    own_broker.start(1)
    assert patiently_ask(lambda: sum(admin.offsets(partitions, END).values())) == 20
    assert patiently_ask(lambda: sum(lag_of(settings, "nobody", [topic], admin=admin).values())) == 20


def test_a_group_is_asked_for_all_through_restarts(own_broker: LocalBroker, topic: str) -> None:
    """A broker that has just started refuses to tell; no refusal may end the process that asks."""
    settings = own_broker.settings
    ensure_topics(settings, [Topic(topic, 2)])
    write(settings, topic, 20)
    admin = Admin(settings, within_s=5.0)
    answers: list[int | None] = []
    over = threading.Event()

    def ask() -> None:
        while not over.is_set():
            try:
                answers.append(sum(lag_of(settings, "nobody", [topic], admin=admin).values()))
            except Temporary:
                answers.append(None)

    def heard_since(count: int) -> bool:
        return 20 in answers[count:]

    asking = [threading.Thread(target=ask) for _ in range(2)]
    for thread in asking:
        thread.start()
    try:
        for _ in range(2):
            own_broker.stop(1)
            own_broker.start(1)
            before = len(answers)
            assert patiently_ask(lambda: sum(lag_of(settings, "nobody", [topic], admin=admin).values())) == 20
            wait_until(partial(heard_since, before), "the other threads hear it as well")
    finally:
        over.set()
        for thread in asking:
            thread.join(timeout=30)
    assert set(answers) <= {20, None}


def test_a_broker_that_is_not_there_is_asked_in_growing_intervals() -> None:
    now_s = 0.0
    probe = KafkaProbe(KafkaSettings("127.0.0.1:1"), ["orders"], now_s=lambda: now_s)
    with pytest.raises(Temporary, match="while asking"):
        probe.probe()
    for _ in range(3):
        with pytest.raises(Temporary, match="a moment ago"):
            probe.probe()
    now_s = 0.6
    with pytest.raises(Temporary, match="while asking"):
        probe.probe()
    now_s = 1.2
    with pytest.raises(Temporary, match="a moment ago"):
        probe.probe()


def test_a_probe_needs_a_topic(kafka: KafkaSettings) -> None:
    with pytest.raises(UserMistake, match="at least one topic"):
        KafkaProbe(kafka, [])
