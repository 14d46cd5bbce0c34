"""The whole app file, and what its tables must agree on."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from pathlib import Path

from pydantic import Field, model_validator

from headgate.config.consumers import ConsumersTable
from headgate.config.flow import STREAM, OperatorTable, StreamTable, upstream_first
from headgate.config.kafka import PARTITIONS, KafkaTable, ProducerTable, TopicTable
from headgate.config.table import Seconds, Table
from headgate.config.tables import ClusterTable, ControllerTable, PipelineTable
from headgate.errors import nearest


class AppFile(Table):
    """One app: a pipeline, the cluster it runs on, and its controller."""

    name: str = Field(min_length=1, max_length=100, pattern=r"^[\w.-]+$")
    folder: Path = Field(Path(), description="for journal, checkpoints and sinks")
    slo_latency_s: Seconds = Field(10.0, description="latency that a record should stay under")
    cluster: ClusterTable = ClusterTable()
    stream: StreamTable | None = None
    pipeline: PipelineTable | None = None
    kafka: KafkaTable = KafkaTable()
    topics: tuple[TopicTable, ...] = ()
    operators: tuple[OperatorTable, ...] = ()
    consumers: ConsumersTable | None = None
    producers: tuple[ProducerTable, ...] = ()
    controller: ControllerTable = ControllerTable()

    @property
    def uses_kafka(self) -> bool:
        return any(operator.writes is not None or not operator.reads_stream for operator in self.operators)

    @property
    def all_topics(self) -> tuple[TopicTable, ...]:
        """Those that are listed, and those that producers fill without their being listed."""
        listed = {topic.name for topic in self.topics}
        produced = dict.fromkeys(producer.topic for producer in self.producers)
        return (
            *self.topics,
            *(TopicTable(name=name, partitions=PARTITIONS) for name in produced if name not in listed),
        )

    def shortened(self, duration_s: float) -> AppFile:
        """The same app with streams and producers that end after so many seconds."""
        change = {"duration_s": duration_s}
        stream = self.stream.model_copy(update=change) if self.stream is not None else None
        producers = tuple(producer.model_copy(update=change) for producer in self.producers)
        return self.model_copy(update={"stream": stream, "producers": producers})

    @model_validator(mode="after")
    def _agrees(self) -> AppFile:
        _one_kind(self)
        if self.operators:
            _names_are_unique(self)
            _stream_fits(self)
            _topics_fit(self)
            _sinks_are_apart(self)
            upstream_first(self.operators)
        if self.operators or self.consumers is not None:
            _producers_are_read(self)
        if self.consumers is not None:
            _consumers_fit(self, self.consumers)
        if self.cluster.master is None and self.controller.bounds.most > self.cluster.nodes:
            raise ValueError(
                f"controller.executors goes up to {self.controller.bounds.most}, but cluster.nodes is "
                f"{self.cluster.nodes}; raise cluster.nodes or lower controller.executors"
            )
        return self


def _one_kind(app: AppFile) -> None:
    if app.consumers is not None:
        others = [key for key in ("operators", "pipeline", "stream") if getattr(app, key)]
        if others:
            raise ValueError(f"[consumers] and {others[0]} are both given; keep one of them")
        return
    if app.operators:
        if app.pipeline is not None:
            raise ValueError("[[operators]] and [pipeline] are both given; keep one of them")
        return
    if (app.stream is None) == (app.pipeline is None):
        raise ValueError("give one of a [stream] table, a [pipeline] table, [[operators]] or [consumers]")
    for key in ("topics", "producers"):
        if getattr(app, key):
            raise ValueError(f"[[{key}]] need [[operators]] that use them; add these or remove the {key}")
    if app.stream is not None and app.stream.records is not None:
        raise ValueError('stream.records is for [[operators]] that read "stream"; add one or remove the key')


def _names_are_unique(app: AppFile) -> None:
    for key, names in (
        ("operators", [operator.name for operator in app.operators]),
        ("topics", [topic.name for topic in app.topics]),
    ):
        twice = _repeated(names)
        if twice is not None:
            raise ValueError(f"two of the {key} are named '{twice}'; rename one of them")


def _stream_fits(app: AppFile) -> None:
    readers = [operator.name for operator in app.operators if operator.reads_stream]
    if app.stream is None and readers:
        raise ValueError(f"operator '{readers[0]}' reads \"stream\", but there is no [stream] table; add one")
    if app.stream is not None and not readers:
        raise ValueError('no operator reads the [stream]; give one reads = ["stream"] or remove the table')
    if app.stream is not None and app.stream.records is None:
        raise ValueError('stream.records is missing; say what the operators read, as in records = "words"')


def _topics_fit(app: AppFile) -> None:
    known = {topic.name for topic in app.all_topics}
    if STREAM in known:
        raise ValueError('a topic is named "stream", which means the embedded stream; rename it')
    for operator in app.operators:
        used = [*operator.reads, *([operator.writes] if operator.writes is not None else [])]
        for name in used:
            if name not in known and name != STREAM:
                raise ValueError(
                    f"operator '{operator.name}' uses topic '{name}', which is neither listed in [[topics]] nor filled "
                    f"by one of the [[producers]]{nearest(name, known)}"
                )
    writers = [operator.writes for operator in app.operators if operator.writes is not None]
    twice = _repeated([*writers, *(producer.topic for producer in app.producers)])
    if twice is not None:
        raise ValueError(
            f"topic '{twice}' is filled by two operators or producers, so their records could not be told apart; "
            "give each a topic of its own"
        )


def _producers_are_read(app: AppFile) -> None:
    read = {name for operator in app.operators for name in operator.reads}
    read |= set(app.consumers.reads) if app.consumers is not None else set()
    for producer in app.producers:
        if producer.topic not in read:
            raise ValueError(f"nobody reads topic '{producer.topic}' of a producer{nearest(producer.topic, read)}")


def _consumers_fit(app: AppFile, table: ConsumersTable) -> None:
    known = {topic.name for topic in app.all_topics}
    for name in table.reads if app.kafka.is_local else ():
        if name not in known:
            raise ValueError(
                f"consumers.reads has topic '{name}', which is neither listed in [[topics]] nor filled by one of the "
                f"[[producers]]{nearest(name, known)}"
            )


def _sinks_are_apart(app: AppFile) -> None:
    twice = _repeated([operator.sink.path for operator in app.operators if operator.sink is not None])
    if twice is not None:
        raise ValueError(f"two sinks have the path '{twice}'; give each a folder of its own")


def _repeated(names: Iterable[str]) -> str | None:
    return next((name for name, count in Counter(names).items() if count > 1), None)
