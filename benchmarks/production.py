"""Paced production into a real broker: how fast one process is, and how close to the drawn schedule.

A second's records are counted by the timestamps that they got when they were sent, and compared with
what the schedule has in that second.
"""

from __future__ import annotations

import statistics
import uuid
from collections.abc import Iterator
from contextlib import contextmanager

import numpy as np
from confluent_kafka import Consumer, TopicPartition

from headgate.kafka.broker import LocalBroker
from headgate.kafka.offsets import end_offsets
from headgate.kafka.production import Production, ProductionPlan
from headgate.kafka.settings import KafkaSettings
from headgate.kafka.topics import Topic, delete_topics, ensure_topics

GOAL_PER_S = 150_000
PARTITIONS = 4
ROUNDS = 3
LENGTH_S = 8.0
TOLERATED = 0.02
PACED = (
    ("constant:rate=100", "even"),
    ("constant:rate=100", "poisson"),
    ("constant:rate=10000", "poisson"),
    (f"sine:period=8s,low=0.2,peak={GOAL_PER_S // 2}", "even"),
    (f"constant:rate={GOAL_PER_S // 2}", "even"),
    (f"constant:rate={GOAL_PER_S // 2}", "poisson"),
)


def run() -> None:
    with LocalBroker() as broker:
        _speed(broker.settings)
        for workload, process in PACED:
            _pacing(broker.settings, workload, process)


def _speed(settings: KafkaSettings) -> None:
    reached = []
    for number in range(ROUNDS):
        with _topic(settings) as topic:
            # Four times what is hoped for, so that the producer is always behind.
            plan = ProductionPlan(
                topic=topic, records="rows:size=100", workload=f"constant:rate={4 * GOAL_PER_S}", duration_s=LENGTH_S
            )
            with Production(settings, plan) as production:
                production.wait()
                reached.append(production.result().achieved_per_s)
        print(f"  round {number + 1}: {reached[-1]:9.0f} records/s of 100 bytes from one process", flush=True)
    middle = statistics.median(reached)
    print(f"  median {middle:.0f} records/s ÷ goal {GOAL_PER_S} = {middle / GOAL_PER_S:.2f}", flush=True)


def _pacing(settings: KafkaSettings, workload: str, process: str) -> None:
    with _topic(settings) as topic:
        plan = ProductionPlan(
            topic=topic, records="rows:size=100", workload=workload, duration_s=LENGTH_S, process=process
        )
        with Production(settings, plan) as production:
            production.wait()
            start_ms = production.start_time_s * 1000.0
            late_s = production.result().most_late_s
        moments_ms = np.array(list(_timestamps_ms(settings, topic)))
    drawn = np.diff(plan.curve())
    seconds = np.clip((moments_ms - start_ms) // 1000.0, 0, len(drawn) - 1).astype(np.int64)
    errors = np.abs(np.bincount(seconds, minlength=len(drawn)) - drawn)
    shares = errors / np.maximum(1.0, TOLERATED * drawn)
    worst = int(np.argmax(shares))
    print(
        f"  {workload + ', ' + process:<42} worst second: {errors[worst]} of {drawn[worst]} records off, "
        f"÷ tolerated {shares[worst]:.2f} (goal ≤ 1); at most {late_s * 1e3:.0f} ms late",
        flush=True,
    )


@contextmanager
def _topic(settings: KafkaSettings) -> Iterator[str]:
    name = f"bench-{uuid.uuid4().hex[:8]}"
    ensure_topics(settings, [Topic(name, PARTITIONS)])
    try:
        yield name
    finally:
        delete_topics(settings, [name])


def _timestamps_ms(settings: KafkaSettings, topic: str) -> Iterator[int]:
    consumer = Consumer({**settings.for_client(), "group.id": topic, "log_level": 0})
    left = sum(end_offsets(settings, [topic]).values())
    try:
        consumer.assign([TopicPartition(topic, number, 0) for number in range(PARTITIONS)])
        while left > 0:
            for message in consumer.consume(10_000, timeout=1.0):
                left -= 1
                yield message.timestamp()[1]
    finally:
        consumer.close()
