"""Two operators joined by a topic: parallelism set while they run, and an executor killed in mid-batch."""

from __future__ import annotations

import json
import os
import signal
import sys
import time
import uuid
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from itertools import pairwise
from pathlib import Path

import pyarrow.dataset as ds
import pytest
from confluent_kafka import Producer
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.functions import col, from_json, struct, to_json

import headgate
from headgate.control.evaluator import Evaluator
from headgate.core.allocation import Allocation, Bounds, Dimension
from headgate.core.evaluation import Evaluation
from headgate.core.knowledge import Engine
from headgate.core.ports import Order
from headgate.core.sample import Batch, OperatorSample, Sample
from headgate.errors import NotReady, UserMistake
from headgate.journal import SqliteJournal
from headgate.kafka.offsets import end_offsets
from headgate.kafka.settings import KafkaSettings
from headgate.kafka.topics import Topic, ensure_topics
from headgate.pipelines.hashing import burn
from headgate.spark.agent import SparkAgent
from headgate.spark.cluster import LocalCluster
from headgate.spark.gateway import SparkGateway
from headgate.spark.operators import Operator
from headgate.wiring.operators import topic_probe

pytestmark = [pytest.mark.spark, pytest.mark.timeout(300)]

PATIENCE_S = 120.0
PARTITIONS = 3
EXECUTORS = 2
PER_BATCH = 2_000
BLOCKS = 4000
"""Of work for each record, half a millisecond to two by the core: it must take longer than reading does, which is what
tells the tasks of the work from those of the reading."""
STATE_PARTITIONS = 2


def hash_records(raw: DataFrame, blocks: int) -> DataFrame:
    """Real work for each record; the message says which record it came from."""
    worked = burn(raw, iterations=blocks)
    origin = struct(col("partition").alias("origin_partition"), col("offset").alias("origin_offset"), col("digest"))
    return worked.select(to_json(origin).alias("value"))


def read_messages(raw: DataFrame) -> DataFrame:
    fields = "origin_partition INT, origin_offset BIGINT, digest STRING"
    return raw.select(from_json(col("value").cast("string"), fields).alias("message")).select("message.*")


@dataclass
class Chain:
    """hasher (stateless) → topic → keeper (de-duplicates) → Parquet, and what an agent has seen of them."""

    spark: SparkSession
    kafka: KafkaSettings
    folder: Path
    records: str
    hashed: str
    hasher: Operator
    keeper: Operator
    agent: SparkAgent
    samples: list[Sample]
    orders: int = 0
    sent: int = 0
    quiet_since: int = 0
    """The sample since which no executor has come or gone."""

    def until(self, condition: Callable[[], bool], *, what: str) -> None:
        give_up_s = time.monotonic() + PATIENCE_S
        while time.monotonic() < give_up_s:
            try:
                self.samples.append(self.agent.collect())
            except NotReady:
                pass
            if self.samples and condition():
                return
            time.sleep(0.25)
        failures = [operator.query.exception() for operator in (self.hasher, self.keeper)]
        pytest.fail(f"still not after {PATIENCE_S:g} s: {what}; {failures}")

    def send(self, count: int) -> None:
        """That many more records, to each partition in turn."""
        producer = Producer(self.kafka.for_client())
        for sequence in range(self.sent, self.sent + count):
            producer.produce(self.records, json.dumps({"sequence": sequence}), partition=sequence % PARTITIONS)
            if sequence % 10_000 == 0:
                producer.poll(0)
        assert producer.flush(30) == 0
        self.sent += count

    def order(self, *, executors: int = EXECUTORS, **parallelism: int) -> None:
        self.orders += 1
        allocation = Allocation(executors=executors, parallelism=parallelism)
        self.agent.apply(Order(allocation=allocation, epoch=1, request_id=f"{self.records}-{self.orders}"))

    def operator(self, name: str, sample: Sample | None = None) -> OperatorSample:
        operators = (sample or self.samples[-1]).operators
        return next(operator for operator in operators if operator.name == name)

    def batches(self, name: str) -> list[Batch]:
        return [batch for sample in self.samples for batch in self.operator(name, sample).batches]

    def see_batches(self, tasks: int, count: int) -> list[Batch]:
        """Batches of the hasher whose work was cut into that many tasks, from now on."""
        before = len(self.batches(self.hasher.name))

        def seen() -> list[Batch]:
            return [batch for batch in self.batches(self.hasher.name)[before:] if batch.tasks == tasks]

        self.until(lambda: len(seen()) >= count, what=f"{count} batches of {tasks} tasks")
        return seen()

    def start_keeper(self, max_parallelism: int) -> Operator:
        return headgate.operator(
            self.spark,
            name=f"keeper-{self.records}",
            transform=read_messages,
            reads=self.hashed,
            sink=headgate.ParquetSink(self.folder / "kept"),
            kafka=self.kafka,
            checkpoint=self.folder / "keeper",
            scalable=False,
            max_parallelism=max_parallelism,
            trigger_s=0.5,
            deduplicate=("origin_partition", "origin_offset"),
        )

    def kept(self) -> Counter[tuple[int, int]]:
        table = ds.dataset(self.folder / "kept", partitioning="hive").to_table(
            columns=["origin_partition", "origin_offset"]
        )
        return Counter(zip(*(table.column(name).to_pylist() for name in table.column_names), strict=True))


