r"""Word count: how often each word has appeared so far.

Plain PySpark. Taken out alone, with ``kafka = {"kafka.bootstrap.servers": "host:9092"}``:

    lines = spark.readStream.format("kafka").options(**kafka, subscribe="words").load()
    counts = word_count(lines).writeStream.outputMode("update").option("checkpointLocation", "/data/checkpoint")
    counts.start(format="console").awaitTermination()

A record is ``{"text": "To be, or not to be", …}``. One that is not a JSON object or has no text is dropped, so
that it cannot stop the stream; each micro-batch's progress shows under ``observedMetrics["word_count"]`` how many
``records`` there were and how many ``malformed``.

Every word that ever appeared stays in the state: it grows with the vocabulary, not with the stream.
"""

from __future__ import annotations

from pyspark.sql import DataFrame
from pyspark.sql import functions as F  # noqa: N812 - the name that PySpark's users know

_NOT_LETTERS = r"\P{L}+"


def word_count(lines: DataFrame, *, audit: bool = False) -> DataFrame:
    """Raw records to ``(word, count)``: lower-cased, split at everything that is not a letter of some alphabet.

    For update mode (or complete mode). ``audit`` adds ``records`` and ``sequence_sum``: rows that were counted and
    the sum of their records' sequence numbers, once for each appearance of the word.
    """
    schema = "text STRING, sequence BIGINT" if audit else "text STRING"
    parsed = lines.select(F.from_json(F.col("value").cast("string"), schema).alias("record")).select("record.*")
    whole = F.col("text").isNotNull()
    seen = parsed.observe("word_count", F.count(F.lit(1)).alias("records"), F.count_if(~whole).alias("malformed"))
    each = F.explode(F.split(F.lower("text"), _NOT_LETTERS)).alias("word")
    words = seen.where(whole).select(each, *(["sequence"] if audit else [])).where("word != ''")
    counted = [F.count(F.lit(1)).alias("count")]
    if audit:
        counted += [F.count(F.lit(1)).alias("records"), F.try_sum("sequence").alias("sequence_sum")]
    return words.groupBy("word").agg(*counted)
