"""Operators: streaming queries that Headgate starts, and whose parallelism it can therefore set.

A stateless operator reads raw records, cuts each micro-batch into as many tasks as its parallelism says at that
moment, and only then transforms them: the next batch follows a new setting, in the same run of the same query. A
stateful one has its state in partitions that its first batch fixes for good, so it has ``max_parallelism`` of them
from the start and follows the executors.

Knows Spark only: topics are names, and how brokers are reached is in the options that it is given.
"""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

from py4j.protocol import Py4JError
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.functions import col, get_json_object, lit, pmod
from pyspark.sql.streaming.query import StreamingQuery

from headgate.errors import UserMistake
from headgate.spark.checkpoints import STATE_PARTITIONS, state_partitions
from headgate.spark.sinks import Sink, TopicSink, check_message

log = logging.getLogger(__name__)

Transform = Callable[[DataFrame], DataFrame]

OUTPUT_MODES = ("append", "update", "complete")
_POOL = "spark.scheduler.pool"
_SHARED_POOL = "operators"
_starting = threading.Lock()
"""Settings of a session are copied when a query starts, so only one may change them at a time."""


@dataclass(frozen=True, slots=True, kw_only=True)
class OperatorPlan:
    """What an operator is, before it runs."""

    name: str
    transform: Transform
    checkpoint: str | Path
    reads: tuple[str, ...] = ()
    source: DataFrame | None = None
    """A stream to read instead of topics."""
    writes: str | None = None
    sink: Sink | None = None
    topic_options: Mapping[str, str] = field(default_factory=dict, repr=False)
    """How Spark reaches the brokers, for its source and its sink."""
    scalable: bool = True
    parallelism: int = 1
    max_parallelism: int = 8
    trigger_s: float = 1.0
    records_per_trigger: int | None = None
    starting: str = "earliest"
    output_mode: str = "append"
    deduplicate: tuple[str, ...] = ()
    watermark_s: float = 600.0

    def __post_init__(self) -> None:
        who = f"operator '{self.name}'"
        if not self.name:
            raise UserMistake("an operator needs a name; give name=")
        if (self.source is None) == (not self.reads):
            raise UserMistake(f"{who} must read topics or a stream: give either reads= or source=")
        if self.source is not None and not self.source.isStreaming:
            raise UserMistake(f"{who} was given a source that is no stream; make it with spark.readStream")
        if (self.writes is None) == (self.sink is None):
            raise UserMistake(f"{who} must write to a topic or into a sink: give either writes= or sink=")
        if self.max_parallelism < 1 or not 1 <= self.parallelism <= self.max_parallelism:
            raise UserMistake(
                f"{who}: parallelism={self.parallelism} with max_parallelism={self.max_parallelism} is not possible; "
                "give 1 ≤ parallelism ≤ max_parallelism"
            )
        if self.trigger_s < 0 or self.watermark_s <= 0:
            raise UserMistake(f"{who}: trigger_s must be 0 or more and watermark_s above 0")
        if self.records_per_trigger is not None and self.records_per_trigger < 1:
            raise UserMistake(f"{who}: records_per_trigger={self.records_per_trigger} is too small; give 1 or more")
        if self.output_mode not in OUTPUT_MODES:
            raise UserMistake(f"{who}: output_mode={self.output_mode!r}; give one of {', '.join(OUTPUT_MODES)}")
        if self.scalable and self.deduplicate:
            raise UserMistake(f"{who} cannot remember what it has seen; give scalable=False to de-duplicate")
        if self.writes is not None and self.writes in self.reads:
            raise UserMistake(f"{who} writes to topic '{self.writes}', which it reads; give it an output of its own")


class Operator:
    """A running operator."""

    def __init__(self, plan: OperatorPlan, *, max_parallelism: int) -> None:
        self._plan = plan
        self._max_parallelism = max_parallelism
        self._parallelism = plan.parallelism if plan.scalable else max_parallelism
        self._query: StreamingQuery | None = None

    @property
    def name(self) -> str:
        return self._plan.name

    @property
    def query(self) -> StreamingQuery:
        assert self._query is not None
        return self._query

    @property
    def reads(self) -> tuple[str, ...]:
        return self._plan.reads

    @property
    def writes(self) -> str | None:
        return self._plan.writes

    @property
    def topic_options(self) -> Mapping[str, str]:
        """How Spark reaches the brokers; may hold secrets."""
        return self._plan.topic_options

    @property
    def scalable(self) -> bool:
        return self._plan.scalable

    @property
    def parallelism(self) -> int:
        """Tasks that the next micro-batch is cut into; those of its state, if the operator has one."""
        return self._parallelism

    @property
    def max_parallelism(self) -> int:
        return self._max_parallelism

    def set_parallelism(self, parallelism: int) -> None:
        """Cut the following micro-batches into that many tasks; the query runs on."""
        if not self.scalable:
            raise UserMistake(
                f"operator '{self.name}' has state in {self.max_parallelism} partitions, so its parallelism is fixed; "
                "change the executors instead"
            )
        if not 1 <= parallelism <= self.max_parallelism:
            raise UserMistake(
                f"operator '{self.name}' cannot have parallelism {parallelism}; give 1 to {self.max_parallelism}"
            )
        self._parallelism = parallelism

    def stop(self) -> None:
        """End the query; its checkpoint stays, and an operator that is started with it goes on from there."""
        self.query.stop()
        _forget(self)

    def _start(self, spark: SparkSession) -> None:
        # Spark interrupts a batch to stop its query, which py4j would report as a fault of the batch.
        logging.getLogger("py4j.clientserver").addFilter(_is_fault)
        plan, checkpoint = self._plan, str(self._plan.checkpoint)
        raw = plan.source if plan.source is not None else _read_topics(spark, plan)
        stream = raw if plan.scalable else plan.transform(_without_doubles(raw, plan))
        if plan.writes is not None:
            empty = spark.createDataFrame([], raw.schema)
            result = plan.transform(empty) if plan.scalable else stream
            check_message(result, operator=self.name, topic=plan.writes)
        writer = (
            stream.writeStream.queryName(self.name)
            .outputMode(plan.output_mode)
            .foreachBatch(self._batch_writer(spark))
            .option("checkpointLocation", checkpoint)
            .trigger(processingTime=f"{round(plan.trigger_s * 1000)} milliseconds")
        )
        with _starting, _setting(spark, STATE_PARTITIONS, str(self.max_parallelism)):
            if any(query.name == self.name for query in spark.streams.active):
                raise UserMistake(f"an operator or query called '{self.name}' is running already; stop it first")
            self._query = writer.start()
        _remember(self)

    def _batch_writer(self, spark: SparkSession) -> Callable[[DataFrame, int], None]:
        context, plan = spark.sparkContext, self._plan
        takes_turns = context.getConf().get("spark.scheduler.mode", "FIFO") == "FAIR"
        sink: Sink | None = plan.sink
        if plan.writes is not None:
            sink = TopicSink(plan.writes, plan.topic_options)
        assert sink is not None

        def write(batch: DataFrame, batch_id: int) -> None:
            if takes_turns:
                context.setLocalProperty(_POOL, _pool(plan.name, slots=context.defaultParallelism))
            result = plan.transform(spread(batch, self._parallelism)) if plan.scalable else batch
            sink.write(result, batch_id)

        return write


