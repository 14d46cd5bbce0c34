"""A member of one of Kafka's own consumer groups, whose sink takes only so much a second: for ``groups``.

python -m benchmarks.group_member BOOTSTRAP TOPIC GROUP ASSIGNOR BYTES_PER_S LOG
"""

from __future__ import annotations

import signal
import sys
import time
from pathlib import Path
from typing import Any

from confluent_kafka import Consumer, TopicPartition


def main() -> None:
    bootstrap, topic, group, assignor, limit, log = sys.argv[1:]
    running = [True]
    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, lambda *_: running.clear())
    consumer: Any = Consumer(
        {
            "bootstrap.servers": bootstrap,
            "group.id": group,
            "partition.assignment.strategy": assignor,
            "auto.offset.reset": "earliest",
            "enable.auto.commit": True,
            "auto.commit.interval.ms": 500,
            "log_level": 0,
        }
    )
    with Path(log).open("a") as file:

        def given(_: Any, partitions: list[TopicPartition]) -> None:
            for partition in partitions:
                file.write(f"{time.time():.3f} {partition.partition}\n")
            file.flush()

        consumer.subscribe([topic], on_assign=given)
        free_s = time.monotonic()
        while running:
            taken = sum(len(each.value() or b"") for each in consumer.consume(200, timeout=0.1) if each.error() is None)
            # The sink is busy for so long.
            free_s = max(free_s, time.monotonic() - 0.05) + taken / float(limit)
            time.sleep(max(0.0, free_s - time.monotonic()))
        consumer.close()


main()
