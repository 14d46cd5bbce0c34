"""Who starts and ends consumers: a port, and its form on one machine, where a consumer is a process.

As a deployment does, it starts a consumer again that ends unasked, with its number and its volume. Consumers outlive
the controller that had them created; the next one finds them by what was written down about them.
"""

from __future__ import annotations

import contextlib
import json
import logging
import os
import signal
import subprocess
import time
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Protocol

from headgate.errors import Temporary
from headgate.processes import ProcessRecord, describe, end, matches

log = logging.getLogger("headgate")

_GRACE_S = 45.0
_SEEN_WITHIN_S = 1.0
_FIRST_PAUSE_S = 1.0
_LONGEST_PAUSE_S = 60.0
_LIVED_S = 120.0
"""A consumer that has lived for so long did not fail at its start."""


class Fleet(Protocol):
    """Consumers, by their numbers. Every call may be repeated."""

    def members(self) -> frozenset[int]:
        """Those that are meant to live."""
        ...

    def live(self) -> frozenset[int]:
        """All that are there, also those that were told to end and have not yet."""
        ...

    def create(self, number: int) -> None: ...

    def delete(self, number: int) -> None: ...

    def supervise(self) -> None:
        """To be called now and then: for what takes time, or went wrong meanwhile."""
        ...


@dataclass(frozen=True, slots=True, kw_only=True)
class _Record:
    number: int
    process: ProcessRecord
    deleted_s: float | None = None


class LocalFleet:
    """Consumers as processes of this machine."""

    def __init__(
        self,
        folder: Path,
        command: Callable[[int], Sequence[str]],
        *,
        token: str,
        now_s: Callable[[], float] = time.time,
        grace_s: float = _GRACE_S,
    ) -> None:
        """``token`` is a word of every command, by which processes are proved to be of this group."""
        self._folder = folder
        self._folder.mkdir(parents=True, exist_ok=True)
        self._command = command
        self._token = token
        self._now_s = now_s
        self._grace_s = grace_s
        self._children: dict[int, subprocess.Popen[bytes]] = {}
        self._pauses: dict[int, tuple[float, float]] = {}
        """When a consumer that fails at its start may be tried again, and how long to wait the next time."""

    def members(self) -> frozenset[int]:
        return frozenset(record.number for record in self._records() if record.deleted_s is None)

    def live(self) -> frozenset[int]:
        return frozenset(record.number for record in self._records())

    def pids(self) -> dict[int, int]:
        """Processes of those that are meant to live, by number."""
        return {record.number: record.process.pid for record in self._records() if record.deleted_s is None}

    def create(self, number: int) -> None:
        known = self._record(number)
        if known is not None and known.deleted_s is not None:
            raise Temporary(f"consumer {number} has not ended yet; it is created when it has")
        if known is None or not self._lives(known):
            self._start(number)

    def delete(self, number: int) -> None:
        known = self._record(number)
        if known is None or known.deleted_s is not None:
            return
        self._write(replace(known, deleted_s=self._now_s()))
        if self._lives(known):
            with contextlib.suppress(ProcessLookupError):
                os.kill(known.process.pid, signal.SIGTERM)

    def supervise(self) -> None:
        for record in self._records():
            lives = self._lives(record)
            if record.deleted_s is None:
                if not lives:
                    self._restart(record)
            elif not lives:
                self._path(record.number).unlink(missing_ok=True)
            elif self._now_s() - record.deleted_s > self._grace_s:
                end([record.process], token=self._token)

    def end_all(self) -> None:
        """Every consumer of the group: asked first, and only then with whatever belongs to it."""
        records = self._records()
        for record in records:
            self.delete(record.number)
        deadline_s = self._now_s() + self._grace_s
        while self._now_s() < deadline_s and any(self._lives(record) for record in records):
            time.sleep(0.1)
        end([record.process for record in records], token=self._token)
        for record in records:
            self._path(record.number).unlink(missing_ok=True)
        for child in self._children.values():
            child.wait()

    def _restart(self, record: _Record) -> None:
        now_s = self._now_s()
        due_s, pause_s = self._pauses.get(record.number, (0.0, _FIRST_PAUSE_S))
        if now_s < due_s:
            return
        lived = now_s - record.process.started_s > _LIVED_S
        pause_s = _FIRST_PAUSE_S if lived else min(2 * pause_s, _LONGEST_PAUSE_S)
        self._pauses[record.number] = (now_s + pause_s, pause_s)
        log.warning("consumer %d has ended unasked and is started again", record.number)
        self._start(record.number)

    def _start(self, number: int) -> None:
        before = self._children.get(number)
        if before is not None:
            # It has just ended, and may not have been seen to yet.
            with contextlib.suppress(subprocess.TimeoutExpired):
                before.wait(_SEEN_WITHIN_S)
        with (self._folder / f"consumer-{number}.log").open("ab") as output:
            process = subprocess.Popen(
                list(self._command(number)),
                stdin=subprocess.DEVNULL,
                stdout=output,
                stderr=subprocess.STDOUT,
                start_new_session=True,
            )
        self._children[number] = process
        self._write(_Record(number=number, process=describe(process.pid, role=f"consumer {number}")))

    def _lives(self, record: _Record) -> bool:
        child = self._children.get(record.number)
        if child is not None and child.pid == record.process.pid:
            return child.poll() is None
        return matches(record.process, token=self._token)

    def _records(self) -> list[_Record]:
        found = (
            self._record(int(path.stem.removeprefix("consumer-"))) for path in self._folder.glob("consumer-*.json")
        )
        return sorted((record for record in found if record is not None), key=lambda record: record.number)

    def _record(self, number: int) -> _Record | None:
        with contextlib.suppress(OSError, ValueError, KeyError, TypeError):
            found = json.loads(self._path(number).read_text(encoding="utf-8"))
            return _Record(
                number=found["number"], process=ProcessRecord(**found["process"]), deleted_s=found["deleted_s"]
            )
        return None

    def _write(self, record: _Record) -> None:
        draft = self._path(record.number).with_suffix(".draft")
        draft.write_text(json.dumps(asdict(record)), encoding="utf-8")
        draft.replace(self._path(record.number))

    def _path(self, number: int) -> Path:
        return self._folder / f"consumer-{number}.json"