@pytest.fixture(scope="module")
def chain(spark: SparkSession, kafka: KafkaSettings, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Chain]:
    tag = uuid.uuid4().hex[:8]
    folder = tmp_path_factory.mktemp("chain")
    records, hashed = f"records-{tag}", f"hashed-{tag}"
    ensure_topics(kafka, [Topic(records, PARTITIONS), Topic(hashed, STATE_PARTITIONS)])
    shuffle_partitions = spark.conf.get("spark.sql.shuffle.partitions")
    hasher = headgate.operator(
        spark,
        name=f"hasher-{records}",
        transform=partial(hash_records, blocks=BLOCKS),
        reads=[records],
        writes=hashed,
        kafka=kafka,
        checkpoint=folder / "hasher",
        parallelism=1,
        max_parallelism=6,
        trigger_s=0.0,
        records_per_trigger=PER_BATCH,
    )
    started: Chain | None = None
    try:
        started = Chain(spark, kafka, folder, records, hashed, hasher, None, None, [])  # type: ignore[arg-type]
        started.keeper = started.start_keeper(STATE_PARTITIONS)
        assert spark.conf.get("spark.sql.shuffle.partitions") == shuffle_partitions
        queries = [started.keeper.query, hasher.query]
        started.agent = SparkAgent(
            queries, app="chain", bounds=Bounds(1, 3), reconcile_every_s=1.0, topic_probe=topic_probe
        )
        with started.agent:
            started.order()
            started.send(PARTITIONS)
            started.until(lambda: len(started.samples[-1].executors) == EXECUTORS, what="two executors")
            started.quiet_since = len(started.samples) - 1
            yield started
            started.order(executors=1)
            started.until(lambda: len(started.samples[-1].executors) == 1, what="one executor")
    finally:
        hasher.stop()
        if started is not None and started.keeper is not None:
            started.keeper.stop()


def tell(figures: str) -> None:
    """For who runs this with -s."""
    sys.stdout.write(f"\n{figures}\n")


def test_parallelism_is_set_while_the_operator_runs(chain: Chain) -> None:
    hasher = chain.hasher
    identity = (hasher.query.id, hasher.query.runId)
    chain.send(15 * PER_BATCH)
    figures = {}
    for parallelism in (1, 4, 2):
        chain.order(**{hasher.name: parallelism})
        assert hasher.parallelism == parallelism
        batches = chain.see_batches(parallelism, 3)[1:]
        assert chain.operator(hasher.name).parallelism == parallelism
        figures[parallelism] = sum(b.records for b in batches) / sum(b.duration_s for b in batches)
    tell(f"records/s by parallelism on {EXECUTORS} executors: { {n: round(rate) for n, rate in figures.items()} }")

    assert (hasher.query.id, hasher.query.runId) == identity
    seen = chain.batches(hasher.name)
    for earlier, later in pairwise(seen):
        assert later.id == earlier.id + 1
        assert later.first_record == earlier.end_record
    assert {1, 2, 4} <= {batch.tasks for batch in seen}


def test_the_app_knows_its_graph_and_what_can_be_scaled(chain: Chain) -> None:
    hasher, keeper = chain.hasher, chain.keeper
    described = chain.agent.describe()
    assert described.scales == {Dimension.EXECUTORS, Dimension.PARALLELISM}
    assert [node.name for node in described.graph] == [hasher.name, keeper.name]
    assert described.graph[keeper.name].upstream == (hasher.name,)
    assert (described.graph[hasher.name].scalable, described.graph[hasher.name].max_parallelism) == (True, 6)
    assert (described.graph[keeper.name].scalable, described.graph[keeper.name].max_parallelism) == (
        False,
        STATE_PARTITIONS,
    )
    assert chain.operator(keeper.name).parallelism == STATE_PARTITIONS
    with pytest.raises(UserMistake, match="there is not"):
        chain.order(counter=2)
    with pytest.raises(UserMistake, match="fixed by its state"):
        chain.order(**{keeper.name: 1})
    chain.order(**{hasher.name: 99})
    assert hasher.parallelism == 6


def test_operators_are_attached_to_as_queries_are(chain: Chain, tmp_path: Path) -> None:
    both = [chain.hasher, chain.keeper]
    with headgate.attach(
        both, policy="static:executors=2", executors=(1, 3), dry_run=True, journal=tmp_path / "chain.db"
    ) as scaler:
        assert scaler.app == chain.hasher.name
    with SqliteJournal(tmp_path / "chain.db", read_only=True) as journal:
        assert journal.header().description.graph == chain.agent.describe().graph


