"""Whether a process that wrote down its number is still the one that has it.

Numbers are given again, so a process is known by its number and the moment it started. A process that
has ended but has not been waited for by its parent counts as dead.
"""

from __future__ import annotations

import os
from pathlib import Path

UNKNOWN = "unknown"
"""The start of a live process on a system that does not tell it."""


def start_of(pid: int) -> str | None:
    """Comparable with what the same function says of the same process at another time; ``None`` if dead."""
    if pid <= 0:
        return None
    try:
        # The name in brackets may contain anything, so fields are counted from its end.
        fields = Path(f"/proc/{pid}/stat").read_text(errors="replace").rpartition(")")[2].split()
        return None if fields[0] in "ZX" else f"ticks {fields[19]}"
    except (OSError, IndexError):
        return _start_without_proc(pid)


def _start_without_proc(pid: int) -> str | None:
    try:
        os.kill(pid, 0)
    except (ProcessLookupError, OverflowError):
        return None
    except PermissionError:
        pass  # somebody else's, but alive
    try:
        import psutil
    except ImportError:
        return UNKNOWN
    try:
        process = psutil.Process(pid)
        return None if process.status() == psutil.STATUS_ZOMBIE else f"seconds {process.create_time():.2f}"
    except psutil.Error:
        return UNKNOWN


def lives(pid: int, started: str) -> bool:
    """Whether the process that was written down so still runs."""
    now = start_of(pid)
    return now is not None and (now == started or UNKNOWN in (now, started))
