"""Operators of an app file on a real cluster: fed, worked off to the end, and gone on with from where they were."""

from __future__ import annotations

import contextlib
import json
import re
import time
from collections import Counter
from pathlib import Path
from uuid import uuid4

import pyarrow.dataset
import pytest
from pyspark.sql import SparkSession

from headgate.config import AppFile, load_app, parse_app
from headgate.kafka.settings import KafkaSettings
from headgate.spark.audit import Audit
from headgate.wiring.flow import Account
from headgate.wiring.measured_app import with_topics
from headgate.wiring.operator_flow import OperatorFlow
from headgate.workloads.records import parse_records

pytestmark = [pytest.mark.spark, pytest.mark.timeout(200)]

CHAIN = """
name = "chain"
[kafka]
bootstrap = "{bootstrap}"
[[topics]]
name = "{topic}-read"
partitions = 2
[[operators]]
name = "{topic}-first"
function = "first"
file = "steps.py"
reads = ["{topic}"]
writes = "{topic}-read"
trigger_s = 0.2
[[operators]]
name = "{topic}-last"
function = "last"
file = "steps.py"
reads = ["{topic}-read"]
scalable = false
deduplicate = ["sequence"]
max_parallelism = 2
trigger_s = 0.2
sink = {{}}
[[producers]]
topic = "{topic}"
records = "rows"
workload = "constant:rate=200"
duration_s = 2
"""

STEPS = """
from pyspark.sql import functions as F

def first(records):
    return records.select("value")

def last(records):
    row = F.from_json(F.col("value").cast("string"), "sequence BIGINT, table STRING")
    return records.select(row.alias("row")).select("row.*")
"""

EMBEDDED = """
name = "embedded"
[stream]
workload = "constant:rate=200"
duration_s = 3
records = "rows"
partitions = 2
[[operators]]
name = "embedded-rows"
function = "headgate.pipelines.lake:lake"
reads = ["stream"]
trigger_s = 0.2
sink = { format = "tables" }
"""


EXAMPLES = Path(__file__).parents[2] / "examples"


def load(text: str, folder: Path) -> AppFile:
    app = parse_app(text, where="app.toml")
    operators = tuple(
        table.model_copy(update={"file": folder / table.file}) if table.file is not None else table
        for table in app.operators
    )
    return app.model_copy(update={"folder": folder, "operators": operators})


def run(app: AppFile, spark: SparkSession) -> tuple[OperatorFlow, Account]:
    """To its end, as an app does it, without a controller."""
    flow = OperatorFlow(app, say=print)
    with contextlib.ExitStack() as stack:
        flow.prepare(stack)
        stack.callback(lambda: [query.stop() for query in flow.queries])
        flow.start(spark)
        flow.begin(stack)
        deadline_s = time.monotonic() + 90
        while not flow.finished():
            assert all(query.isActive for query in flow.queries)
            assert time.monotonic() < deadline_s, flow.account()
            time.sleep(0.1)
        account = flow.account()
    return flow, account


def test_a_chain_is_worked_off_and_a_second_run_in_its_folder_goes_on_with_new_records(
    tmp_path: Path, spark: SparkSession, kafka: KafkaSettings
) -> None:
    (tmp_path / "steps.py").write_text(STEPS)
    topic = f"flow-{uuid4().hex[:8]}"
    app = load(CHAIN.format(bootstrap=kafka.bootstrap, topic=topic), tmp_path)
    flow, account = run(app, spark)
    assert account.left is None
    assert account.produced == {topic: 400}
    assert account.taken == {f"{topic}-first": 400, f"{topic}-last": 400}
    audit = flow.audits(complete=True)[f"{topic}-last"]
    assert (audit.exact, audit.records) == (True, 400)
    flow, account = run(app, spark)
    assert account.produced == {topic: 400}
    assert account.taken == {f"{topic}-first": 800, f"{topic}-last": 800}
    audit = flow.audits(complete=True)[f"{topic}-last"]
    assert (audit.exact, audit.records, audit.last) == (True, 800, 799)


