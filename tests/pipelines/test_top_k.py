"""Rolling top-k words on a real cluster and broker: the chain's rows are those of a few lines of plain Python."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator
from datetime import UTC, datetime
from itertools import pairwise
from pathlib import Path

import pytest
from bounded import fill, passed_on, raw_records, run, static_rows, trace_records, trace_times_ms
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F  # noqa: N812 - as in the pipelines
from reference_top_k import SLIDING_WINDOW_COUNTER, WindowCase, top_words

from headgate.kafka.settings import KafkaSettings
from headgate.pipelines.top_k import count_words, drop_stop_words, read_lines, split_words
from headgate.workloads.records.words import Words

sys.path.insert(0, str(Path(__file__).parents[1] / "e2e"))

from top_k_chain import TopKChain

pytestmark = pytest.mark.spark

LINES = 2000
EVERY_MS = 12
"""The input spans 24 s, and so several windows, all of it within the watermark."""
BEGIN_MS = 1_700_000_001_000
SLOT_MS = 3000


@pytest.fixture(scope="module")
def chain(spark: SparkSession, kafka: KafkaSettings, tmp_path_factory: pytest.TempPathFactory) -> Iterator[TopKChain]:
    with TopKChain(spark, kafka, tmp_path_factory.mktemp("top-k"), watermark_s=60.0) as running:
        yield running


def lines(chain: TopKChain, *, seed: int) -> list[bytes]:
    begin_ms = chain.begin_ms()
    return Words(seed=seed).values(0, [begin_ms + number * EVERY_MS for number in range(LINES)])


def test_parallelism_of_the_word_generator_is_set_while_the_chain_runs(
    spark: SparkSession, kafka: KafkaSettings, tmp_path: Path
) -> None:
    with TopKChain(
        spark,
        kafka,
        tmp_path,
        watermark_s=60.0,
        max_parallelism=4,
        records_per_trigger=100,
        stages=("reader", "generator"),
    ) as chain:
        generator = chain.operators["generator"]
        identity = (generator.query.id, generator.query.runId)
        chain.send(lines(chain, seed=3))
        paces = [chain.pace("generator", parallelism, batches=2) for parallelism in (1, 4, 2)]
        figures = ", ".join(f"{pace.parallelism}: {pace.records_per_s:.0f}" for pace in paces)
        sys.stdout.write(f"\nlines/s by parallelism: {figures}\n")
        assert (generator.query.id, generator.query.runId) == identity
        for earlier, later in pairwise(each for each in generator.query.recentProgress if each.numInputRows > 0):
            assert later.batchId == earlier.batchId + 1
            assert later.sources[0].startOffset == earlier.sources[0].endOffset
        chain.settle()
        sent, spoken = chain.messages()["records"], chain.messages()["words"]
        assert chain.messages()["lines"] == sent == LINES
        assert spoken > LINES


def word(number: int, time_ms: int, text: str = "river") -> bytes:
    message = {"origin_partition": 0, "origin_offset": number, "position": 0, "time_ms": time_ms, "word": text}
    return json.dumps(message).encode()


def as_records(frame: DataFrame) -> DataFrame:
    """Messages as the next operator would read them."""
    return frame.withColumns({"partition": F.lit(0), "offset": F.monotonically_increasing_id()})


@pytest.mark.soak
def test_the_chain_gives_what_all_records_at_once_give(chain: TopKChain) -> None:
    records = lines(chain, seed=1)
    chain.send(records)
    assert chain.finish() == top_words(records)


@pytest.mark.soak
def test_messages_that_are_in_topics_twice_count_once(chain: TopKChain) -> None:
    records = lines(chain, seed=2)
    chain.send(records)
    chain.settle()
    before = chain.messages()
    for topic in ("lines", "words", "kept"):
        chain.copy(topic, 300)
    chain.close_next()
    assert chain.messages()["kept"] > before["kept"] + 300 * 12
    chain.copy("counts", 300)
    chain.close_next()
    chain.copy("rankings", 10)
    assert chain.finish() == top_words(records)


@pytest.mark.parametrize("case", SLIDING_WINDOW_COUNTER)
def test_the_counter_counts_as_storms_does(
    spark: SparkSession, kafka: KafkaSettings, tmp_path: Path, case: WindowCase
) -> None:
    slots, increments, expected = case
    times_ms = [BEGIN_MS + slot * SLOT_MS + each for slot, count in enumerate(increments) for each in range(count)]
    words = [word(number, time_ms) for number, time_ms in enumerate(times_ms)]
    closing = word(len(words), times_ms[-1] + 100 * SLOT_MS, "closing")
    topic = fill(kafka, "counter", [*words[:4], *words, closing], partitions=1)
    stream = raw_records(spark, kafka, topic, per_batch=4)
    counter = count_words(stream, window_s=slots * SLOT_MS / 1000, emit_s=SLOT_MS / 1000, watermark_s=5.0)

    outcome = run(counter, tmp_path)

    found = [json.loads(row["value"]) for row in outcome.rows]
    # A window without the word has no message, where Storm's counter says 0.
    assert {(count["time_ms"] - BEGIN_MS) // SLOT_MS - 1: count["count"] for count in found} == {
        slot: count for slot, count in enumerate(expected) if count
    }
    assert {count["word"] for count in found} == {"river"}
    assert outcome.batches == 3


def test_what_is_no_line_is_dropped_and_words_know_their_place(spark: SparkSession) -> None:
    impossible = b'{"sequence": 1, "time_ms": 99999999999999999, "text": "never"}'
    values = [b"", None, b"\xff\xfe", b"[1]", b'{"time_ms": 5, "text": null}', impossible]
    values.append(b'{"sequence": 7, "time_ms": 12, "text": " The  River\\tand THE sea"}')
    rows = [(None, value, "t", 3, offset, datetime.now(UTC), 0) for offset, value in enumerate(values)]
    columns = "key BINARY, value BINARY, topic STRING, partition INT, offset BIGINT, timestamp TIMESTAMP"
    raw = spark.createDataFrame(rows, f"{columns}, timestampType INT")

    kept = drop_stop_words(as_records(split_words(as_records(read_lines(raw))))).collect()

    origin = {"origin_partition": 3, "origin_offset": 6}
    assert [json.loads(row["value"]) for row in kept] == [
        {**origin, "position": 2, "time_ms": 12, "word": "river"},
        {**origin, "position": 5, "time_ms": 12, "word": "sea"},
    ]
    assert [row["key"] for row in kept] == ["river", "sea"]


def test_the_trace_source_feeds_the_chain(spark: SparkSession, kafka: KafkaSettings, tmp_path: Path) -> None:
    topic = passed_on(read_lines(trace_records(spark, "words", seed=4, count=300)), kafka, "read", tmp_path)
    read = spark.read.format("kafka").options(**kafka.for_spark()).option("subscribe", topic).load()
    lines = [json.loads(row["value"]) for row in static_rows(read)]
    sent = [json.loads(value) for value in Words(seed=4).values(0, trace_times_ms(300))]
    assert sorted((line["time_ms"], line["text"]) for line in lines) == sorted(
        (record["time_ms"], record["text"]) for record in sent
    )
    assert len({(line["origin_partition"], line["origin_offset"]) for line in lines}) == 300
