"""Rolling top-k words (ELYSIUM's T1): which words were the most frequent of the last seconds, every few seconds anew.

Plain PySpark. Six operators connected by topics, each a function from raw records, with the columns of Spark's Kafka
source, to the messages of the next topic, ``value`` and mostly ``key``:

    read_lines → split_words → drop_stop_words → count_words → rank_parts → rank_all

Taken out alone, an operator is a query like this one:

    lines = spark.readStream.format("kafka").option("subscribe", "lines").option(...).load()
    words = split_words(lines).writeStream.format("kafka").option("topic", "words").option(...)
    words.option("checkpointLocation", "/data/split-words").start().awaitTermination()

The first three treat each record by itself. The last three have state, go by event time and need append mode: a
window's answer is given once, when the watermark has passed its end, however the stream was cut into micro-batches.

Topics are written at least once, so every message can be told from its copies: a word by partition and offset of its
line and its position in it, a count by window and word, a ranking by window and part. Operators with state leave
copies out; thus the rows of the last one are exact, if its sink is.

What is later than the watermark is left out too. So ``watermark_s`` must cover the event time that one micro-batch of
the operator before can span, because its tasks write at different times. Each operator with state waits that long once
more.

The application is that of Lombardi, Aniello, Bonomi and Querzoni, "Elastic Symbiotic Scaling of Operators and Resources
in Stream Processing Systems" (2018), which in turn is Storm's example: a window of 9 s, every 3 s, top 5. Differences:
windows go by event time, not by the wall clock; a word that is not in a window has no count, where Storm's has 0; equal
counts are ranked by the alphabet.
"""

from __future__ import annotations

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F  # noqa: N812 - the name that PySpark's users know

WINDOW_S = 9.0
EMIT_S = 3.0
TOP = 5
PARTS = 4
WATERMARK_S = 10.0

_COMMON = (
    "the of and to a in is it that was for on you with as i he be at by this are but from they have had not or we an "
    "his"
)
STOP_WORDS = tuple(_COMMON.split())
"""The most frequent words of English, which say nothing about a text."""

_RECORD = "sequence BIGINT, time_ms BIGINT, text STRING"
_LINE = "origin_partition INT, origin_offset BIGINT, time_ms BIGINT, text STRING"
_WORD = "origin_partition INT, origin_offset BIGINT, position INT, time_ms BIGINT, word STRING"
_COUNT = "time_ms BIGINT, word STRING, count BIGINT"
_RANKING = "time_ms BIGINT, part INT, top ARRAY<STRUCT<word: STRING, count: BIGINT>>"
"""The time of counts and rankings is the end of their window."""
_LAST_MS = 253_402_300_799_999
"""The end of the year 9999; what is not a time must not become a watermark."""


def read_lines(records: DataFrame) -> DataFrame:
    """The reader: a record ``{"sequence": 7, "time_ms": …, "text": "…"}`` → the same with the place it came from.

    A record that is something else is dropped, so that it cannot stop the stream. There is no key: an operator without
    state is best served by partitions that are filled evenly.
    """
    return _messages(_parsed(records, _RECORD, "partition AS origin_partition", "offset AS origin_offset"))


def split_words(lines: DataFrame) -> DataFrame:
    """The word generator: a line → one message per word, in lower case, with its position in the line."""
    parsed = _parsed(lines, _LINE)
    pieces = F.posexplode(F.split(F.lower("text"), r"\s+")).alias("position", "word")
    words = parsed.select("origin_partition", "origin_offset", "time_ms", pieces).where("word <> ''")
    return _messages(words.select("origin_partition", "origin_offset", "position", "time_ms", "word"))


def drop_stop_words(words: DataFrame) -> DataFrame:
    """The stop-word filter: words that mean something, keyed by themselves, so that each has a partition of its own."""
    kept = _parsed(words, _WORD).where(~F.col("word").isin(*STOP_WORDS))
    return _messages(kept, key="word")


