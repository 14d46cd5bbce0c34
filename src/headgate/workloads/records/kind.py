"""What a kind of record can do."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol


class RecordKind(Protocol):
    """Makes records; a frozen dataclass whose fields are its options, ``seed`` among them.

    Every value carries its sequence number and its event time: JSON objects as the members
    ``sequence`` and ``time_ms``; pictures as 16 bytes in front (both as big-endian 64-bit integers).
    """

    def values(self, first: int, times_ms: Sequence[int]) -> list[bytes]:
        """The records ``first``, ``first + 1``, … with these event times, in milliseconds since 1970."""
        ...
