"""The log that decides what is in a lake: a numbered file for each commit, of which each number can be made only once.

A commit says which offsets of which partitions are in which files, and under which epochs they were read. It is valid
only if no partition of it was claimed under a newer epoch, and if it goes on where the one before it ended; whoever
wants to make number *n* and finds it made reads it and looks again whether that still holds. So a consumer that was
taken for dead and comes back can write nothing, and nothing is written twice, whatever clocks and networks do.

Needs a folder in which a file cannot be linked to a name that exists: any local disk, and NFS.
"""

from __future__ import annotations

import contextlib
import json
import os
import secrets
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from headgate.errors import Permanent, Temporary

FOLDER = "_commits"
_CHECKPOINT = "checkpoint.json"
_CHECKPOINT_EVERY = 50
_MOST_TRIES = 1000


@dataclass(frozen=True, slots=True, kw_only=True)
class Range:
    """Offsets of one partition, from one up to but without the other."""

    epoch: int
    first: int
    end: int
    lost: int = 0
    """Of them, those that retention had deleted before they were read."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Commit:
    number: int
    consumer: int
    time_ms: int
    name: str
    """Of what was written: no other commit has it."""
    claims: Mapping[str, int] = field(default_factory=dict)
    """Epochs under which partitions are read from now on."""
    ranges: Mapping[str, Range] = field(default_factory=dict)
    files: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    """By table, relative to the lake."""
    records: int = 0
    bytes: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class Position:
    """How far a partition has come."""

    epoch: int
    end: int | None
    """The next offset to be read; ``None`` before the first commit."""
    number: int = 0
    """The commit that brought it there."""


class Fenced(Permanent):
    """Partitions were given to somebody else meanwhile; nothing was committed."""

    def __init__(self, partitions: Sequence[str]) -> None:
        self.partitions = tuple(partitions)
        super().__init__(f"partitions {', '.join(partitions)} are read by another consumer by now; they are left to it")


class CommitLog:
    """What was committed to a lake, read as far as it goes; one object for one thread."""

    def __init__(self, lake: Path) -> None:
        self._folder = lake / FOLDER
        self._folder.mkdir(parents=True, exist_ok=True)
        self._positions: dict[str, Position] = {}
        self._number = 0
        self._restore()

    @property
    def number(self) -> int:
        """Of the newest commit that has been read."""
        return self._number

    def positions(self) -> dict[str, Position]:
        """Of all partitions, as of now."""
        self._catch_up()
        return dict(self._positions)

    def commits(self, *, since: int = 0) -> Iterator[Commit]:
        """Those after a number, oldest first."""
        number = since
        while (commit := self.read(number + 1)) is not None:
            number = commit.number
            yield commit

    def claim(self, epochs: Mapping[str, int], *, consumer: int) -> tuple[dict[str, Position], tuple[str, ...]]:
        """Read partitions under these epochs from now on: where to begin, and which of them others have by now."""
        for _ in range(_MOST_TRIES):
            self._catch_up()
            newer = [name for name, epoch in epochs.items() if self._epoch(name) > epoch]
            wanted = {name: epoch for name, epoch in epochs.items() if name not in newer and self._epoch(name) < epoch}
            if wanted and not self._append(
                Commit(**self._head(consumer, f"claim-{secrets.token_hex(8)}"), claims=wanted)
            ):
                continue
            mine = [name for name in epochs if name not in newer]
            return {name: self._positions[name] for name in mine}, tuple(newer)
        raise _busy(self._folder)

    def commit(
        self,
        ranges: Mapping[str, Range],
        *,
        consumer: int,
        name: str,
        files: Mapping[str, tuple[str, ...]],
        records: int = 0,
        size: int = 0,
    ) -> Commit:
        """Make it so, or raise ``Fenced`` with the partitions that are not this consumer's any more."""
        for _ in range(_MOST_TRIES):
            self._catch_up()
            fenced = [partition for partition, each in ranges.items() if not self._continues(partition, each)]
            if fenced:
                raise Fenced(fenced)
            made = Commit(**self._head(consumer, name), ranges=ranges, files=files, records=records, bytes=size)
            if self._append(made):
                if made.number % _CHECKPOINT_EVERY == 0:
                    self._write_checkpoint()
                return made
        raise _busy(self._folder)

    def find(self, name: str, *, since: int = 0) -> Commit | None:
        """The commit of what was written under a name, if there is one."""
        return next((commit for commit in self.commits(since=since) if commit.name == name), None)

    def _continues(self, partition: str, wanted: Range) -> bool:
        known = self._positions.get(partition)
        return known is not None and known.epoch == wanted.epoch and known.end in (None, wanted.first)

    def _epoch(self, partition: str) -> int:
        known = self._positions.get(partition)
        return 0 if known is None else known.epoch

    def _head(self, consumer: int, name: str) -> dict[str, Any]:
        return {"number": self._number + 1, "consumer": consumer, "time_ms": int(time.time() * 1000), "name": name}

    def _append(self, commit: Commit) -> bool:
        """Whether its number was free; the whole file is there, or nothing of it."""
        draft = self._folder / f".{secrets.token_hex(8)}.draft"
        try:
            with draft.open("x", encoding="utf-8") as file:
                json.dump(asdict(commit), file)
                file.flush()
                os.fsync(file.fileno())
            os.link(draft, self._path(commit.number))
        except FileExistsError:
            return False
        except OSError as error:
            raise Temporary(f"the log of commits in {self._folder} cannot be written ({error.strerror})") from None
        finally:
            draft.unlink(missing_ok=True)
        self._learn(commit)
        return True

    def _catch_up(self) -> None:
        for commit in self.commits(since=self._number):
            self._learn(commit)

    def _learn(self, commit: Commit) -> None:
        for partition, epoch in commit.claims.items():
            known = self._positions.get(partition)
            end, number = (None, 0) if known is None else (known.end, known.number)
            self._positions[partition] = Position(epoch=epoch, end=end, number=number)
        for partition, each in commit.ranges.items():
            self._positions[partition] = Position(epoch=each.epoch, end=each.end, number=commit.number)
        self._number = commit.number

    def read(self, number: int) -> Commit | None:
        """The commit of a number, if it was made."""
        try:
            found = json.loads(self._path(number).read_text(encoding="utf-8"))
        except FileNotFoundError:
            return None
        except (OSError, ValueError) as error:
            raise Permanent(f"commit {number} in {self._folder} cannot be read ({error}); restore it") from None
        ranges = {partition: Range(**each) for partition, each in found.pop("ranges").items()}
        files = {table: tuple(paths) for table, paths in found.pop("files").items()}
        return Commit(**found, ranges=ranges, files=files)

    def _path(self, number: int) -> Path:
        return self._folder / f"{number:020d}.json"

    def _write_checkpoint(self) -> None:
        """So that a later reader of positions need not begin at the first commit; the commits stay."""
        draft = self._folder / f".{secrets.token_hex(8)}.draft"
        text = {"number": self._number, "positions": {name: asdict(each) for name, each in self._positions.items()}}
        with contextlib.suppress(OSError):
            draft.write_text(json.dumps(text), encoding="utf-8")
            draft.replace(self._folder / _CHECKPOINT)

    def _restore(self) -> None:
        with contextlib.suppress(OSError, ValueError, KeyError, TypeError):
            found = json.loads((self._folder / _CHECKPOINT).read_text(encoding="utf-8"))
            positions = {name: Position(**each) for name, each in found["positions"].items()}
            self._positions, self._number = positions, int(found["number"])


def _busy(folder: Path) -> Temporary:
    return Temporary(f"the log of commits in {folder} is written by others all the time; trying again")
