"""How many records may have been sent by now, and which of them a process sends.

While a sender is on time it sends what the schedule says. One that was held up (a slow broker, a busy
machine) does not send everything at once when it comes back: its schedule then passes half as fast again as
the clock until it has caught up, so that the stream's rate is never more than 1.5 times what was asked.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import ClassVar

from headgate.workloads import count_at
from headgate.workloads.arrivals import Counts

STEP_S = 0.005
"""Between two looks at the clock."""
HURRY = 1.5
_LONGEST_STEP_S = 0.1
"""A longer pause is a delay that is made up for bit by bit."""


class Pacer:
    """The schedule of one workload against a clock that somebody else reads."""

    def __init__(self, curve: Counts, start_time_s: float) -> None:
        self._curve = curve
        self._start_time_s = start_time_s
        self._length_s = float(len(curve) - 1)
        self._reached_s = 0.0
        self._looked_s: float | None = None

    def due(self, now_s: float) -> int:
        """Records that may have been sent by now; to be asked at every step."""
        passed_s = 0.0 if self._looked_s is None else min(max(0.0, now_s - self._looked_s), _LONGEST_STEP_S)
        self._looked_s = now_s
        self._reached_s = max(self._reached_s, min(self._scheduled_s(now_s), self._reached_s + HURRY * passed_s))
        return count_at(self._curve, self._reached_s)

    def asked(self, now_s: float) -> int:
        """Records that the schedule has by now, sent or not."""
        return count_at(self._curve, self._scheduled_s(now_s))

    def late_s(self, now_s: float) -> float:
        """How far the sending is behind the clock; nothing once the end is reached."""
        return 0.0 if self._reached_s >= self._length_s else max(0.0, now_s - self._start_time_s - self._reached_s)

    def _scheduled_s(self, now_s: float) -> float:
        return min(now_s - self._start_time_s, self._length_s)


@dataclass(frozen=True, slots=True)
class Share:
    """The records of one of several processes: blocks of neighbours in turn, so that together they are all.

    >>> list(Share(1, 2).ranges(0, 1000)), Share(1, 2).count(1000)
    ([(256, 512), (768, 1000)], 488)
    """

    index: int
    of: int

    BLOCK: ClassVar[int] = 256

    def ranges(self, first: int, end: int) -> Iterator[tuple[int, int]]:
        """This process' part of the records from ``first`` to before ``end``."""
        if self.of == 1:
            if first < end:
                yield first, end
            return
        for block in range(first // self.BLOCK, (end - 1) // self.BLOCK + 1):
            if block % self.of == self.index:
                yield max(first, block * self.BLOCK), min(end, (block + 1) * self.BLOCK)

    def count(self, end: int) -> int:
        """How many of the records before ``end`` are this process'."""
        rounds, rest = divmod(end, self.BLOCK * self.of)
        return rounds * self.BLOCK + min(max(0, rest - self.index * self.BLOCK), self.BLOCK)
