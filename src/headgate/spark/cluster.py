"""A real Spark cluster on this machine: a standalone master and one Worker daemon per node.

Everything listens on loopback addresses only, all of Spark's words go to files, and nothing
outlives the cluster: not after ``stop``, not after an interrupt, and after ``kill -9`` of this
process not beyond the next start of any cluster.
"""

from __future__ import annotations

import atexit
import contextlib
import signal
import socket
import sys
import tempfile
import threading
import uuid
from collections.abc import Mapping
from pathlib import Path
from types import FrameType, TracebackType
from typing import Any, Self

from pyspark.sql import SparkSession

from headgate.class_archive import Making
from headgate.errors import HeadgateError, Permanent, UserMistake
from headgate.java import find_java
from headgate.spark import daemons, driver, leftovers
from headgate.spark.quota import Quotas, open_quotas
from headgate.spark.startups import WARM_TASKS, ExecutorProcess, StartupWatch, WatchedNode, executor_processes

LEAST_MEMORY_MB = 450
_LOOPBACK = "127.0.0.1"


class LocalCluster:
    """A context manager around a cluster of small nodes, one executor each.

    ``quota`` is the share of a core that each node gets; ``initial`` is the number of executors
    that a session starts with, and ``nodes`` the most that it can grow to.
    """

    def __init__(
        self,
        *,
        nodes: int = 4,
        cores_per_node: int = 1,
        memory_mb: int = 512,
        quota: float | None = 0.35,
        initial: int = 1,
        folder: Path | None = None,
    ) -> None:
        _check(nodes=nodes, cores_per_node=cores_per_node, memory_mb=memory_mb, quota=quota, initial=initial)
        self.token = uuid.uuid4().hex
        self.folder = Path(folder or tempfile.gettempdir()) / f"headgate-{self.token}"
        self.master_url: str | None = None
        self.quota_note = "the cluster has not been started"
        self.reclaimed = leftovers.Reclaimed()
        self._cores = cores_per_node
        self._memory_mb = memory_mb
        self._quota = quota
        self._initial = initial
        self._nodes = [
            WatchedNode(name=f"node-{number}", host=_host(number), group=None) for number in range(1, nodes + 1)
        ]
        self._workers: dict[str, daemons.Daemon] = {}
        self._master: daemons.Daemon | None = None
        self._installation: daemons.Installation | None = None
        self._quotas: Quotas | None = None
        self._making: Making | None = None
        """What makes later clusters start faster."""
        self._state: leftovers.ClusterState | None = None
        self._watch: StartupWatch | None = None
        self._session: SparkSession | None = None
        self._worked: frozenset[str] = frozenset()
        self._previous_sigterm: Any = None
        self._stopping = threading.Lock()

    @property
    def nodes(self) -> tuple[str, ...]:
        """The nodes' names."""
        return tuple(node.name for node in self._nodes)

    @property
    def hosts(self) -> Mapping[str, str]:
        """The address of each node, which is what Spark calls its host."""
        return {node.name: node.host for node in self._nodes}

    @property
    def logs(self) -> Path:
        """Where the daemons and the driver write; executors write below ``work`` beside it."""
        return self.folder / "logs"

    def __enter__(self) -> Self:
        self.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.stop()

    def start(self) -> None:
        """Start the master and the first nodes; the other nodes follow when a session has been opened."""
        java = find_java()
        self.reclaimed = leftovers.reclaim()
        self.folder.mkdir(parents=True, mode=0o700)
        self._state = leftovers.ClusterState(token=self.token, folder=self.folder)
        atexit.register(self.stop)
        self._catch_sigterm()
        try:
            self._installation = daemons.install(java=java, folder=self.folder, token=self.token)
            if self._installation.sharing is not None:
                self._making = self._installation.sharing.begin_making(self._installation.class_path)
            self._open_quotas()
            self._start_master()
            self._start_workers(self._nodes[: self._initial])
            self._watch = StartupWatch(
                self._nodes, quota=self._quota, has_worked=self._has_worked, on_start=self._remember_executor
            )
            self._watch.start()
        except BaseException as error:
            # The sentence points to a log: then the log must still be there.
            self.stop(keep_logs=isinstance(error, HeadgateError))
            raise

    def session(self, app_name: str, conf: Mapping[str, str] | None = None) -> SparkSession:
        """A session with ``initial`` executors that can grow to one per node.

        A standalone master gives an app every executor that it may have at once. So the app is
        started while only the first nodes are there, says how many executors it wants, and only
        then the other nodes join.
        """
        if self._installation is None or self.master_url is None:
            raise UserMistake("the cluster is not running; start it before opening a session")
        self._stop_workers(self._nodes[self._initial :])
        self._start_workers(self._nodes[: self._initial])
        settings = driver.standard_settings(
            self._installation,
            master=self.master_url,
            app_name=app_name,
            nodes=len(self._nodes),
            cores=self._cores,
            memory_mb=self._memory_mb,
        )
        session = driver.open_session(self._installation, driver.with_wishes(settings, conf or {}))
        self._session = session
        self._worked = frozenset()
        pid = driver.gateway_pid()
        if pid is not None and self._state is not None:
            self._state.add(pid, role="driver")
        driver.wait_for_executors(session, self._initial, self._installation)
        if not driver.request_total(session, self._initial):
            raise Permanent("the master did not accept the app's number of executors; see its log in " + str(self.logs))
        self._start_workers(self._nodes[self._initial :])
        return session

    def executor_pids(self) -> dict[str, ExecutorProcess]:
        """The running executor processes by executor id."""
        return {process.executor: process for node in self._nodes for process in executor_processes(node)}

    def stop(self, *, keep_logs: bool = False) -> None:
        """End every process of the cluster and remove its files; may be called twice."""
        with self._stopping:
            if self._state is None:
                return
            state, self._state = self._state, None
            self._restore_sigterm()
            atexit.unregister(self.stop)
            if self._watch is not None:
                self._watch.stop()
            self._end_session()
            running = [process for process in (self._master, *self._workers.values()) if process is not None]
            leftovers.end(state.record.processes, token=self.token)
            for daemon in running:
                daemon.process.wait()
            for node in self._nodes:
                node.worker_pid = None
            self._workers.clear()
            self._master = self._installation = self.master_url = None
            if self._quotas is not None:
                self._quotas.remove()
            if self._making is not None:
                self._making.stop()
                self._making = None
            if not keep_logs:
                leftovers.clear(state.record)
            state.close()

    def _open_quotas(self) -> None:
        if self._quota is None:
            self.quota_note = "no CPU quotas were asked for, so all nodes share this machine's cores"
            return
        self._quotas = open_quotas(f"headgate-{self.token}")
        self.quota_note = self._quotas.note
        if self._quotas.parent is not None:
            self.quota_note = (
                f"each node has {self._quota:g} of a core: {self._quotas.note}, lifted while an executor starts"
            )
        if self._state is not None:
            self._state.remember_groups(self._quotas.parent)
        for node in self._nodes:
            node.group = self._quotas.group(node.name)

    def _start_master(self) -> None:
        assert self._installation is not None
        self._master = daemons.start_master(self._installation, host=_LOOPBACK)
        self._remember(self._master)
        self.master_url = daemons.master_address(self._master)

    def _start_workers(self, nodes: list[WatchedNode]) -> None:
        assert self._installation is not None
        assert self.master_url is not None
        fresh = [node for node in nodes if node.name not in self._workers]
        for node in fresh:
            worker = daemons.start_worker(
                self._installation,
                name=node.name,
                host=node.host,
                master=self.master_url,
                cores=self._cores,
                memory_mb=self._memory_mb,
            )
            self._workers[node.name] = worker
            self._remember(worker)
            if node.group is not None:
                node.group.limit(None)
                node.group.add(worker.pid)
            node.lifted = True
        for node in fresh:
            worker = self._workers[node.name]
            daemons.wait_registered(worker)
            # From here on, the watch over the node sets and lifts its quota.
            node.worker_pid = worker.pid

    def _stop_workers(self, nodes: list[WatchedNode]) -> None:
        for node in nodes:
            worker = self._workers.pop(node.name, None)
            if worker is not None and self._state is not None:
                node.worker_pid = None
                records = [record for record in self._state.record.processes if record.pid == worker.pid]
                leftovers.end(records, token=self.token)
                worker.process.wait()

    def _remember(self, daemon: daemons.Daemon) -> None:
        if self._state is not None:
            self._state.add(daemon.pid, role=daemon.name)

    def _remember_executor(self, process: ExecutorProcess) -> None:
        if self._state is not None:
            self._state.add(process.pid, role=f"executor {process.executor} on {process.node}")

    def _has_worked(self, executor: str) -> bool:
        session = self._session
        if session is not None and executor not in self._worked:
            # The session may be closing: then nobody needs the answer.
            with contextlib.suppress(Exception):
                self._worked = driver.executors_that_worked(session, tasks=WARM_TASKS)
        return executor in self._worked

    def _end_session(self) -> None:
        session, self._session = self._session, None
        if session is not None:
            with contextlib.suppress(Exception):
                session.stop()
            driver.close_gateway()

    def _catch_sigterm(self) -> None:
        """Make a polite request to end run the clean-up, unless the program has its own answer to it."""
        here = threading.current_thread() is threading.main_thread()
        if here and signal.getsignal(signal.SIGTERM) is signal.SIG_DFL:
            self._previous_sigterm = signal.signal(signal.SIGTERM, _leave)

    def _restore_sigterm(self) -> None:
        if self._previous_sigterm is not None and threading.current_thread() is threading.main_thread():
            signal.signal(signal.SIGTERM, self._previous_sigterm)
            self._previous_sigterm = None


