"""An app file brought to life: cluster, session, stream, agent and controller, and all of it ended again."""

from __future__ import annotations

import contextlib
import json
import logging
import subprocess
import sys
import threading
from collections.abc import Callable
from pathlib import Path
from types import TracebackType
from typing import Any, Self

from pyspark.sql import SparkSession
from pyspark.sql.streaming.query import StreamingQuery

from headgate.config import AppFile, StreamTable
from headgate.core.status import Controls, Status
from headgate.errors import Permanent, UserMistake
from headgate.link import ControlClient, find
from headgate.spark.audit import Audit, audit_parquet
from headgate.spark.cluster import LocalCluster
from headgate.spark.trace_options import TraceOptions
from headgate.wiring.attachment import Scaler, ServedAgent, attach, serve
from headgate.wiring.embedded import TraceStream, start_time, start_trace_stream
from headgate.wiring.pipeline import start_pipeline

log = logging.getLogger("headgate")

Say = Callable[[str], None]

_USERS_MISTAKE = 2
"""The exit code of a command that was told something impossible."""


class RunningApp:
    """A started app; leaving its ``with`` block ends the controller, the queries and the cluster."""

    def __init__(self, app: AppFile, *, say: Say) -> None:
        self.app = app
        self._say = say
        self._stack = contextlib.ExitStack()
        self._scaler: Scaler | None = None
        self._controller: _ControllerProcess | None = None
        self.queries: list[StreamingQuery] = []
        self.stream: TraceStream | None = None

    def __enter__(self) -> Self:
        try:
            self._start()
        except BaseException:
            self._stack.close()
            raise
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._stack.close()

    def _start(self) -> None:
        app = self.app
        app.folder.mkdir(parents=True, exist_ok=True)
        session = self._session()
        if app.stream is not None:
            self.stream = _start_stream(app, app.stream, session)
            self.queries = [self.stream.query]
        else:
            assert app.pipeline is not None
            self.queries = start_pipeline(app.pipeline, session, folder=app.folder)
        self._stack.callback(self._stop_queries)
        if app.controller.process == "thread":
            self._attach()
        else:
            self._serve()

    def _session(self) -> SparkSession:
        table = self.app.cluster
        if table.master is not None:
            builder = SparkSession.builder.master(table.master).appName(self.app.name)
            for key, value in {"spark.ui.showConsoleProgress": "false", **table.conf}.items():
                builder = builder.config(key, value)
            session = builder.getOrCreate()
            self._stack.callback(session.stop)
            return session
        self._say(f"starting a Spark cluster of {table.nodes} nodes on this machine …")
        cluster = LocalCluster(
            nodes=table.nodes,
            cores_per_node=table.cores,
            memory_mb=table.memory_mb,
            quota=table.quota,
            initial=table.initial,
        )
        self._stack.enter_context(cluster)
        if cluster.reclaimed.clusters:
            self._say(cluster.reclaimed.summary)
        self._say(cluster.quota_note)
        return cluster.session(self.app.name, table.conf)

    def _attach(self) -> None:
        table = self.app.controller
        self._scaler = attach(
            self.queries,
            policy=table.policy,
            executors=table.executors,
            guards=table.guards,
            dry_run=table.dry_run,
            journal=self.journal,
            app=self.app.name,
            sampling_interval_s=table.sampling_interval_s,
            retention_s=table.retention_s,
            port=table.port,
            extra=self.extra(),
        )
        self._stack.enter_context(self._scaler)

    def _serve(self) -> None:
        served: ServedAgent = serve(self.queries, executors=self.app.controller.executors, app=self.app.name)
        self._stack.enter_context(served)
        self._controller = _ControllerProcess(self.app, journal=self.journal, say=self._say, extra=self.extra())
        self._stack.enter_context(self._controller)

    def extra(self) -> dict[str, Any]:
        """What the journal should say about this run beside its decisions."""
        extra: dict[str, Any] = {"slo_latency_s": self.app.slo_latency_s}
        if self.app.stream is not None:
            extra |= {"workload": self.app.stream.workload, "scenario": "real Spark", "seed": self.app.stream.seed}
        return extra

    def _stop_queries(self) -> None:
        for query in self.queries:
            with contextlib.suppress(Exception):
                query.stop()

    @property
    def journal(self) -> Path:
        return self.app.folder / f"{self.app.name}.db"

    @property
    def controls(self) -> Controls:
        """The levers, wherever the controller runs."""
        if self._scaler is not None:
            return self._scaler
        assert self._controller is not None
        return self._controller

    def wait(self, *, stop: threading.Event) -> None:
        """Until a bounded stream has been worked off, the queries end, or it is told to stop."""
        while not stop.wait(0.5):
            failed = [query.exception() for query in self.queries if not query.isActive and query.exception()]
            if failed:
                first = str(failed[0]).splitlines()[0]
                raise Permanent(f"query of app '{self.app.name}' failed: {first}")
            if not any(query.isActive for query in self.queries):
                return
            if self._controller is not None and self._controller.refusal is not None:
                raise UserMistake(self._controller.refusal)
            if self.stream is not None and self.stream.finished():
                return

    def restarts(self) -> int:
        """How often a query had to be started again, judged by the run ids in its progress."""
        return sum(
            len({str(progress.runId) for progress in query.recentProgress} - {str(query.runId)})
            for query in self.queries
        )

    def audit(self, *, complete: bool) -> Audit | None:
        """What is in the sink of an embedded stream, compared with what was sent."""
        if self.stream is None:
            return None
        return audit_parquet(self.stream.sink, expected=self.stream.total_records if complete else None)


