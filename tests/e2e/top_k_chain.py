"""Rolling top-k words on real topics, as six operators: started, fed, brought to its end, and read.

Windows close when event time moves on, so a bounded input does not come out by itself. When a stage with state has
taken all of it, a closing message whose event time is far ahead is put into the topic that the stage reads: it gives
its last windows. Then it is the turn of the next stage, because what comes after a closing message is late. Closing
through the first topic would take as many records, each of which has to go the whole way.
"""

from __future__ import annotations

import json
import time
import uuid
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from types import TracebackType
from typing import Self

import pyarrow.parquet as pq
from confluent_kafka import Consumer, Producer, TopicPartition
from pyspark.sql import DataFrame, SparkSession

import headgate
from headgate.kafka.offsets import end_offsets
from headgate.kafka.settings import KafkaSettings
from headgate.kafka.topics import Topic, ensure_topics
from headgate.pipelines import top_k
from headgate.spark.committed import sink_files
from headgate.spark.operators import Operator

STAGES = ("reader", "generator", "filter", "counter", "intermediate-ranker", "final-ranker")
SCALABLE = STAGES[:3]
TOPICS = ("records", "lines", "words", "kept", "counts", "rankings")
"""What each stage reads."""
CLOSING: dict[str, dict[str, object]] = {
    "kept": {"origin_partition": -1, "origin_offset": 0, "position": 0, "word": "closing"},
    "counts": {"word": "closing", "count": 1},
    "rankings": {"part": -1, "top": [{"word": "closing", "count": 1}]},
}
"""By topic, a message that is no part of any input; its time is added."""

_WINDOW_MS = round(top_k.WINDOW_S * 1000)
_EMIT_MS = round(top_k.EMIT_S * 1000)
_BEGIN_MS = 1_700_000_001_000

Row = tuple[int, int, str, int]
"""End of the window in milliseconds, rank, word, count."""


@dataclass(frozen=True, slots=True)
class Position:
    """How far a stage is, by its checkpoint, which also knows after a restart."""

    taken: dict[int, int]
    """By partition, the offset up to which records were worked off."""
    watermark_ms: int
    """That of the last batch that is done: all windows up to it have been given."""
    busy: bool


@dataclass(frozen=True, slots=True)
class Pace:
    """How fast a stage was under one parallelism."""

    parallelism: int
    records_per_s: float
    batches: tuple[int, ...]
    """Numbers of the micro-batches that were begun and ended under it."""


@dataclass(frozen=True, slots=True)
class _Input:
    """The event times of what was sent since the last closing."""

    first_ms: int
    last_ms: int
    closed: tuple[str, ...] = ()
    """Topics that have been closed."""


