"""What a cluster has started, on record, so that the next start can clear up after a killed parent.

Each cluster keeps one record in the user's state folder: who owns it and every process with its
id, its start time and the cluster's token, which stands in that process's command line. A process
is ended only when all three match and the owner is gone; the owner holds a lock on its record,
which the kernel lets go when it dies, however it dies.
"""

from __future__ import annotations

import contextlib
import fcntl
import json
import os
import shutil
import threading
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import IO, Any

import platformdirs
import psutil

from headgate.processes import ProcessRecord, describe, end, matches, rebooted_since, this_machine
from headgate.spark.quota import remove_groups

__all__ = [
    "ClusterRecord",
    "ClusterState",
    "ProcessRecord",
    "Reclaimed",
    "clear",
    "describe",
    "end",
    "matches",
    "reclaim",
    "state_folder",
    "this_machine",
]


@dataclass(frozen=True, slots=True, kw_only=True)
class ClusterRecord:
    token: str
    machine: str
    """Host, boot and process namespace: process ids mean nothing elsewhere."""
    owner: ProcessRecord
    folder: str
    groups: str | None = None
    """Folder of the control groups, where there are any."""
    processes: tuple[ProcessRecord, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Reclaimed:
    """What was cleared up after clusters whose owners were killed."""

    clusters: int = 0
    processes: int = 0

    @property
    def summary(self) -> str:
        return f"ended {self.processes} processes left over by {self.clusters} clusters whose owner was killed"


class ClusterState:
    """The record of one living cluster; safe to use from several threads."""

    def __init__(self, *, token: str, folder: Path, home: Path | None = None) -> None:
        self._path = state_folder(home) / f"{token}.json"
        self._path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
        self._guard = threading.Lock()
        lock = _lock(self._path)
        if lock is None:
            raise RuntimeError(f"the record {self._path} of a new cluster is locked by another process")
        self._lock: IO[str] = lock
        owner = describe(os.getpid(), role="owner")
        self._record = ClusterRecord(token=token, machine=this_machine(), owner=owner, folder=str(folder))
        self._write()

    def add(self, pid: int, *, role: str) -> None:
        with self._guard, contextlib.suppress(psutil.NoSuchProcess):
            added = describe(pid, role=role)
            self._record = replace(self._record, processes=(*self._record.processes, added))
            self._write()

    def remember_groups(self, groups: Path | None) -> None:
        with self._guard:
            self._record = replace(self._record, groups=None if groups is None else str(groups))
            self._write()

    @property
    def record(self) -> ClusterRecord:
        return self._record

    def close(self) -> None:
        """Forget the cluster: everything that it started has ended."""
        with self._guard:
            self._path.unlink(missing_ok=True)
            _lock_path(self._path).unlink(missing_ok=True)
            self._lock.close()

    def _write(self) -> None:
        draft = self._path.with_suffix(".draft")
        draft.write_text(json.dumps(asdict(self._record)))
        draft.replace(self._path)


def state_folder(home: Path | None = None) -> Path:
    """Where records are kept; the environment variable HEADGATE_HOME moves it."""
    given = home or os.environ.get("HEADGATE_HOME") or platformdirs.user_state_dir("headgate")
    return Path(given) / "clusters"


def reclaim(home: Path | None = None) -> Reclaimed:
    """End and remove what clusters of dead owners left behind; leave everything that cannot be proved."""
    clusters = processes = 0
    folder = state_folder(home)
    for path in sorted(folder.glob("*.json")) if folder.is_dir() else ():
        with contextlib.ExitStack() as stack:
            lock = _lock(path)
            if lock is None:
                continue
            stack.callback(lock.close)
            record = _read(path)
            if record is None or not _ours_to_clear(record):
                continue
            if record.machine == this_machine():
                processes += end(record.processes, token=record.token)
            clusters += 1
            clear(record)
            path.unlink(missing_ok=True)
            _lock_path(path).unlink(missing_ok=True)
    return Reclaimed(clusters=clusters, processes=processes)


def clear(record: ClusterRecord) -> None:
    """Remove a cluster's control groups and its folder, both of which bear its token."""
    if record.groups is not None and record.token in Path(record.groups).name:
        remove_groups(Path(record.groups))
    if record.token in Path(record.folder).name:
        shutil.rmtree(record.folder, ignore_errors=True)


def _ours_to_clear(record: ClusterRecord) -> bool:
    if record.machine == this_machine():
        return not matches(record.owner)
    return rebooted_since(record.machine)


def _lock_path(path: Path) -> Path:
    return path.with_suffix(".lock")


def _lock(path: Path) -> IO[str] | None:
    file = _lock_path(path).open("a")
    try:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        file.close()
        return None
    return file


def _read(path: Path) -> ClusterRecord | None:
    try:
        data: dict[str, Any] = json.loads(path.read_text())
        data["owner"] = ProcessRecord(**data["owner"])
        data["processes"] = tuple(ProcessRecord(**process) for process in data["processes"])
        return ClusterRecord(**data)
    except (OSError, ValueError, TypeError, KeyError):
        return None
