"""Operators of an app file: started downstream first, fed, watched to their end, and their sinks audited."""

from __future__ import annotations

import contextlib
import json
import time
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.streaming.query import StreamingQuery

from headgate.config import AppFile, OperatorTable, SinkTable, StreamTable, upstream_first
from headgate.spark.audit import Audit, audit_sequences
from headgate.spark.operators import Operator
from headgate.spark.sinks import DeltaSink, ParquetSink, Sink, TablesSink
from headgate.spark.trace_options import TraceOptions
from headgate.spark.trace_source import trace_stream
from headgate.wiring.completion import Completion, Offsets, Step
from headgate.wiring.controller_process import Say
from headgate.wiring.embedded import trace_options
from headgate.wiring.flow import Account
from headgate.wiring.functions import Transform, operator_function
from headgate.wiring.loads import load_of
from headgate.wiring.operators import operator
from headgate.wiring.run_note import CHECKPOINTS, sink_path

if TYPE_CHECKING:
    from headgate.wiring.kafka_side import KafkaSide

_STREAM = "stream"


class OperatorFlow:
    """The operators of an app, with the topics or the embedded stream that they read."""

    def __init__(self, app: AppFile, *, say: Say) -> None:
        self._app = app
        self._say = say
        self._tables = upstream_first(app.operators)
        self._functions: dict[str, Transform] = {}
        self._trace: TraceOptions | None = None
        self._trace_records = 0
        self._trace_ends_at_s = 0.0
        self._completion: Completion | None = None
        self.kafka: KafkaSide | None = None
        self.operators: list[Operator] = []
        self.queries: list[StreamingQuery] = []

    @property
    def connectors(self) -> Mapping[str, bool]:
        delta = any(table.sink is not None and table.sink.needs_delta for table in self._tables)
        return {"kafka": self._app.uses_kafka, "delta": delta}

    @property
    def conf(self) -> Mapping[str, str]:
        """Queries of one app share its executors, so a long batch of one must not keep the others waiting."""
        return {"spark.scheduler.mode": "FAIR"}

    @property
    def attached(self) -> Sequence[Operator]:
        return self.operators

    @property
    def ends_at_s(self) -> float | None:
        if self._trace is not None:
            return self._trace_ends_at_s
        return None if self.kafka is None else self.kafka.ends_at_s

    def prepare(self, stack: contextlib.ExitStack) -> None:
        self._functions = {table.name: operator_function(table, folder=self._app.folder) for table in self._tables}
        if self._app.uses_kafka:
            self.kafka = _kafka_side(self._app, self._say)
            self.kafka.open(stack)

    def start(self, session: SparkSession) -> None:
        """Downstream first, so that what one writes is awaited by the next."""
        if self._app.stream is not None:
            self._schedule(self._app.stream)
        for table in reversed(self._tables):
            started = self._start(session, table)
            self.operators.insert(0, started)
            self.queries.insert(0, started.query)
        steps = [
            Step(name=table.name, reads=table.reads, checkpoint=self._checkpoint(table), trigger_s=table.trigger_s)
            for table in self._tables
        ]
        starts = {} if self.kafka is None else self.kafka.note.starts
        self._completion = Completion(steps, starts=starts, ends=self._ends, now_s=time.monotonic)

    def _schedule(self, table: StreamTable) -> None:
        """The embedded stream begins now, or goes on since it did."""
        self._trace = trace_options(table, folder=self._app.folder)
        curve = self._trace.curve()
        self._trace_records = int(curve[-1])
        self._trace_ends_at_s = self._trace.start_time_s + len(curve) - 1

    def _start(self, session: SparkSession, table: OperatorTable) -> Operator:
        wishes: dict[str, Any] = {}
        if table.watermark_s is not None:
            wishes["watermark_s"] = table.watermark_s
        return operator(
            session,
            name=table.name,
            transform=self._functions[table.name],
            checkpoint=self._checkpoint(table),
            reads=() if table.reads_stream else table.reads,
            source=self._source(session, table) if table.reads_stream else None,
            writes=table.writes,
            sink=None if table.sink is None else make_sink(table.sink, path=sink_path(self._app, table.sink.path)),
            kafka=None if self.kafka is None else self.kafka.settings,
            scalable=table.scalable,
            parallelism=table.parallelism,
            max_parallelism=table.max_parallelism,
            trigger_s=table.trigger_s,
            records_per_trigger=None if table.reads_stream else table.records_per_trigger,
            starting=self._starting(table),
            output_mode=table.output_mode,
            deduplicate=table.deduplicate,
            **wishes,
        )

    def _source(self, session: SparkSession, table: OperatorTable) -> DataFrame:
        assert self._trace is not None
        limit = table.records_per_trigger or self._trace.records_per_trigger
        return trace_stream(session, replace(self._trace, records_per_trigger=limit))

    def _starting(self, table: OperatorTable) -> str:
        if self.kafka is None or table.reads_stream:
            return table.starting
        return json.dumps({topic: self.kafka.note.starts[topic] for topic in table.reads})

    def _checkpoint(self, table: OperatorTable) -> Path:
        return self._app.folder / CHECKPOINTS / table.name

    def begin(self, stack: contextlib.ExitStack) -> None:
        if self.kafka is not None:
            self.kafka.produce(stack)

    def finished(self) -> bool:
        assert self._completion is not None
        if self._trace is not None and time.time() < self._trace_ends_at_s:
            return False
        if self.kafka is not None and not self.kafka.all_produced():
            return False
        if self._trace is None and (self.kafka is None or not self.kafka.produces):
            # Others fill the topics, and only they know when that is over.
            return False
        return self._completion.reached()

    def _ends(self, topics: Sequence[str]) -> Offsets:
        if topics == (_STREAM,):
            return {_STREAM: {0: self._trace_records}}
        assert self.kafka is not None
        return self.kafka.ends(topics)

    def account(self) -> Account:
        assert self._completion is not None
        return Account(
            produced={} if self.kafka is None else self.kafka.produced(),
            taken=self._completion.taken(),
            left=self._completion.left,
        )

    def audits(self, *, complete: bool) -> Mapping[str, Audit]:
        found = {}
        for table in self._tables:
            if table.sink is None or not table.sink.audit:
                continue
            sent = self._sent_to(table)
            path = Path(sink_path(self._app, table.sink.path))
            if sent is not None and path.is_dir():
                expected, whole = sent
                audit = audit_sequences(path, expected=expected, complete=complete and whole)
                if audit is not None:
                    found[table.name] = audit
        return found

    def _sent_to(self, table: OperatorTable) -> tuple[int, bool] | None:
        """Records that should reach a sink and whether all were sent, if they have one numbering."""
        origins = self._origins(table)
        if origins == {_STREAM}:
            return self._trace_records, True
        if self.kafka is not None and len(origins) == 1 and origins <= set(self.kafka.note.produced):
            return self.kafka.note.produced[next(iter(origins))], self.kafka.note.whole
        return None

    def _origins(self, table: OperatorTable) -> set[str]:
        """The topics at the far end of an operator's inputs."""
        writers = {each.writes: each for each in self._tables if each.writes is not None}
        return set().union(*(self._origins(writers[topic]) if topic in writers else {topic} for topic in table.reads))

    def extra(self) -> dict[str, Any]:
        kinds = [("Kafka", self._app.uses_kafka), ("Spark", True)]
        seeds = [producer.seed for producer in self._app.producers]
        extra: dict[str, Any] = {
            "scenario": "real " + " and ".join(name for name, used in kinds if used),
            "seed": self._app.stream.seed if self._app.stream is not None else seeds[0] if seeds else 0,
        }
        load = load_of(self._app)
        return extra if load is None else extra | {"workload": load}


def make_sink(table: SinkTable, *, path: str) -> Sink:
    match table.format:
        case "parquet":
            return ParquetSink(path)
        case "delta":
            return DeltaSink(path)
        case "tables":
            return TablesSink(path, by=table.by, format=table.tables)


def _kafka_side(app: AppFile, say: Say) -> KafkaSide:
    """Imported only here, because an app on the embedded stream needs no client of Kafka."""
    from headgate.wiring.kafka_side import KafkaSide

    return KafkaSide(app, say=say)