class _ControllerProcess:
    """The controller as a process of its own, started again when it dies; the stream does not notice."""

    def __init__(self, app: AppFile, *, journal: Path, say: Say, extra: dict[str, Any]) -> None:
        self._app = app
        self._journal = journal
        self._say = say
        self._extra = extra
        self._log = app.folder / "controller.log"
        self.refusal: str | None = None
        """Why it cannot work as it is told to; starting it again would not help."""
        self._stop = threading.Event()
        self._process: subprocess.Popen[bytes] | None = None
        self._thread = threading.Thread(target=self._supervise, name="headgate-controller", daemon=True)

    def __enter__(self) -> Self:
        self._process = self._spawn()
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._stop.set()
        self._thread.join()
        if self._process is not None:
            _let_go(self._process)
            try:
                self._process.wait(timeout=10)
            except subprocess.TimeoutExpired:
                self._process.kill()
                self._process.wait()

    def _spawn(self) -> subprocess.Popen[bytes]:
        table = self._app.controller
        command = [sys.executable, "-m", "headgate", "control", "--app", self._app.name, "--policy", table.policy]
        command += ["--journal", str(self._journal), "--sampling-interval", str(table.sampling_interval_s)]
        command += [word for guard in table.guards for word in ("--guard", guard)]
        command += ["--port", str(table.port)]
        command += ["--follow-stdin", "--extra", json.dumps(self._extra)]
        command += ["--dry-run"] if table.dry_run else []
        command += ["--retention", str(table.retention_s)] if table.retention_s is not None else []
        with self._log.open("ab") as log_file:
            # In a session of its own, because a Ctrl-C is this process's to answer: it lets go when it is time.
            return subprocess.Popen(
                command, stdin=subprocess.PIPE, stdout=log_file, stderr=log_file, start_new_session=True
            )

    def _supervise(self) -> None:
        while not self._stop.wait(1.0):
            if self._process is not None and self._process.poll() is not None:
                if self._process.returncode == _USERS_MISTAKE:
                    self.refusal = _last_line(self._log)
                    return
                self._say(
                    f"the controller process ended with code {self._process.returncode}; the stream goes on at its "
                    "size, and a new controller is started"
                )
                _let_go(self._process)
                self._process = self._spawn()

    def _reach(self) -> contextlib.closing[ControlClient]:
        """Anew each time: the controller that answered last may have died since."""
        entry = find("controller", self._app.name)
        return contextlib.closing(ControlClient(entry.address, entry.token))

    def status(self) -> Status:
        with self._reach() as controls:
            return controls.status()

    def pause(self) -> None:
        with self._reach() as controls:
            controls.pause()

    def resume(self) -> None:
        with self._reach() as controls:
            controls.resume()

    def pin(self, executors: int) -> None:
        with self._reach() as controls:
            controls.pin(executors)

    def unpin(self) -> None:
        with self._reach() as controls:
            controls.unpin()


def _last_line(path: Path) -> str:
    lines = path.read_text(encoding="utf-8", errors="replace").strip().splitlines()
    return lines[-1].removeprefix("headgate: ") if lines else f"the controller was refused; see {path}"


def _let_go(process: subprocess.Popen[bytes]) -> None:
    """Close its standard input, which it takes as the request to end."""
    if process.stdin is not None:
        process.stdin.close()


def _start_stream(app: AppFile, table: StreamTable, session: SparkSession) -> TraceStream:
    options = TraceOptions(
        workload=table.workload,
        start_time_s=start_time(app.folder),
        peak=table.peak,
        duration_s=table.duration_s,
        time_scale=table.time_scale,
        seed=table.seed,
        process=table.process,
        partitions=table.partitions,
        records_per_trigger=table.records_per_trigger,
    )
    return start_trace_stream(
        session, options, name=app.name, folder=app.folder, trigger_s=table.trigger_s, cost_us=table.cost_us
    )
