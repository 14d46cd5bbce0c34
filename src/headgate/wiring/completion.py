"""Whether everything that came has gone through all operators, judged by their checkpoints.

A checkpoint says which batches were planned up to where, and which of them are done. So it is known, also
after a restart, how far an operator is, and whether it is in the middle of a batch. Operators are looked
at upstream first: when one has taken all there is and written what follows from it, the topic it
writes has its end, and the next can be compared with that.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from headgate.errors import Temporary

Offsets = Mapping[str, Mapping[int, int]]
"""Records before a place, by topic and partition."""

_HEADER_LINES = 2
"""A version and the query's settings stand before the offsets of the sources."""

_NOTHING_YET = "-"
"""Stands for a source that has not given anything."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Step:
    """One operator as far as its progress matters."""

    name: str
    reads: tuple[str, ...]
    checkpoint: Path
    trigger_s: float


@dataclass(frozen=True, slots=True)
class Position:
    """Where an operator is: the last batch that is done, whether another is under way, and how far that got."""

    batch: int
    busy: bool
    offsets: Offsets


class Completion:
    """Watches the operators until nothing is left to do, or nothing has moved for too long."""

    def __init__(
        self,
        steps: Sequence[Step],
        *,
        starts: Offsets,
        ends: Callable[[Sequence[str]], Offsets],
        now_s: Callable[[], float],
        patience_s: float = 180.0,
    ) -> None:
        self._steps = tuple(steps)
        self._starts = starts
        self._ends = ends
        self._now_s = now_s
        self._patience_s = patience_s
        # The batch that follows the last records, to close windows, begins within a trigger's interval.
        self._settle_s = 1.0 + 2 * max(step.trigger_s for step in steps)
        self._seen: object = None
        self._unchanged_since_s = now_s()
        self.left: str | None = None
        """Why waiting any longer makes no sense."""

    def taken(self) -> dict[str, int]:
        """Records that each operator has worked off."""
        return {step.name: _records(position_of(step), self._starts, step.reads) for step in self._steps}

    def behind(self) -> str | None:
        """What is left to do, in words; ``None`` when nothing is."""
        return self._behind([position_of(step) for step in self._steps])

    def reached(self) -> bool:
        """Whether all is done; also true when it is given up, for which ``left`` has the reason."""
        positions = [position_of(step) for step in self._steps]
        if positions != self._seen:
            self._seen, self._unchanged_since_s = positions, self._now_s()
        unchanged_s = self._now_s() - self._unchanged_since_s
        try:
            behind = self._behind(positions)
        except Temporary as error:
            behind = str(error)
        if behind is None:
            return unchanged_s >= self._settle_s
        if unchanged_s >= self._patience_s:
            self.left = f"nothing has moved for {unchanged_s:.0f} s although {behind}"
            return True
        return False

    def _behind(self, positions: Sequence[Position]) -> str | None:
        for step, position in zip(self._steps, positions, strict=True):
            ends = self._ends(step.reads)
            waiting = sum(
                max(0, end - _place(position, self._starts, topic, partition))
                for topic in step.reads
                for partition, end in ends[topic].items()
            )
            if waiting:
                return f"{waiting} records wait for operator '{step.name}'"
            if position.busy:
                return f"operator '{step.name}' is in the middle of a batch"
        return None


def position_of(step: Step) -> Position:
    """How far an operator's checkpoint says it is; batch −1 before its first is done."""
    done = _newest(step.checkpoint / "commits")
    planned = _newest(step.checkpoint / "offsets")
    offsets: dict[str, Mapping[int, int]] = {}
    if done >= 0:
        lines = (step.checkpoint / "offsets" / str(done)).read_text(encoding="utf-8").splitlines()
        for line in lines[_HEADER_LINES:]:
            if line != _NOTHING_YET:
                offsets |= _read(json.loads(line))
    return Position(done, planned > done, offsets)


def _read(offset: Any) -> dict[str, Mapping[int, int]]:
    """A topic's offset, or that of the embedded stream.

    >>> _read({"lines": {"0": 40, "1": 2}}), _read({"records": 7})
    ({'lines': {0: 40, 1: 2}}, {'stream': {0: 7}})
    """
    if isinstance(offset.get("records"), int):
        return {"stream": {0: offset["records"]}}
    return {
        topic: {int(partition): count for partition, count in partitions.items()}
        for topic, partitions in offset.items()
    }


def _newest(folder: Path) -> int:
    if not folder.is_dir():
        return -1
    return max((int(file.name) for file in folder.iterdir() if file.name.isdigit()), default=-1)


def _place(position: Position, starts: Offsets, topic: str, partition: int) -> int:
    start = starts.get(topic, {}).get(partition, 0)
    return position.offsets.get(topic, {}).get(partition, start)


def _records(position: Position, starts: Offsets, reads: Sequence[str]) -> int:
    return sum(
        offset - starts.get(topic, {}).get(partition, 0)
        for topic in reads
        for partition, offset in position.offsets.get(topic, {}).items()
    )