def test_the_embedded_stream_feeds_operators_without_a_broker(tmp_path: Path, spark: SparkSession) -> None:
    flow, account = run(load(EMBEDDED, tmp_path), spark)
    assert flow.kafka is None
    assert account.taken == {"embedded-rows": 600}
    audit = flow.audits(complete=True)["embedded-rows"]
    assert (audit.exact, audit.records) == (True, 600)
    assert flow.extra() == {"scenario": "real Spark", "seed": 0, "workload": "constant:rate=200"}


def test_the_word_count_example_counts_what_was_produced(
    tmp_path: Path, spark: SparkSession, kafka: KafkaSettings
) -> None:
    app, _, produced = run_example("word-count", tmp_path, spark, kafka)
    lines = [json.loads(value)["text"] for value in parse_records("words").values(0, [0] * produced)]
    expected = Counter(word for line in lines for word in re.findall(r"[^\W\d_]+", line.lower()))
    changes = pyarrow.dataset.dataset(app.folder / "counts", format="parquet").to_table()
    counted: dict[str, int] = {}
    for row in changes.to_pylist():
        counted[row["word"]] = max(row["count"], counted.get(row["word"], 0))
    assert counted == expected


def test_the_lake_example_keeps_every_row_in_its_table(
    tmp_path: Path, spark: SparkSession, kafka: KafkaSettings
) -> None:
    app, audits, produced = run_example("lake", tmp_path, spark, kafka)
    assert [(audit.exact, audit.records) for audit in audits] == [(True, produced)]
    tables = sorted(path.name for path in (app.folder / "lake").glob("table=*"))
    assert tables == [f"table=t{number:02}" for number in range(8)]


@pytest.mark.parametrize(("name", "audited"), [("images", True), ("sentiment", True), ("top-k", False)])
def test_an_example_chain_works_off_what_its_producer_sends(
    name: str, audited: bool, tmp_path: Path, spark: SparkSession, kafka: KafkaSettings
) -> None:
    _, audits, produced = run_example(name, tmp_path, spark, kafka)
    assert [(audit.exact, audit.records) for audit in audits] == ([(True, produced)] if audited else [])


@pytest.mark.parametrize("name", ["advertising", "traffic"])
def test_an_example_with_windows_works_off_what_its_producer_sends(
    name: str, tmp_path: Path, spark: SparkSession, kafka: KafkaSettings
) -> None:
    _, audits, _ = run_example(name, tmp_path, spark, kafka)
    assert audits == []


def run_example(name: str, folder: Path, spark: SparkSession, kafka: KafkaSettings) -> tuple[AppFile, list[Audit], int]:
    """For four seconds of its load, to the end; the app, what is in audited sinks, and how many records there were."""
    app = on_its_own_topics(load_app(EXAMPLES / f"{name}.toml"), kafka, folder).shortened(4.0)
    flow, account = run(app, spark)
    assert account.left is None
    (produced,) = account.produced.values()
    first = app.producers[0].topic
    for table in app.operators:
        if table.reads == (first,):
            assert account.taken[table.name] == produced > 0
        # Windows may not have closed yet, so what stands behind them may have got nothing.
        assert account.taken[table.name] > 0 or not table.scalable
    return app, list(flow.audits(complete=True).values()), produced


def on_its_own_topics(app: AppFile, kafka: KafkaSettings, folder: Path) -> AppFile:
    """The app on the broker that tests share, where no other test has its names; it does not wait for more records."""
    suffix = f"-{uuid4().hex[:8]}"
    renamed = with_topics(app, suffix)
    operators = tuple(
        table.model_copy(update={"name": table.name + suffix, "trigger_s": 0.2}) for table in renamed.operators
    )
    producers = tuple(
        producer.model_copy(update={"topic": producer.topic + suffix, "workload": "constant"})
        for producer in app.producers
    )
    where = app.kafka.model_copy(update={"bootstrap": kafka.bootstrap})
    return renamed.model_copy(update={"operators": operators, "producers": producers, "kafka": where, "folder": folder})
