"""Sentiment: each step on sentences whose answer is known, the classifier on unseen text, the whole on Kafka."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from bounded import Outcome, fill, passed_on, raw_records, run, times_ms, trace_records, trace_times_ms
from pyspark.sql import SparkSession
from reference_sentiment import verdicts

from headgate.kafka.settings import KafkaSettings
from headgate.pipelines import sentiment as steps
from headgate.workloads.records.tweets import Tweets

TWEETS = 240
BROKEN = (b"", None, b"\xff\xfe", b"[1]", b'{"sequence": 1', b'{"sequence": 1, "time_ms": 5}', b'{"text": "no time"}')


def test_the_tagger_knows_a_noun_from_a_verb_by_what_stands_before() -> None:
    assert steps.tags(["a", "good", "run"]) == ["DT", "JJ", "NN"]
    assert steps.tags(["they", "will", "run"]) == ["PRP", "MD", "VB"]
    assert steps.tags(["she", "loves", "her", "new", "phone"]) == ["PRP", "VBZ", "PRP$", "JJ", "NN"]


def test_the_tagger_gives_one_tag_a_word_whatever_the_word() -> None:
    odd = ["", "<3", "…", "日本", "#", "zzxqwy", "GOOD", "3.14", "'"]
    assert len(steps.tags(odd)) == len(odd)
    assert steps.tags([]) == []


def test_tokens_keep_emoticons_links_mentions_and_hashtags_whole() -> None:
    text = "RT @ann_1: LOVE it &lt;3 :-) (really) 10:30 #NoFilter www.example.org/a?b=1 ..."
    assert steps.tokens(text) == [
        *("RT", "@ann_1", ":", "LOVE", "it", "<3", ":-)", "(", "really", ")", "10:30", "#NoFilter"),
        *("www.example.org/a?b=1", "..."),
    ]


def test_words_lose_what_has_no_opinion_and_spell_out_negations() -> None:
    tokens = ["@ann", "dont", "won't", "it's", "GOOOOD", "loooove", "https://example.org", "#fail", ":("]
    assert steps.words(tokens) == ["do", "not", "will", "not", "it", "GOOD", "love", "fail", ":("]


def test_a_negation_turns_an_opinion_and_a_booster_strengthens_it() -> None:
    total = steps.FEATURES.index("total")
    plain, boosted, negated, shouted = (
        steps.vector(text)[total] for text in ("it is good", "it is very good", "it is not good", "it is GOOD")
    )
    assert 0 < plain < boosted
    assert plain < shouted
    assert negated < 0


def test_features_are_by_part_of_speech() -> None:
    found = dict(
        zip(steps.FEATURES, steps.features(["love", "the", "awful", "phone"], ["VB", "DT", "JJ", "NN"]), strict=True)
    )
    assert found["positive_verb"] > 0
    assert found["negative_adjective"] > 0
    assert found["positive_adjective"] == found["negative_verb"] == found["no_opinion"] == 0
    assert found["share_noun"] == 0.25


def test_a_text_without_words_has_features_too() -> None:
    assert len(steps.vector("")) == len(steps.FEATURES)


def test_the_classifier_does_well_on_definitions_of_words_it_has_not_seen() -> None:
    trained = steps.trained()
    assert trained.held_out > 400
    assert trained.majority < 0.5
    assert trained.accuracy > 0.57


def test_the_classifier_does_well_on_tweets() -> None:
    kind = Tweets(seed=3)
    model = steps.trained().model
    texts, truth = kind.texts(0, 1000), kind.labels(0, 1000)
    assert steps.accuracy(model, texts, truth) > 0.75
    for label in steps.LABELS:
        chosen = [text for text, its in zip(texts, truth, strict=True) if its == label]
        assert steps.accuracy(model, chosen, [label] * len(chosen)) > 0.6, label


@pytest.mark.parametrize(
    ("text", "label"),
    [
        ("What a wonderful concert, I really love this band!! :)", "positive"),
        ("The worst flight ever, terrible food and rude people :(", "negative"),
        ("The committee meets at noon in room 12.", "neutral"),
    ],
)
def test_plain_sentences_are_judged_as_people_would(text: str, label: str) -> None:
    assert steps.trained().model.labels([text]) == [label]


def values() -> list[bytes | None]:
    """Tweets with what is none among them."""
    tweets: list[bytes | None] = [*Tweets(seed=5).values(0, times_ms(TWEETS))]
    for place, broken in enumerate(BROKEN):
        tweets.insert(place * 30, broken)
    return tweets


@pytest.mark.spark
def test_the_chain_through_topics_and_the_single_query_find_what_the_reference_finds(
    spark: SparkSession, kafka: KafkaSettings, tmp_path: Path
) -> None:
    sent = values()
    expected = verdicts(sent)
    assert len(expected) == TWEETS
    topic = fill(kafka, "tweets", sent)

    together = run(steps.sentiment(raw_records(spark, kafka, topic, per_batch=100)), tmp_path / "together")
    assert together.batches > 1
    check(together, expected)

    messages = topic
    for step in (steps.tokenize, steps.preprocess, steps.tag, steps.extract_features):
        messages = passed_on(step(raw_records(spark, kafka, messages)), kafka, step.__name__, tmp_path)
    chained = run(steps.classify(raw_records(spark, kafka, messages)), tmp_path / "chained")
    check(chained, expected)
    assert origins(chained) == origins(together)


def check(outcome: Outcome, expected: dict[int, tuple[str, str, float]]) -> None:
    """Every tweet once, with the reference's user, label and score."""
    assert sorted(row["sequence"] for row in outcome.rows) == sorted(expected)
    found = {row["sequence"]: (row["user"], row["label"], pytest.approx(row["score"])) for row in outcome.rows}
    assert found == expected


def origins(outcome: Outcome) -> set[tuple[int, int, int]]:
    return {(row["sequence"], row["origin_partition"], row["origin_offset"]) for row in outcome.rows}


@pytest.mark.spark
def test_messages_that_are_no_messages_are_dropped(spark: SparkSession) -> None:
    head = {"origin_partition": 0, "origin_offset": 1, "sequence": 2, "time_ms": 3, "user": "u"}
    whole = {**head, "tokens": ["Good", None, "day"], "words": ["good", "day"], "tags": ["JJ"], "features": [1.0]}
    rows = [(json.dumps(whole).encode(),), (b"{",), (None,), (json.dumps(head).encode(),)]
    messages = spark.createDataFrame(rows, "value BINARY").coalesce(1)
    assert [json.loads(row.value) for row in steps.preprocess(messages).collect()] == [
        {**head, "words": ["good", "day"]}
    ]
    assert steps.extract_features(messages).collect() == []
    assert steps.classify(messages).collect() == []


@pytest.mark.spark
def test_the_trace_source_feeds_it(spark: SparkSession, tmp_path: Path) -> None:
    outcome = run(steps.sentiment(trace_records(spark, "tweets", seed=6, count=200)), tmp_path)
    check(outcome, verdicts(Tweets(seed=6).values(0, trace_times_ms(200))))
