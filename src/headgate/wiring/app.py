"""An app file brought to life: cluster, session, stream, agent and controller, and all of it ended again."""

from __future__ import annotations

import contextlib
import threading
from collections.abc import Mapping
from pathlib import Path
from types import TracebackType
from typing import Any, Self

from pyspark.sql import SparkSession
from pyspark.sql.streaming.query import StreamingQuery

from headgate.config import AppFile
from headgate.core.status import Controls
from headgate.errors import Permanent, UserMistake
from headgate.spark.audit import Audit
from headgate.spark.cluster import LocalCluster
from headgate.spark.connectors import connector_settings
from headgate.wiring.attachment import Scaler, ServedAgent, attach, serve
from headgate.wiring.controller_process import ControllerProcess, Say
from headgate.wiring.flow import Account
from headgate.wiring.session import open_session
from headgate.wiring.streams import make_flow


class RunningApp:
    """A started app; leaving its ``with`` block ends the controller, the queries, the cluster and the broker."""

    def __init__(self, app: AppFile, *, say: Say) -> None:
        self.app = app
        self.flow = make_flow(app, say=say)
        self._say = say
        self._stack = contextlib.ExitStack()
        self._scaler: Scaler | None = None
        self._controller: ControllerProcess | None = None
        self.cluster: LocalCluster | None = None
        """The embedded one, where the app does not name another master."""

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
        self.app.folder.mkdir(parents=True, exist_ok=True)
        self.flow.prepare(self._stack)
        session = self._session()
        self._stack.callback(self._stop_queries)
        self.flow.start(session)
        if self.app.controller.process == "thread":
            self._attach()
        else:
            self._serve()
        self.flow.begin(self._stack)

    def _session(self) -> SparkSession:
        table = self.app.cluster
        wanted = self.flow.connectors
        kafka, delta = wanted.get("kafka", False), wanted.get("delta", False)
        conf = {**self.flow.conf, **table.conf}
        if table.master is not None:
            settings = {**connector_settings(kafka=kafka, delta=delta), **conf}
            builder = SparkSession.builder.master(table.master).appName(self.app.name)
            for key, value in {"spark.ui.showConsoleProgress": "false", **settings}.items():
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
        self.cluster = self._stack.enter_context(cluster)
        if cluster.reclaimed.clusters:
            self._say(cluster.reclaimed.summary)
        self._say(cluster.quota_note)
        return open_session(self.app.name, cluster=cluster, kafka=kafka, delta=delta, conf=conf)

    def _attach(self) -> None:
        table = self.app.controller
        self._scaler = attach(
            self.flow.attached,
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
        served: ServedAgent = serve(self.flow.attached, executors=self.app.controller.executors, app=self.app.name)
        self._stack.enter_context(served)
        self._controller = ControllerProcess(self.app, journal=self.journal, say=self._say, extra=self.extra())
        self._stack.enter_context(self._controller)

    def extra(self) -> dict[str, Any]:
        """What the journal should say about this run beside its decisions."""
        return {"slo_latency_s": self.app.slo_latency_s, **self.flow.extra()}

    @property
    def queries(self) -> list[StreamingQuery]:
        return self.flow.queries

    def _stop_queries(self) -> None:
        for query in self.queries:
            with contextlib.suppress(Exception):
                query.stop()

    @property
    def journal(self) -> Path:
        return self.app.folder / f"{self.app.name}.db"

    @property
    def ends_at_s(self) -> float | None:
        """When the last record arrives, if that is known."""
        return self.flow.ends_at_s

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
            for query in self.queries:
                error = None if query.isActive else query.exception()
                if error is not None:
                    first = str(error).splitlines()[0]
                    raise Permanent(f"query '{query.name}' of app '{self.app.name}' failed: {first}")
            if not any(query.isActive for query in self.queries):
                return
            if self._controller is not None and self._controller.refusal is not None:
                raise UserMistake(self._controller.refusal)
            if self.flow.finished():
                return

    def restarts(self) -> int:
        """How often a query had to be started again, judged by the run ids in its progress."""
        return sum(
            len({str(progress.runId) for progress in query.recentProgress} - {str(query.runId)})
            for query in self.queries
        )

    def account(self) -> Account:
        """What went through it, while it is still there to be asked."""
        return self.flow.account()

    def audits(self, *, complete: bool) -> Mapping[str, Audit]:
        """What is in each sink, compared with what was sent; to be asked when it has ended."""
        return self.flow.audits(complete=complete)