def start_operator(spark: SparkSession, plan: OperatorPlan) -> Operator:
    """Start an operator, or go on with one from its checkpoint."""
    most = plan.max_parallelism
    if not plan.scalable:
        fixed = state_partitions(spark, str(plan.checkpoint))
        if fixed is not None and fixed != most:
            log.warning(
                "operator '%s' keeps the %d state partitions of its first batch, although max_parallelism=%d: start it "
                "with a new checkpoint to change them",
                plan.name,
                fixed,
                most,
            )
            most = fixed
    operator = Operator(plan, max_parallelism=most)
    operator._start(spark)
    return operator


_running: dict[str, Operator] = {}
_register = threading.Lock()


def operator_of(query: StreamingQuery) -> Operator | None:
    """The operator that a query of this process was started as; ``None`` for any other query."""
    with _register:
        return _running.get(str(query.runId))


def started_operators() -> list[Operator]:
    """The operators that were started in this process and not stopped through ``Operator.stop``."""
    with _register:
        return list(_running.values())


def _pool(operator: str, *, slots: int) -> str:
    """Where an operator's next batch waits for slots.

    A pool each, so that a long batch of one operator leaves the others their share. But of pools that have nothing
    running Spark takes the first by name: with fewer slots than operators, those last in the alphabet would wait for
    ever. There they share a pool, in which whoever came first is first.
    """
    with _register:
        operators = len(_running)
    return operator if slots >= operators else _SHARED_POOL


def _remember(operator: Operator) -> None:
    with _register:
        for run_id in [run_id for run_id, known in _running.items() if not _runs(known)]:
            del _running[run_id]
        _running[str(operator.query.runId)] = operator


def _runs(operator: Operator) -> bool:
    try:
        return operator.query.isActive
    except (Py4JError, OSError):
        # Its session has ended, and Java with it.
        return False


def _forget(operator: Operator) -> None:
    with _register:
        _running.pop(str(operator.query.runId), None)


def _is_fault(record: logging.LogRecord) -> bool:
    return record.exc_info is None or "Interrupted" not in str(record.exc_info[1])


def _read_topics(spark: SparkSession, plan: OperatorPlan) -> DataFrame:
    reader = spark.readStream.format("kafka").options(**plan.topic_options)
    reader = reader.option("subscribe", ",".join(plan.reads)).option("startingOffsets", plan.starting)
    if plan.records_per_trigger is not None:
        reader = reader.option("maxOffsetsPerTrigger", plan.records_per_trigger)
    return reader.load()


def _without_doubles(raw: DataFrame, plan: OperatorPlan) -> DataFrame:
    """Records whose identity was not seen within the watermark.

    Doubles come from tasks that ran again, so they follow the first within moments of the clock that stamps records
    in topics; event times may lie anywhere.
    """
    if not plan.deduplicate:
        return raw
    text = col("value").cast("string")
    marked, fields = raw, []
    for name in plan.deduplicate:
        if name not in raw.columns:
            marked = marked.withColumn(f"_{name}", get_json_object(text, f"$.{name}"))
            name = f"_{name}"
        fields.append(name)
    distinct = marked.withWatermark("timestamp", f"{plan.watermark_s} seconds").dropDuplicatesWithinWatermark(fields)
    return distinct.select(*raw.columns)


def spread(batch: DataFrame, tasks: int) -> DataFrame:
    """A batch dealt out evenly to that many tasks; tasks that run again deal out the same.

    Offsets in turn need no sort and come out even (a hash of 60 records gave 11 to 19 to each of four tasks). Elsewhere
    Spark deals out rows in turn, for which it sorts them first.
    """
    if hasattr(batch, "repartitionById") and {"partition", "offset"} <= set(batch.columns):
        turn = pmod(col("offset") + col("partition"), lit(tasks))
        return batch.repartitionById(tasks, turn.cast("int"))
    return batch.repartition(tasks)


@contextmanager
def _setting(spark: SparkSession, name: str, value: str) -> Iterator[None]:
    before = spark.conf.get(name, None)
    spark.conf.set(name, value)
    try:
        yield
    finally:
        if before is None:
            spark.conf.unset(name)
        else:
            spark.conf.set(name, before)