def _leave(number: int, frame: FrameType | None) -> None:  # noqa: ARG001 - the signature of a signal handler
    sys.exit(128 + number)


def _host(number: int) -> str:
    """An address of its own for each node where loopback has many, so that Spark sees different hosts."""
    own = f"127.0.0.{number + 1}"
    with socket.socket() as trial:
        try:
            trial.bind((own, 0))
        except OSError:
            return _LOOPBACK
    return own


def _check(*, nodes: int, cores_per_node: int, memory_mb: int, quota: float | None, initial: int) -> None:
    if not 1 <= nodes <= 200:
        raise UserMistake(f"nodes={nodes} is not possible; give 1 to 200")
    if cores_per_node < 1:
        raise UserMistake(f"cores_per_node={cores_per_node} is too small; give 1 or more")
    if memory_mb < LEAST_MEMORY_MB:
        raise UserMistake(f"memory_mb={memory_mb} is too small; Spark refuses less than {LEAST_MEMORY_MB}")
    if not 1 <= initial <= nodes:
        raise UserMistake(f"initial={initial} is not possible with {nodes} nodes; give 1 to {nodes}")
    if quota is not None and not 0.05 <= quota <= 64:
        raise UserMistake(f"quota={quota:g} is not possible; give the cores of a node, from 0.05 up, or none")
