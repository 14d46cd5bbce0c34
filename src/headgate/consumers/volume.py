"""What a consumer must not forget: which partitions it reads, what it has been told, and what it is about to write.

One small file in the consumer's own folder (its volume), replaced as a whole: after a crash it is as it was before a
change, or as it was after it.
"""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path

from headgate.consumers.messages import Held

FILE = "consumer.json"


@dataclass(frozen=True, slots=True, kw_only=True)
class Plan:
    """What is being written: kept before it is, so that a crash in between is noticed."""

    name: str
    ranges: Mapping[str, tuple[int, int]]
    commits_read: int
    """The newest commit of the log at that time: this one can only come after it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Remembered:
    held: Mapping[str, Held] = field(default_factory=dict)
    """By partition."""
    next_offset: int | None = None
    """In its inbox."""
    term: int = -1
    """Of the newest controller that it has listened to."""
    plan: Plan | None = None


class Volume:
    def __init__(self, folder: Path) -> None:
        folder.mkdir(parents=True, exist_ok=True)
        self._path = folder / FILE
        self.remembered = self._read()

    def remember(self, **changes: object) -> None:
        """Kept for good when this returns."""
        changed = replace(self.remembered, **changes)  # type: ignore[arg-type]
        draft = self._path.with_suffix(".draft")
        with draft.open("w", encoding="utf-8") as file:
            json.dump(asdict(changed), file)
            file.flush()
            os.fsync(file.fileno())
        draft.replace(self._path)
        self.remembered = changed

    def _read(self) -> Remembered:
        try:
            found = json.loads(self._path.read_text(encoding="utf-8"))
            held = {partition: Held(**each) for partition, each in found.pop("held").items()}
            plan = found.pop("plan")
            if plan is not None:
                ranges = {partition: (first, end) for partition, (first, end) in plan.pop("ranges").items()}
                plan = Plan(**plan, ranges=ranges)
            return Remembered(**found, held=held, plan=plan)
        except (OSError, ValueError, KeyError, TypeError):
            # A volume that is new, or was lost: the controller will say what to read.
            return Remembered()
