"""Processes that were written down, so that they can be proved to be ours before they are ended.

Process ids are given again. A process is the one on record only when its id, its start time and, where
it has one, the token in its command line all match.
"""

from __future__ import annotations

import contextlib
import socket
import time
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

import psutil

# The kernel counts start times in ticks since boot, and the boot time is known to about a second.
_SAME_START_WITHIN_S = 1.5
_COMMAND_WITHIN_S = 1.0


@dataclass(frozen=True, slots=True, kw_only=True)
class ProcessRecord:
    pid: int
    started_s: float
    role: str


def describe(pid: int, *, role: str) -> ProcessRecord:
    return ProcessRecord(pid=pid, started_s=psutil.Process(pid).create_time(), role=role)


def this_machine() -> str:
    """Host, boot and process namespace: process ids mean nothing elsewhere."""
    parts = [socket.gethostname()]
    with contextlib.suppress(OSError):
        parts.append(Path("/proc/sys/kernel/random/boot_id").read_text().strip())
        parts.append(str(Path("/proc/self/ns/pid").readlink()))
    return " ".join(parts)


def rebooted_since(machine: str) -> bool:
    """Whether that was this host before its latest start: its processes are gone, only files are left."""
    host, boot, *_ = [*machine.split(), "", ""]
    own_host, own_boot, *_ = [*this_machine().split(), "", ""]
    return host == own_host and boot != own_boot


def matches(record: ProcessRecord, *, token: str | None = None) -> bool:
    """Whether the recorded process is alive and the same one, not a later one with its id."""
    try:
        process = psutil.Process(record.pid)
        if abs(process.create_time() - record.started_s) > _SAME_START_WITHIN_S:
            return False
        if process.status() == psutil.STATUS_ZOMBIE:
            return False
        return token is None or any(token in word for word in _words(process))
    except psutil.Error:
        return False


def _words(process: psutil.Process) -> list[str]:
    """Its command line. A process that has just been started, or is about to end, has none for a moment."""
    deadline_s = time.monotonic() + _COMMAND_WITHIN_S
    words: list[str]
    while not (words := process.cmdline()) and time.monotonic() < deadline_s:
        time.sleep(0.001)
    return words


def end(records: Iterable[ProcessRecord], *, token: str, patience_s: float = 0.0) -> int:
    """End the processes that are proved to bear the token, and their children; how many there were.

    With patience they are asked first, and killed only when they have not gone by then.
    """
    proved = []
    for record in records:
        if matches(record, token=token):
            with contextlib.suppress(psutil.NoSuchProcess):
                process = psutil.Process(record.pid)
                proved += [*process.children(recursive=True), process]
    if patience_s:
        for process in proved:
            with contextlib.suppress(psutil.NoSuchProcess):
                process.terminate()
        psutil.wait_procs(proved, timeout=patience_s)
    for process in proved:
        with contextlib.suppress(psutil.NoSuchProcess):
            process.kill()
    psutil.wait_procs(proved, timeout=10)
    return len(set(proved))
