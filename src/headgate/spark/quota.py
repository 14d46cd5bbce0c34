"""CPU quotas that make one machine behave as several small nodes, where the kernel lets us.

Linux control groups give each node a share of the processor: version 1 through
``cpu.cfs_quota_us``, version 2 through ``cpu.max``. Both need a folder that this user may write
to, which is found out by trying and never assumed. Where it does not work, nodes share the
processor freely, and the note says so.
"""

from __future__ import annotations

import contextlib
import errno
import subprocess
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

# Shorter than the kernel's 100 ms, so that a node with a quota pauses often and briefly.
PERIOD_US = 50_000
_REMOVE_ATTEMPTS = 50


class CpuGroup(Protocol):
    """The processes of one node under one limit; children inherit it."""

    @property
    def path(self) -> Path: ...

    def add(self, pid: int) -> None: ...

    def limit(self, cores: float | None) -> None:
        """Give the group that many cores; ``None`` lifts the limit."""
        ...

    def pids(self) -> tuple[int, ...]: ...


@dataclass(frozen=True, slots=True)
class GroupV1:
    path: Path

    def add(self, pid: int) -> None:
        (self.path / "cgroup.procs").write_text(str(pid))

    def limit(self, cores: float | None) -> None:
        if cores is not None:
            (self.path / "cpu.cfs_period_us").write_text(str(PERIOD_US))
        (self.path / "cpu.cfs_quota_us").write_text("-1" if cores is None else str(int(cores * PERIOD_US)))

    def pids(self) -> tuple[int, ...]:
        return _pids(self.path)


@dataclass(frozen=True, slots=True)
class GroupV2:
    path: Path

    def add(self, pid: int) -> None:
        (self.path / "cgroup.procs").write_text(str(pid))

    def limit(self, cores: float | None) -> None:
        quota = "max" if cores is None else str(int(cores * PERIOD_US))
        (self.path / "cpu.max").write_text(f"{quota} {PERIOD_US}")

    def pids(self) -> tuple[int, ...]:
        return _pids(self.path)


@dataclass(frozen=True, slots=True, kw_only=True)
class Quotas:
    """Where groups can be made, if anywhere."""

    parent: Path | None
    """The folder that holds the groups of one cluster; ``None`` where quotas do not work."""
    version: int | None
    note: str
    """One sentence about what was found."""

    def group(self, name: str) -> CpuGroup | None:
        """A new group of that name without a limit, or ``None`` where quotas do not work."""
        if self.parent is None:
            return None
        folder = self.parent / name
        folder.mkdir(exist_ok=True)
        return GroupV2(folder) if self.version == 2 else GroupV1(folder)

    def remove(self) -> None:
        if self.parent is not None:
            remove_groups(self.parent)


def open_quotas(name: str, *, root: Path = Path("/sys/fs/cgroup"), process: Path = Path("/proc/self/cgroup")) -> Quotas:
    """Make the folder ``name`` for a cluster's groups, after trying out that a limit really holds a process."""
    reasons = []
    for version, home in _candidates(root, process):
        parent = home / name
        try:
            if version == 2:
                _delegate_cpu(home)
            parent.mkdir()
            if version == 2:
                _delegate_cpu(parent)
            quotas = Quotas(parent=parent, version=version, note=f"CPU quotas by control groups (version {version})")
            _try_out(quotas)
        except OSError as error:
            remove_groups(parent)
            reasons.append(f"version {version}: {error.strerror or error}")
        else:
            return quotas
    why = "; ".join(reasons) if reasons else "no control group for the CPU is mounted"
    return Quotas(
        parent=None,
        version=None,
        note=f"no CPU quotas ({why}), so all nodes share this machine's cores and more executors than cores add little",
    )


def remove_groups(parent: Path) -> None:
    """Remove a cluster's folder of groups; processes that are still ending get a moment to do so."""
    if not parent.is_dir():
        return
    for folder in [*(child for child in parent.iterdir() if child.is_dir()), parent]:
        for _ in range(_REMOVE_ATTEMPTS):
            try:
                folder.rmdir()
                break
            except FileNotFoundError:
                break
            except OSError as error:
                if error.errno != errno.EBUSY:
                    break
                time.sleep(0.02)


def _candidates(root: Path, process: Path) -> list[tuple[int, Path]]:
    """Our own place in the hierarchies that are mounted, version 2 first where it governs the CPU."""
    try:
        lines = process.read_text().splitlines()
    except OSError:
        return []
    found: list[tuple[int, Path]] = []
    for line in lines:
        _, controllers, path = line.split(":", 2)
        inside = path.lstrip("/")
        if controllers == "" and (root / "cgroup.controllers").is_file():
            own = root / inside
            # A group that holds processes cannot hand the CPU on to children, but a sibling of it can.
            found += [(2, folder) for folder in (own, own.parent) if folder == root or root in folder.parents]
        elif "cpu" in controllers.split(","):
            mounts = [root / controllers, root / "cpu", root / "cpu,cpuacct"]
            mount = next((mount for mount in mounts if (mount / "cgroup.procs").is_file()), None)
            if mount is not None:
                own = mount / inside
                found.append((1, own if own.is_dir() else mount))
    return found


def _delegate_cpu(folder: Path) -> None:
    control = folder / "cgroup.subtree_control"
    if "cpu" not in control.read_text().split():
        control.write_text("+cpu")


def _try_out(quotas: Quotas) -> None:
    group = quotas.group("trial")
    if group is None:
        return
    # A process that waits for input that never comes: it ends with its pipe, whatever happens to us.
    with subprocess.Popen(["cat"], stdin=subprocess.PIPE, stdout=subprocess.DEVNULL) as process:
        try:
            group.limit(0.5)
            group.add(process.pid)
            if process.pid not in group.pids():
                raise OSError(errno.EPERM, "a process did not stay in its group")
        finally:
            process.kill()
    with contextlib.suppress(OSError):
        group.path.rmdir()


def _pids(folder: Path) -> tuple[int, ...]:
    try:
        return tuple(int(line) for line in (folder / "cgroup.procs").read_text().split())
    except FileNotFoundError:
        return ()
