"""The monitor: tells once a second how fast each partition is written to.

Source: the consumer-group autoscaler, section 4.2. It is a process of its own, and everything that it finds goes to
the topic ``monitor.writeSpeed``.
"""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Callable

from headgate.consumers.messages import SPEEDS, SPEEDS_TOPIC, PartitionSpeed, WriteSpeeds
from headgate.consumers.post import Outbox
from headgate.errors import Temporary
from headgate.kafka.faults import BackOff, Presence
from headgate.kafka.offsets import Partition
from headgate.kafka.settings import KafkaSettings
from headgate.kafka.speed import SpeedMeter, WriteSpeed

log = logging.getLogger("headgate")

Tell = Callable[[WriteSpeeds], None]


class Monitor:
    """Measures and publishes until it is told to stop; brokers that are gone are waited for."""

    def __init__(
        self, settings: KafkaSettings, meter: SpeedMeter, *, every_s: float = 1.0, tell: Tell = lambda _: None
    ) -> None:
        self._meter = meter
        self._every_s = every_s
        self._tell = tell
        self._outbox = Outbox(settings, SPEEDS_TOPIC, SPEEDS)
        self._presence = Presence(settings.bootstrap)
        self._stop = threading.Event()

    def run(self) -> None:
        pause = BackOff(first_s=self._every_s, longest_s=5.0)
        next_s = time.monotonic()
        while not self._stop.is_set():
            try:
                self._look()
                self._presence.answered()
                pause.reset()
                next_s = max(next_s + self._every_s, time.monotonic())
            except Temporary as gone:
                self._presence.lost(gone)
                next_s = time.monotonic() + pause.next_s()
            self._stop.wait(max(0.0, next_s - time.monotonic()))
        self._outbox.close()

    def stop(self) -> None:
        self._stop.set()

    def _look(self) -> None:
        measured = self._meter.measure()
        if measured:
            speeds = speeds_message(measured, time_ms=int(time.time() * 1000))
            self._outbox.send(speeds, partition=0)
            self._tell(speeds)


def speeds_message(measured: dict[Partition, WriteSpeed], *, time_ms: int) -> WriteSpeeds:
    """Of the partitions whose speed in bytes is known; the others come as soon as a record of theirs was seen.

    >>> unknown = WriteSpeed(records_per_s=5.0, bytes_per_s=None)
    >>> speeds_message({Partition("rows", 0): unknown}, time_ms=1)
    WriteSpeeds(time_ms=1, speeds=())
    """
    return WriteSpeeds(
        time_ms=time_ms,
        speeds=tuple(
            PartitionSpeed(
                topic=partition.topic,
                number=partition.number,
                bytes_per_s=speed.bytes_per_s,
                records_per_s=speed.records_per_s,
            )
            for partition, speed in sorted(measured.items())
            if speed.bytes_per_s is not None
        ),
    )