class TopKChain:
    """The operators of one folder, with topics of their own; can be stopped and started again.

    ``watermark_s`` has to be longer than the event time that one input spans, and a window: then the result is exact
    whatever the order in which tasks come to write.
    """

    def __init__(
        self,
        spark: SparkSession,
        kafka: KafkaSettings,
        folder: Path,
        *,
        watermark_s: float,
        partitions: int = 2,
        max_parallelism: int = 2,
        trigger_s: float = 0.3,
        records_per_trigger: int | None = None,
        deadline_s: float = 90.0,
        stages: Sequence[str] = STAGES,
    ) -> None:
        self._spark = spark
        self._kafka = kafka
        self._folder = folder
        self._watermark_s = watermark_s
        self._partitions = partitions
        self._max_parallelism = max_parallelism
        self._trigger_s = trigger_s
        self._records_per_trigger = records_per_trigger
        self._deadline_s = deadline_s
        self._stages = tuple(stages)
        self._input: _Input | None = None
        token = uuid.uuid4().hex[:8]
        self.topics = {name: f"top-k-{name}-{token}" for name in TOPICS}
        self.operators: dict[str, Operator] = {}

    def __enter__(self) -> Self:
        ensure_topics(self._kafka, [Topic(name, self._partitions) for name in self.topics.values()])
        self.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.stop()

    def start(self) -> None:
        """Start the stages, or go on with them from their checkpoints."""
        for stage in self._stages:
            self.start_stage(stage)

    def start_stage(self, stage: str) -> Operator:
        """Start one stage, or go on with it from its checkpoint."""
        place = STAGES.index(stage)
        last = stage == STAGES[-1]
        self.operators[stage] = headgate.operator(
            self._spark,
            name=stage,
            transform=self._transforms()[place],
            reads=[self.topics[TOPICS[place]]],
            writes=None if last else self.topics[TOPICS[place + 1]],
            sink=headgate.ParquetSink(self._sink) if last else None,
            kafka=self._kafka,
            checkpoint=self._checkpoint(stage),
            scalable=stage in SCALABLE,
            max_parallelism=self._max_parallelism,
            trigger_s=self._trigger_s,
            records_per_trigger=self._records_per_trigger,
        )
        return self.operators[stage]

    def stop(self) -> None:
        """End all queries; checkpoints and topics stay."""
        for operator in self.operators.values():
            operator.stop()
        self.operators.clear()

    def begin_ms(self) -> int:
        """From when on event times are surely not late, on a window's boundary."""
        if self._input is None:
            return _BEGIN_MS
        return (self._closing_ms(self._input) + _WINDOW_MS) // _EMIT_MS * _EMIT_MS

    def send(self, records: Sequence[bytes]) -> None:
        """Records of the kind ``words`` to the partitions of the first topic in turn."""
        times_ms = [json.loads(record)["time_ms"] for record in records]
        known = self._input
        if known is not None and not known.closed:
            times_ms += [known.first_ms, known.last_ms]
        self._input = _Input(min(times_ms), max(times_ms))
        self._produce("records", [(None, record) for record in records])

    def settle(self) -> None:
        """Wait until every stage that runs has taken what there is, each after those before it."""
        for stage in (each for each in STAGES if each in self.operators):
            self._until(partial(self._has_taken_all, stage), f"{stage} has taken all")

    def close_next(self) -> None:
        """Close the windows of the first stage with state whose windows are open, when it has taken its input."""
        self.settle()
        known = self._input
        assert known is not None, "nothing was sent that could be closed"
        topic = next(name for name in CLOSING if name not in known.closed)
        time_ms, stage = self._closing_ms(known), STAGES[TOPICS.index(topic)]
        self._produce(topic, [(None, json.dumps({**CLOSING[topic], "time_ms": time_ms}).encode())])
        self._input = replace(known, closed=(*known.closed, topic))
        passed_ms = time_ms - round(self._watermark_s * 1000)
        self._until(partial(self._watermark_has_passed, stage, passed_ms), f"{stage} has closed its windows")

    def finish(self) -> list[Row]:
        """Bring what was sent to its end and give the result for it."""
        while self._input is None or len(self._input.closed) < len(CLOSING):
            self.close_next()
        return self.rows()

    def rows(self) -> list[Row]:
        """What is in the last sink for the windows of what was sent since the last end, in order."""
        known = self._input
        assert known is not None, "nothing was sent"
        tables = [pq.ParquetFile(file).read().to_pylist() for file in sink_files(self._sink)]
        rows = [
            (round(row["window_end"].timestamp() * 1000), row["rank"], row["word"], row["count"])
            for table in tables
            for row in table
        ]
        return sorted(row for row in rows if known.first_ms < row[0] <= known.last_ms + _WINDOW_MS)

    def pace(self, stage: str, parallelism: int, *, batches: int = 3) -> Pace:
        """Set a stage's parallelism and watch its next micro-batches; there must be enough for it to do."""
        operator = self.operators[stage]
        before = self._newest_batch(operator)
        operator.set_parallelism(parallelism)
        # The batch that is under way may have been cut already.
        wanted = range(before + 2, before + 2 + batches)
        self._until(lambda: self._newest_batch(operator) >= wanted[-1], f"{stage} has done {batches} batches")
        seen = [progress for progress in operator.query.recentProgress if progress.batchId in wanted]
        assert [progress.batchId for progress in seen if progress.numInputRows > 0] == list(wanted), "it had too little"
        spent_s = sum(progress.durationMs["triggerExecution"] for progress in seen) / 1000
        return Pace(parallelism, sum(progress.numInputRows for progress in seen) / spent_s, tuple(wanted))

    def _newest_batch(self, operator: Operator) -> int:
        last = operator.query.lastProgress
        return -1 if last is None else int(last.batchId)

    def copy(self, topic: str, count: int) -> None:
        """Write so many of the newest messages of a topic into it once more, as a sink does that tries again."""
        ends = self._ends(topic)
        each = -(-count // len(ends))
        consumer = Consumer({**self._kafka.for_client(), "group.id": "top-k-copies", "enable.auto.commit": False})
        starts = {number: max(0, end - each) for number, end in ends.items()}
        consumer.assign([TopicPartition(self.topics[topic], number, start) for number, start in starts.items()])
        wanted = sum(end - starts[number] for number, end in ends.items())
        try:
            found = consumer.consume(wanted, timeout=self._deadline_s)
        finally:
            consumer.close()
        assert len(found) == wanted > 0, f"{len(found)} of {wanted} messages of {topic} came back"
        self._produce(topic, [(message.key(), message.value()) for message in found])

    def messages(self) -> dict[str, int]:
        """How many messages are in each topic."""
        return {name: sum(self._ends(name).values()) for name in TOPICS}

    def position(self, stage: str) -> Position:
        checkpoint = self._checkpoint(stage)
        done, planned = _newest(checkpoint / "commits"), _newest(checkpoint / "offsets")
        if done < 0:
            return Position({}, 0, planned >= 0)
        _, settings, offsets, *_ = (checkpoint / "offsets" / str(done)).read_text().splitlines()
        taken = json.loads(offsets)[self.topics[TOPICS[STAGES.index(stage)]]]
        watermark_ms = json.loads(settings)["batchWatermarkMs"]
        return Position({int(number): offset for number, offset in taken.items()}, watermark_ms, planned > done)

    @property
    def _sink(self) -> Path:
        return self._folder / "top-words"

    def _checkpoint(self, stage: str) -> Path:
        return self._folder / "checkpoints" / stage

    def _transforms(self) -> tuple[Callable[[DataFrame], DataFrame], ...]:
        return (
            top_k.read_lines,
            top_k.split_words,
            top_k.drop_stop_words,
            partial(top_k.count_words, watermark_s=self._watermark_s),
            partial(top_k.rank_parts, watermark_s=self._watermark_s),
            partial(top_k.rank_all, watermark_s=self._watermark_s),
        )

    def _closing_ms(self, known: _Input) -> int:
        """So late that the watermark is beyond every window of the input."""
        return known.last_ms + _WINDOW_MS + _EMIT_MS + round(self._watermark_s * 1000)

    def _ends(self, topic: str) -> dict[int, int]:
        return {each.number: offset for each, offset in end_offsets(self._kafka, [self.topics[topic]]).items()}

    def _has_taken_all(self, stage: str) -> bool:
        position = self.position(stage)
        ends = self._ends(TOPICS[STAGES.index(stage)])
        return not position.busy and all(position.taken.get(number, 0) == end for number, end in ends.items())

    def _watermark_has_passed(self, stage: str, time_ms: int) -> bool:
        position = self.position(stage)
        return not position.busy and position.watermark_ms >= time_ms

    def _until(self, done: Callable[[], bool], what: str) -> None:
        deadline = time.monotonic() + self._deadline_s
        while not done():
            for operator in self.operators.values():
                assert operator.query.isActive, f"{operator.name} has ended: {operator.query.exception()}"
            assert time.monotonic() < deadline, f"{what}: not within {self._deadline_s:g} s"
            time.sleep(0.1)

    def _produce(self, topic: str, messages: Sequence[tuple[bytes | None, bytes | None]]) -> None:
        producer = Producer(
            {
                **self._kafka.for_client(),
                "enable.idempotence": True,
                "linger.ms": 5,
                "queue.buffering.max.messages": 1_000_000,
            }
        )
        failures: list[str] = []
        for number, (key, value) in enumerate(messages):
            producer.produce(
                self.topics[topic],
                value,
                key,
                number % self._partitions,
                on_delivery=lambda error, _: failures.append(str(error)) if error is not None else None,
            )
            producer.poll(0)
        assert producer.flush(self._deadline_s) == 0, f"{topic}: the broker did not take all messages in time"
        assert not failures, f"{topic}: {failures[0]}"


def _newest(folder: Path) -> int:
    names = [file.name for file in folder.iterdir()] if folder.is_dir() else []
    return max((int(name) for name in names if name.isdigit()), default=-1)
