"""Word count over lines that were written by hand, over a topic, and over the embedded trace source."""

from __future__ import annotations

from pathlib import Path

import pytest
from bounded import (
    NOT_RECORDS,
    make_topic,
    raw_records,
    run,
    send,
    static_records,
    static_rows,
    times_ms,
    trace_records,
    trace_times_ms,
)
from pyspark.sql import SparkSession
from reference_word_count import word_counts

from headgate.kafka.settings import KafkaSettings
from headgate.pipelines.word_count import word_count
from headgate.workloads.records.words import Words

pytestmark = pytest.mark.spark


def test_words_are_runs_of_letters_in_lower_case(spark: SparkSession) -> None:
    lines = [
        b'{"text": "To be, or NOT_to-be2!", "sequence": 3}',
        '{"text": "Äpfel äpfel 東京 x²y"}'.encode(),
        b'{"text": ""}',
        b'{"text": "?!", "sequence": 9}',
        *NOT_RECORDS,
    ]
    counted = {row["word"]: row["count"] for row in static_rows(word_count(static_records(spark, lines)))}
    assert counted == {"to": 2, "be": 2, "or": 1, "not": 1, "äpfel": 2, "東京": 1, "x": 1, "y": 1}


def test_counts_run_on_over_batches_and_a_restart(spark: SparkSession, kafka: KafkaSettings, tmp_path: Path) -> None:
    lines = Words(seed=1).values(0, times_ms(700))
    topic = make_topic(kafka, "words")
    counts = word_count(raw_records(spark, kafka, topic, per_batch=260), audit=True)
    send(kafka, topic, [*lines[:500], *NOT_RECORDS])
    first = run(counts, tmp_path, mode="update")
    assert (first.batches, first.observed("word_count", "malformed")) == (2, len(NOT_RECORDS))
    send(kafka, topic, lines[500:])
    second = run(counts, tmp_path, mode="update")
    assert (second.batches, second.observed("word_count", "records")) == (1, 200)
    expected = word_counts(lines)
    assert second.last("word") == {(word,): {"word": word, **figures} for word, figures in expected.items()}


def test_the_trace_source_feeds_it(spark: SparkSession, tmp_path: Path) -> None:
    outcome = run(word_count(trace_records(spark, "words", seed=2, count=200), audit=True), tmp_path, mode="update")
    expected = word_counts(Words(seed=2).values(0, trace_times_ms(200)))
    assert outcome.last("word") == {(word,): {"word": word, **figures} for word, figures in expected.items()}
