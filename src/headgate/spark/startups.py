"""Watches for executors that start, and lifts their node's CPU quota until they have done some tasks.

A Java process that starts on a third of a core takes half a minute and holds up the whole query's
batch; and each stage of a batch has classes of its own to load, so the first task of one is not the
last cold one. A real node of that size would be as slow, but what is wanted here is small *capacity*, not
slow starts. An executor that waits for its first tasks costs nothing, so the limit on how long the
quota stays lifted is one of processor time, not of time.
"""

from __future__ import annotations

import contextlib
import threading
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

import psutil

from headgate.spark.quota import CpuGroup

EXECUTOR_CLASS = "org.apache.spark.executor.CoarseGrainedExecutorBackend"
WARM_TASKS = 8
"""About what an executor does in its first two batches."""
LIFTED_FOR_PROCESSOR_S = 30.0
"""A start and the first tasks take about half of that; an executor that has had so much goes under its quota."""
_LOOK_EVERY_S = 0.2


@dataclass(frozen=True, slots=True, kw_only=True)
class ExecutorProcess:
    """The Java process of one executor."""

    executor: str
    node: str
    host: str
    pid: int


@dataclass(slots=True, kw_only=True)
class WatchedNode:
    """A node under watch; ``worker_pid`` is that of its Worker daemon, ``None`` while it has none."""

    name: str
    host: str
    group: CpuGroup | None
    worker_pid: int | None = None
    lifted: bool = False
    """Whether the quota is lifted for the moment."""
    known: dict[int, ExecutorProcess] = field(default_factory=dict)


class StartupWatch:
    """A thread that reports every new executor process and lifts its node's quota for a while."""

    def __init__(
        self,
        nodes: Sequence[WatchedNode],
        *,
        quota: float | None,
        has_worked: Callable[[str], bool],
        on_start: Callable[[ExecutorProcess], None],
        used_s: Callable[[int], float] | None = None,
    ) -> None:
        self._nodes = nodes
        self._quota = quota
        self._has_worked = has_worked
        self._on_start = on_start
        self._used_s = used_s or processor_s
        self._ended = threading.Event()
        self._thread = threading.Thread(target=self._run, name="headgate-startups", daemon=True)

    def start(self) -> None:
        self._thread.start()

    def stop(self) -> None:
        self._ended.set()
        if self._thread.is_alive():
            self._thread.join(timeout=5)

    def _run(self) -> None:
        while not self._ended.wait(_LOOK_EVERY_S):
            for node in self._nodes:
                # A node that is just going away must not end the watch over the others.
                with contextlib.suppress(OSError, psutil.Error):
                    self.look(node)

    def look(self, node: WatchedNode) -> None:
        """One look at one node."""
        if node.worker_pid is None:
            return
        present = {process.pid: process for process in executor_processes(node)}
        fresh = [process for pid, process in present.items() if pid not in node.known]
        node.known = present
        for process in fresh:
            self._on_start(process)
        if node.group is None or self._quota is None:
            return
        if fresh:
            node.group.limit(None)
            node.lifted = True
        elif node.lifted and all(self._is_warm(process) for process in present.values()):
            node.group.limit(self._quota)
            node.lifted = False

    def _is_warm(self, process: ExecutorProcess) -> bool:
        return self._has_worked(process.executor) or self._used_s(process.pid) > LIFTED_FOR_PROCESSOR_S


def processor_s(pid: int) -> float:
    """The processor time that a process has used; no end of it if the process is gone."""
    try:
        times = psutil.Process(pid).cpu_times()
    except psutil.NoSuchProcess:
        return float("inf")
    return float(times.user + times.system)


def executor_processes(node: WatchedNode) -> list[ExecutorProcess]:
    """The executors that run on a node at this moment."""
    found = []
    for pid in _candidates(node):
        known = node.known.get(pid)
        if known is None:
            with contextlib.suppress(psutil.NoSuchProcess, psutil.AccessDenied):
                words = psutil.Process(pid).cmdline()
                if EXECUTOR_CLASS in words and "--executor-id" in words:
                    executor = words[words.index("--executor-id") + 1]
                    known = ExecutorProcess(executor=executor, node=node.name, host=node.host, pid=pid)
        if known is not None:
            found.append(known)
    return found


def _candidates(node: WatchedNode) -> Sequence[int]:
    if node.worker_pid is None:
        return []
    if node.group is not None:
        return node.group.pids()
    try:
        return [child.pid for child in psutil.Process(node.worker_pid).children()]
    except psutil.NoSuchProcess:
        return []
