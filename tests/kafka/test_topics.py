"""Topics of a real broker: made once, grown only when asked, deleted for everyone."""

from __future__ import annotations

import threading

import pytest

from headgate.errors import UserMistake
from headgate.kafka.settings import KafkaSettings
from headgate.kafka.topics import Topic, delete_topics, ensure_topics, partitions_of


def test_a_topic_is_made_once(kafka: KafkaSettings, topic: str) -> None:
    assert ensure_topics(kafka, [Topic(topic, 3), Topic(f"{topic}-b", 1)]) == (topic, f"{topic}-b")
    assert ensure_topics(kafka, [Topic(topic, 3)]) == ()
    assert partitions_of(kafka, [topic, f"{topic}-b"]) == {topic: (0, 1, 2), f"{topic}-b": (0,)}


def test_a_topic_grows_only_when_asked(kafka: KafkaSettings, topic: str) -> None:
    ensure_topics(kafka, [Topic(topic, 2)])
    with pytest.raises(UserMistake, match="has 2 partitions and not 4"):
        ensure_topics(kafka, [Topic(topic, 4)])
    ensure_topics(kafka, [Topic(topic, 4)], grow=True)
    assert partitions_of(kafka, [topic]) == {topic: (0, 1, 2, 3)}
    ensure_topics(kafka, [Topic(topic, 2)])
    assert partitions_of(kafka, [topic]) == {topic: (0, 1, 2, 3)}


def test_two_who_make_the_same_topic_both_find_it(kafka: KafkaSettings, topic: str) -> None:
    made: list[tuple[str, ...]] = []
    threads = [threading.Thread(target=lambda: made.append(ensure_topics(kafka, [Topic(topic, 4)]))) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sorted(made) == [(), (), (), (topic,)]


def test_a_deleted_topic_is_gone_and_can_be_made_anew(kafka: KafkaSettings, topic: str) -> None:
    ensure_topics(kafka, [Topic(topic, 2)])
    delete_topics(kafka, [topic])
    delete_topics(kafka, [topic])
    with pytest.raises(UserMistake, match=f"no topic '{topic}'"):
        partitions_of(kafka, [topic])
    assert ensure_topics(kafka, [Topic(topic, 1)]) == (topic,)


def test_settings_that_the_broker_refuses_are_said(kafka: KafkaSettings, topic: str) -> None:
    with pytest.raises(Exception, match=f"creating topic '{topic}'"):
        ensure_topics(kafka, [Topic(topic, 1, settings={"retention.ms": "soon"})])


@pytest.mark.parametrize(("name", "partitions"), [("", 1), ("a b", 1), ("ä", 1), ("..", 1), ("x" * 250, 1), ("x", 0)])
def test_impossible_topics_are_refused_before_anyone_is_asked(name: str, partitions: int) -> None:
    with pytest.raises(UserMistake):
        Topic(name, partitions)