def test_the_figures_of_each_operator_are_its_own(chain: Chain) -> None:
    chain.until(lambda: chain.operator(chain.hasher.name).output_records is not None, what="the output's volume")
    evaluation = evaluate(chain.samples)
    by_name = {operator.name: operator for operator in evaluation.operators}
    hasher, keeper = by_name[chain.hasher.name], by_name[chain.keeper.name]
    for operator in (hasher, keeper):
        tell(str(operator))
        assert operator.input_rate is not None
        assert operator.input_rate > 0
        assert operator.busy is not None
        assert 0 < operator.busy <= 1
        assert operator.latency_s is not None
    assert evaluation.sources == (hasher,)
    assert hasher.lag_records == chain.sent - chain.operator(chain.hasher.name).done_records
    assert hasher.selectivity == pytest.approx(1.0, abs=0.5)
    # Every task was one operator's: what they worked, together, is what the executors worked.
    since, now = chain.samples[chain.quiet_since], chain.samples[-1]
    by_operators = sum((one.busy_s or 0) for one in now.operators) - sum((one.busy_s or 0) for one in since.operators)
    by_executors = sum((one.busy_s or 0) for one in now.executors) - sum((one.busy_s or 0) for one in since.executors)
    assert by_operators == pytest.approx(by_executors, rel=0.2)


def evaluate(samples: list[Sample]) -> Evaluation:
    evaluator = Evaluator(keep_s=1e9, engine=Engine.MICRO_BATCH)
    for sample in samples:
        evaluator.learn(sample)
    return evaluator.evaluate(now_s=samples[-1].time_s, window_s=samples[-1].time_s - samples[0].time_s)


def test_an_executor_killed_in_mid_batch_leaves_the_last_sink_exact(chain: Chain, cluster: LocalCluster) -> None:
    chain.send(4 * PER_BATCH)
    chain.order(**{chain.hasher.name: 4})
    gateway = SparkGateway(chain.spark)
    victim = ""

    def at_work() -> bool:
        nonlocal victim
        jobs = [job for job in gateway.jobs(16) if job.group == str(chain.hasher.query.runId) and not job.finished]
        stages = {stage for job in jobs for stage in job.stage_ids}
        half_done_s = time.time() - 0.3
        running = [
            task.executor
            for stage in gateway.active_stages()
            for task in stage.running
            if stage.id in stages and task.launched_s < half_done_s
        ]
        victim = max(running, key=int, default="")
        return victim != ""

    chain.until(at_work, what="an executor at work")
    os.kill(cluster.executor_pids()[victim].pid, signal.SIGKILL)
    chain.until(lambda: victim not in [one.id for one in chain.samples[-1].executors], what="the loss seen")
    chain.until(lambda: chain.operator(chain.hasher.name).done_records == chain.sent, what="all records hashed")
    chain.keeper.query.processAllAvailable()

    written = sum(end_offsets(chain.kafka, [chain.hashed]).values())
    kept = chain.kept()
    tell(f"{chain.sent} records, {written} messages in the topic, {kept.total()} rows in the sink")
    assert written >= chain.sent
    assert kept.total() == len(kept) == chain.sent
    assert set(kept) == {(number % PARTITIONS, number // PARTITIONS) for number in range(chain.sent)}


def test_an_operator_that_is_started_later_joins_the_app_and_leaves_it_when_it_is_stopped(chain: Chain) -> None:
    auditor = headgate.operator(
        chain.spark,
        name=f"auditor-{chain.records}",
        transform=read_messages,
        reads=chain.hashed,
        sink=headgate.ParquetSink(chain.folder / "audited"),
        kafka=chain.kafka,
        checkpoint=chain.folder / "auditor",
        trigger_s=0.5,
    )

    def names() -> set[str]:
        return {operator.name for operator in chain.samples[-1].operators}

    try:
        chain.until(lambda: auditor.name in names(), what="the newcomer in a sample")
        assert chain.operator(auditor.name).upstream == (chain.hasher.name,)
        assert chain.agent.describe().graph[auditor.name].scalable
        chain.order(**{auditor.name: 3})
        assert auditor.parallelism == 3
    finally:
        auditor.stop()
    chain.until(lambda: auditor.name not in names(), what="it to be gone")
    assert names() == {chain.hasher.name, chain.keeper.name}
    assert not chain.agent.ended


def test_a_stateful_operator_goes_on_with_the_partitions_of_its_first_batch(
    chain: Chain, caplog: pytest.LogCaptureFixture
) -> None:
    before = chain.keeper.query.id
    chain.keeper.stop()
    chain.keeper = chain.start_keeper(5)
    assert chain.keeper.query.id == before
    assert chain.keeper.max_parallelism == chain.keeper.parallelism == STATE_PARTITIONS
    assert "keeps the 2 state partitions" in caplog.text
    chain.send(300)
    chain.hasher.query.processAllAvailable()
    chain.keeper.query.processAllAvailable()
    kept = chain.kept()
    assert kept.total() == len(kept) == chain.sent


def test_a_transform_that_gives_no_message_is_refused_at_the_start(
    spark: SparkSession, kafka: KafkaSettings, tmp_path: Path
) -> None:
    with pytest.raises(UserMistake, match="column 'value' of text or bytes; it gives offset bigint"):
        headgate.operator(
            spark,
            name="mute",
            transform=lambda raw: raw.select("offset"),
            reads="records",
            writes="other",
            kafka=kafka,
            checkpoint=tmp_path,
        )
