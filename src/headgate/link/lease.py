"""Who leads, among the controllers of one machine: whoever has renewed the lease in a file most lately.

A lease that was not renewed for most of ``takeover_s`` may be taken by another, so a controller that was killed, or
stopped for long, is replaced within that time. Every taking has an epoch greater than any before it, and greater than
agents have obeyed: a controller that comes back after a long stop still believes that it leads, but agents refuse what
it orders. The file is read and written under a lock, for a moment each time. Its times are of the clock that all
processes of a machine share and that nobody can set; it begins anew with the machine, and a lease from before that is
void.
"""

from __future__ import annotations

import fcntl
import os
import time
import uuid
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import IO

from headgate import codec
from headgate.errors import Temporary, UserMistake

TAKEOVER_S = 10.0
_SILENT = 0.7
"""Part of it after which a leader counts as silent; followers look a fifth of it later at most, and have to begin."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Lease:
    """What stands in the file."""

    owner: str = ""
    """Empty after somebody has resigned."""
    epoch: int = 0
    renewed_s: float = 0.0


class FileLease:
    """``Leadership`` among processes of one machine."""

    def __init__(
        self,
        path: Path,
        *,
        takeover_s: float = TAKEOVER_S,
        owner: str | None = None,
        now_s: Callable[[], float] = time.monotonic,
    ) -> None:
        self._path = path
        self._takeover_s = takeover_s
        self._owner = owner or uuid.uuid4().hex
        self._now_s = now_s

    @property
    def renew_every_s(self) -> float:
        return self._takeover_s / 5

    def seek(self, *, newest_epoch: int) -> int | None:
        now_s = self._now_s()
        with self._opened() as file:
            lease = _read(file)
            fresh = 0 <= now_s - lease.renewed_s < _SILENT * self._takeover_s
            if lease.owner not in ("", self._owner) and fresh:
                return None
            epoch = max(lease.epoch, newest_epoch) + 1
            _write(file, Lease(owner=self._owner, epoch=epoch, renewed_s=now_s))
        return epoch

    def keep(self) -> bool:
        with self._opened() as file:
            lease = _read(file)
            if lease.owner != self._owner:
                return False
            _write(file, replace(lease, renewed_s=self._now_s()))
        return True

    def resign(self) -> None:
        with self._opened() as file:
            lease = _read(file)
            if lease.owner == self._owner:
                _write(file, replace(lease, owner=""))

    @contextmanager
    def _opened(self) -> Iterator[IO[bytes]]:
        try:
            self._path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
            with os.fdopen(os.open(self._path, os.O_RDWR | os.O_CREAT, 0o600), "r+b") as file:
                fcntl.flock(file, fcntl.LOCK_EX)
                yield file
        except OSError as error:
            raise Temporary(f"the lease {self._path} cannot be used ({error.strerror}); trying again") from error


def _read(file: IO[bytes]) -> Lease:
    """What stands there; nothing, if it was cut off when its writer died."""
    file.seek(0)
    try:
        return codec.from_json(Lease, file.read() or b"{}", where="lease")
    except UserMistake:
        return Lease()


def _write(file: IO[bytes], lease: Lease) -> None:
    file.seek(0)
    file.write(codec.to_json(lease))
    file.truncate()
    file.flush()
