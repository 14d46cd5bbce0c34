"""Offsets, lag and write speeds of a real broker."""

from __future__ import annotations

import pytest
from confluent_kafka import Consumer, TopicPartition
from written_records import wait_until, write

from headgate.kafka.admin import Admin
from headgate.kafka.offsets import Partition, beginning_offsets, committed_offsets, end_offsets, lag_of
from headgate.kafka.settings import KafkaSettings
from headgate.kafka.speed import SpeedMeter
from headgate.kafka.topics import Topic, delete_topics, ensure_topics
from headgate.kafka.written import WrittenByOffsets, WrittenBySize


def test_lag_is_what_a_group_has_not_committed(kafka: KafkaSettings, topic: str) -> None:
    ensure_topics(kafka, [Topic(topic, 2)])
    write(kafka, topic, 30, partition=0)
    write(kafka, topic, 12, partition=1)
    one, two = Partition(topic, 0), Partition(topic, 1)
    assert end_offsets(kafka, [topic]) == {one: 30, two: 12}
    consumer = Consumer({**kafka.for_client(), "group.id": topic, "enable.auto.commit": False, "log_level": 0})
    try:
        consumer.commit(offsets=[TopicPartition(topic, 0, 25)], asynchronous=False)
    finally:
        consumer.close()
    assert committed_offsets(kafka, topic, [topic]) == {one: 25, two: None}
    assert lag_of(kafka, topic, [topic]) == {one: 5, two: 12}


def test_what_retention_has_taken_is_no_lag(kafka: KafkaSettings, topic: str) -> None:
    ensure_topics(kafka, [Topic(topic, 1)])
    write(kafka, topic, 30)
    admin = Admin(kafka)
    [deleted] = admin.client.delete_records([TopicPartition(topic, 0, 20)]).values()
    admin.result(deleted, doing="deleting records")
    assert beginning_offsets(kafka, [topic]) == {Partition(topic, 0): 20}
    assert end_offsets(kafka, [topic]) == {Partition(topic, 0): 30}
    assert lag_of(kafka, f"{topic}-nobody", [topic]) == {Partition(topic, 0): 10}


def test_speeds_are_those_of_the_writes(kafka: KafkaSettings, topic: str) -> None:
    now_s = 0.0
    one, two = Partition(topic, 0), Partition(topic, 1)
    ensure_topics(kafka, [Topic(topic, 2)])
    meter = SpeedMeter(WrittenByOffsets(kafka, [topic], now_s=lambda: now_s))
    assert meter.measure() == {}
    write(kafka, topic, 400, partition=0, size=25)
    now_s = 10.0
    speeds = meter.measure()
    assert (speeds[one].records_per_s, speeds[one].bytes_per_s) == (40.0, 1000.0)
    assert (speeds[two].records_per_s, speeds[two].bytes_per_s) == (0.0, 0.0)
    delete_topics(kafka, [topic])
    ensure_topics(kafka, [Topic(topic, 2)])
    write(kafka, topic, 100, partition=0, size=25)
    now_s = 20.0
    assert meter.measure()[one].records_per_s == (400 + 100) / 20.0
    now_s = 60.0
    assert meter.measure()[one].records_per_s == 0.0


def test_by_size_retention_looks_like_a_negative_speed_and_by_offsets_it_does_not(
    kafka: KafkaSettings, topic: str, request: pytest.FixtureRequest
) -> None:
    """The flaw of the published way: deleted segments make the partition smaller while records come."""
    now_s, one = 0.0, Partition(topic, 0)
    ensure_topics(kafka, [Topic(topic, 1, settings={"segment.bytes": str(1 << 20), "file.delete.delay.ms": "0"})])
    write(kafka, topic, 3000, size=1000)
    sizes = WrittenBySize(kafka, [topic], now_s=lambda: now_s)
    request.addfinalizer(sizes.close)
    offsets = WrittenByOffsets(kafka, [topic], now_s=lambda: now_s)
    by_size, by_offsets = SpeedMeter(sizes), SpeedMeter(offsets)
    assert by_size.measure() == by_offsets.measure() == {}
    write(kafka, topic, 100, size=1000)
    now_s = 10.0
    assert by_offsets.measure()[one].bytes_per_s == 10_000.0
    assert by_size.measure()[one].bytes_per_s == pytest.approx(10_000.0, rel=0.15)
    admin = Admin(kafka)
    [deleted] = admin.client.delete_records([TopicPartition(topic, 0, 2900)]).values()
    admin.result(deleted, doing="deleting records")
    wait_until(lambda: sizes.look().bytes[one] < 2_000_000, "segments are deleted")
    write(kafka, topic, 100, size=1000)
    now_s = 20.0
    assert by_offsets.measure()[one].bytes_per_s == 10_000.0
    assert (by_size.measure()[one].bytes_per_s or 0.0) < 0