def count_words(
    words: DataFrame, *, window_s: float = WINDOW_S, emit_s: float = EMIT_S, watermark_s: float = WATERMARK_S
) -> DataFrame:
    """The counter: how often each word was in the last ``window_s``, for windows that end every ``emit_s``."""
    # With the event time among its columns, a word that was seen is forgotten when the watermark passes it.
    once = _timed(_parsed(words, _WORD), watermark_s).dropDuplicates(
        ["origin_partition", "origin_offset", "position", "time"]
    )
    window = F.window("time", _interval(window_s), _interval(emit_s)).alias("window")
    counts = once.groupBy(window, "word").agg(F.count(F.lit(1)).alias("count"))
    return _messages(counts.select(F.unix_millis("window.end").alias("time_ms"), "word", "count"), key="word")


def rank_parts(counts: DataFrame, *, top: int = TOP, parts: int = PARTS, watermark_s: float = WATERMARK_S) -> DataFrame:
    """The intermediate ranker: the most frequent words of each of so many parts of the words, a message per window."""
    # A set takes a copied message in once. It is a fifth of the state of first leaving out copies, then keeping the
    # best, and half the shuffles.
    part = F.pmod(F.hash("word"), F.lit(parts)).alias("part")
    ranked = (
        _timed(_parsed(counts, _COUNT), watermark_s)
        .groupBy("time", part)
        .agg(F.collect_set(_ranked(F.col("word"), F.col("count"))).alias("words"))
    )
    best = _best(F.col("words"), top).alias("top")
    return _messages(ranked.select(F.unix_millis("time").alias("time_ms"), "part", best), key="time_ms")


def rank_all(rankings: DataFrame, *, top: int = TOP, watermark_s: float = WATERMARK_S) -> DataFrame:
    """The final ranker: the most frequent words of each window, as rows ``(window_end, rank, word, count)``.

    Ranks begin with 1; ``window_end`` is a timestamp.
    """
    merged = (
        _timed(_parsed(rankings, _RANKING), watermark_s)
        .groupBy("time")
        .agg(F.flatten(F.collect_set("top")).alias("words"))
    )
    words = F.transform("words", lambda each: _ranked(each["word"], each["count"]))
    places = merged.select(F.col("time").alias("window_end"), F.posexplode(_best(words, top)).alias("place", "each"))
    return places.select("window_end", (F.col("place") + 1).alias("rank"), "each.word", "each.count")


def _parsed(records: DataFrame, schema: str, *others: str) -> DataFrame:
    """The members of the JSON objects in ``value``, of those that have all of them and a time that is possible."""
    message = F.from_json(F.col("value").cast("string"), schema).alias("message")
    names = [expression.split(" AS ")[-1] for expression in others]
    parsed = records.select(*(F.expr(expression) for expression in others), message).select(*names, "message.*")
    return parsed.dropna().where(F.col("time_ms").between(0, _LAST_MS))


def _messages(frame: DataFrame, *, key: str | None = None) -> DataFrame:
    value = F.to_json(F.struct(*frame.columns)).alias("value")
    return frame.select(value) if key is None else frame.select(F.col(key).cast("string").alias("key"), value)


def _timed(frame: DataFrame, watermark_s: float) -> DataFrame:
    return frame.withColumn("time", F.timestamp_millis("time_ms")).withWatermark("time", _interval(watermark_s))


def _ranked(word: Column, count: Column) -> Column:
    """A value whose order is that of the ranking: the greatest count first, then the alphabet."""
    return F.struct((-count).alias("minus"), word.alias("word"))


def _best(words: Column, top: int) -> Column:
    first = F.slice(F.sort_array(words), 1, top)
    return F.transform(first, lambda each: F.struct(each["word"].alias("word"), (-each["minus"]).alias("count")))


def _interval(seconds: float) -> str:
    return f"{round(seconds * 1000)} milliseconds"
