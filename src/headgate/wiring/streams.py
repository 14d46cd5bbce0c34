"""The kinds of apps: the embedded stream alone, the user's own pipeline, and operators."""

from __future__ import annotations

import contextlib
from collections.abc import Mapping, Sequence
from typing import Any

from pyspark.sql import SparkSession
from pyspark.sql.streaming.query import StreamingQuery

from headgate.config import AppFile, PipelineTable, StreamTable
from headgate.errors import UserMistake
from headgate.spark.audit import Audit, audit_parquet
from headgate.wiring.controller_process import Say
from headgate.wiring.embedded import TraceStream, start_trace_stream, trace_options
from headgate.wiring.flow import Account, Flow
from headgate.wiring.operator_flow import OperatorFlow
from headgate.wiring.pipeline import start_pipeline


def make_flow(app: AppFile, *, say: Say) -> Flow:
    if app.consumers is not None:
        raise UserMistake(f"app '{app.name}' is a consumer group; start it with `headgate consumers up --app FILE`")
    if app.operators:
        return OperatorFlow(app, say=say)
    if app.stream is not None:
        return EmbeddedFlow(app, app.stream)
    assert app.pipeline is not None
    return PipelineFlow(app, app.pipeline)


class PipelineFlow:
    """The user's own queries, which end when they want to."""

    def __init__(self, app: AppFile, table: PipelineTable) -> None:
        self.queries: list[StreamingQuery] = []
        self.connectors: Mapping[str, bool] = {}
        self.conf: Mapping[str, str] = {}
        self.ends_at_s: float | None = None
        self._app = app
        self._table = table

    @property
    def attached(self) -> Sequence[StreamingQuery]:
        return self.queries

    def prepare(self, stack: contextlib.ExitStack) -> None:
        pass

    def start(self, session: SparkSession) -> None:
        self.queries = start_pipeline(self._table, session, folder=self._app.folder)

    def begin(self, stack: contextlib.ExitStack) -> None:
        pass

    def finished(self) -> bool:
        return False

    def account(self) -> Account:
        return Account()

    def audits(self, *, complete: bool) -> Mapping[str, Audit]:  # noqa: ARG002 - the user's sinks are the user's
        return {}

    def extra(self) -> dict[str, Any]:
        return {}


class EmbeddedFlow:
    """The embedded stream with work of its own and a sink that can be audited."""

    def __init__(self, app: AppFile, table: StreamTable) -> None:
        self.queries: list[StreamingQuery] = []
        self.connectors: Mapping[str, bool] = {}
        self.conf: Mapping[str, str] = {}
        self._app = app
        self._table = table
        self._stream: TraceStream | None = None

    @property
    def attached(self) -> Sequence[StreamingQuery]:
        return self.queries

    @property
    def ends_at_s(self) -> float | None:
        return None if self._stream is None else self._stream.ends_at_s

    def prepare(self, stack: contextlib.ExitStack) -> None:
        pass

    def start(self, session: SparkSession) -> None:
        self._stream = start_trace_stream(
            session,
            trace_options(self._table, folder=self._app.folder),
            name=self._app.name,
            folder=self._app.folder,
            trigger_s=self._table.trigger_s,
            cost_us=self._table.cost_us,
        )
        self.queries = [self._stream.query]

    def begin(self, stack: contextlib.ExitStack) -> None:
        pass

    def finished(self) -> bool:
        return self._stream is not None and self._stream.finished()

    def account(self) -> Account:
        return Account()

    def audits(self, *, complete: bool) -> Mapping[str, Audit]:
        if self._stream is None:
            return {}
        expected = self._stream.total_records if complete else None
        return {self._app.name: audit_parquet(self._stream.sink, expected=expected)}

    def extra(self) -> dict[str, Any]:
        return {"workload": self._table.workload, "scenario": "real Spark", "seed": self._table.seed}
