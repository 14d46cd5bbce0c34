"""Records written to topics, acknowledged by all replicas."""

from __future__ import annotations

import time
from collections.abc import Callable

from confluent_kafka import Producer

from headgate.errors import Temporary
from headgate.kafka.settings import KafkaSettings


def write(settings: KafkaSettings, topic: str, count: int, *, partition: int = -1, size: int = 10) -> None:
    failures = []
    producer = Producer(
        {
            **settings.for_client(),
            "acks": "all",
            "log_level": 0,
            "on_delivery": lambda error, _: failures.append(error) if error is not None else None,
        }
    )
    for _ in range(count):
        producer.produce(topic, b"x" * size, partition=partition)
    assert producer.flush(60) == 0
    assert failures == []


def patiently_ask(ask: Callable[[], float], *, within_s: float = 30.0) -> float:
    """The first answer that is not ``Temporary``."""
    deadline = time.monotonic() + within_s
    while True:
        try:
            return ask()
        except Temporary:
            assert time.monotonic() < deadline, "nobody answered"
            time.sleep(0.1)


def wait_until(reached: Callable[[], bool], what: str, *, within_s: float = 60.0) -> None:
    deadline = time.monotonic() + within_s
    while not reached():
        assert time.monotonic() < deadline, f"not within {within_s:.0f} s: {what}"
        time.sleep(0.2)
