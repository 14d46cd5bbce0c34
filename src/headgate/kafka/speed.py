"""How fast each partition is written to, in records and in bytes a second."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from headgate.kafka.estimators import SpeedEstimator, WindowSpeeds
from headgate.kafka.offsets import Partition
from headgate.kafka.written import WrittenCount


@dataclass(frozen=True, slots=True, kw_only=True)
class WriteSpeed:
    records_per_s: float
    bytes_per_s: float | None
    """Unknown as long as no record of the partition has been seen."""


class SpeedMeter:
    """Looks at topics whenever it is asked, and tells the speeds up to now."""

    def __init__(
        self,
        count: WrittenCount,
        *,
        records: SpeedEstimator[Partition] | None = None,
        bytes_: SpeedEstimator[Partition] | None = None,
    ) -> None:
        """Without estimators, over a window of 30 s."""
        self._count = count
        self._records = records or WindowSpeeds()
        self._bytes = bytes_ or WindowSpeeds()

    def measure(self) -> dict[Partition, WriteSpeed]:
        """Speeds of the partitions that were looked at before; none at the first time."""
        written = self._count.look()
        self._records.look(written.time_s, written.records)
        self._bytes.look(written.time_s, written.bytes)
        sizes = self._bytes.speeds()
        return {
            partition: WriteSpeed(records_per_s=rate, bytes_per_s=sizes.get(partition, None if rate else 0.0))
            for partition, rate in self._records.speeds().items()
        }


def total(speeds: Mapping[Partition, WriteSpeed]) -> WriteSpeed:
    """Of all partitions together."""
    known = [speed.bytes_per_s for speed in speeds.values()]
    return WriteSpeed(
        records_per_s=sum(speed.records_per_s for speed in speeds.values()),
        bytes_per_s=None if None in known else sum(each for each in known if each is not None),
    )
