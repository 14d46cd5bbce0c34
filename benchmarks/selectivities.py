"""Messages out per message in, for each operator of rolling top-k words, beside those that ELYSIUM published.

A bounded input goes through the whole chain on a real cluster and broker. Overall ratios are those of the topics' ends,
less the messages that close the last windows; mean and deviation are over the intervals of 3 s in which the counter
gives its counts. It gives one for each word of the window, however many came, so its ratio falls with the load: it is
taken, here as there, under a load that climbs and falls in steps.
"""

from __future__ import annotations

import statistics
import sys
import tempfile
from pathlib import Path

from pyspark.sql import SparkSession
from pyspark.sql.functions import col, floor, get_json_object

from headgate.kafka.broker import LocalBroker
from headgate.kafka.settings import KafkaSettings
from headgate.pipelines.top_k import EMIT_S, WINDOW_S
from headgate.spark.cluster import LocalCluster
from headgate.spark.connectors import connector_settings
from headgate.workloads.records.words import Words

sys.path.insert(0, str(Path(__file__).parents[1] / "tests" / "e2e"))

from top_k_chain import CLOSING, STAGES, TOPICS, TopKChain

STAIRS = (50, 100, 200, 400, 200, 100, 50)
"""Lines per second, each for ``STEP_S``."""
STEP_S = 9
SPAN_S = STEP_S * len(STAIRS)
WATERMARK_S = SPAN_S + WINDOW_S + EMIT_S
WINDOWED = ("counts", "rankings")
PUBLISHED = {
    "generator": "17.86 ± 0.54",
    "filter": "0.68 ± 0.02",
    "counter": "0.41 ± 0.34",
    "intermediate-ranker": "0.01 ± 0.00",
}


def run() -> None:
    with (
        tempfile.TemporaryDirectory() as folder,
        LocalBroker() as broker,
        LocalCluster(nodes=2, initial=2, quota=None) as cluster,
    ):
        session = cluster.session("bench", connector_settings())
        chain = TopKChain(
            session, broker.settings, Path(folder), watermark_s=WATERMARK_S, partitions=2, deadline_s=300.0
        )
        with chain:
            begin_ms = chain.begin_ms()
            times_ms = _times_ms(begin_ms)
            chain.send(Words().values(0, times_ms))
            chain.finish()
            messages = chain.messages()
        given = {
            name: _per_emission(session, broker.settings, topic, windowed=name in WINDOWED)
            for name, topic in chain.topics.items()
        }
    ends_ms = range(begin_ms + int(EMIT_S * 1000), begin_ms + SPAN_S * 1000 + 1, int(EMIT_S * 1000))
    print(f"  {len(times_ms)} lines, {min(STAIRS)} to {max(STAIRS)} a second", flush=True)
    for stage, published in PUBLISHED.items():
        place = STAGES.index(stage)
        source, target = TOPICS[place], TOPICS[place + 1]
        overall = (messages[target] - (target in CLOSING)) / (messages[source] - (source in CLOSING))
        ratios = [given[target][end_ms] / given[source][end_ms] for end_ms in ends_ms]
        spread = f"{statistics.mean(ratios):.4f} ± {statistics.pstdev(ratios):.4f}"
        print(f"  {stage:<20} overall {overall:8.4f}   mean {spread:<18} published {published}", flush=True)


def _times_ms(begin_ms: int) -> list[int]:
    return [
        begin_ms + step * STEP_S * 1000 + number * 1000 // rate
        for step, rate in enumerate(STAIRS)
        for number in range(rate * STEP_S)
    ]


def _per_emission(session: SparkSession, kafka: KafkaSettings, topic: str, *, windowed: bool) -> dict[int, int]:
    """How many messages belong to each interval, by the interval's end; those with a window have it as their time."""
    reader = session.read.format("kafka").options(**kafka.for_spark()).option("subscribe", topic)
    time_ms = get_json_object(col("value").cast("string"), "$.time_ms").cast("bigint")
    interval_ms = int(EMIT_S * 1000)
    end_ms = time_ms if windowed else (floor(time_ms / interval_ms) + 1) * interval_ms
    return {row["end_ms"]: row["count"] for row in reader.load().groupBy(end_ms.alias("end_ms")).count().collect()}
