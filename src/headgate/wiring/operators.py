"""``headgate.operator``: one step of an app, as a streaming query between topics, or between a topic and a sink.

Here Spark's side of an operator meets Kafka's: what is known of topics while a batch runs comes from the brokers.
"""

from __future__ import annotations

import logging
from collections.abc import Mapping, Sequence
from pathlib import Path

from pyspark.sql import DataFrame, SparkSession

from headgate.errors import HeadgateError, UserMistake
from headgate.kafka.settings import KafkaSettings
from headgate.spark.operators import Operator, OperatorPlan, Transform, start_operator
from headgate.spark.queries import ArrivalProbe
from headgate.spark.sinks import Sink

log = logging.getLogger("headgate")


def operator(
    spark: SparkSession,
    *,
    name: str,
    transform: Transform,
    checkpoint: str | Path,
    reads: str | Sequence[str] = (),
    source: DataFrame | None = None,
    writes: str | None = None,
    sink: Sink | None = None,
    kafka: KafkaSettings | str | None = None,
    scalable: bool = True,
    parallelism: int = 1,
    max_parallelism: int = 8,
    trigger_s: float = 1.0,
    records_per_trigger: int | None = None,
    starting: str = "earliest",
    output_mode: str = "append",
    deduplicate: Sequence[str] | None = None,
    watermark_s: float = 600.0,
) -> Operator:
    """Start an operator, or go on with it from its checkpoint.

    ``transform`` turns a DataFrame of raw records, with the columns of Spark's Kafka source, into what is written: to
    the topic ``writes`` its columns ``value`` and, if there is one, ``key``; into ``sink`` all of them. It reads the
    topics ``reads`` of the cluster ``kafka`` (settings, or ``host:port``), or any streaming ``source``.

    ``scalable`` says that each record is transformed by itself: then the parallelism can be set while the operator
    runs, and the transform may use no streaming aggregate. With ``scalable=False`` the transform is part of the
    streaming query and may keep state, in ``max_parallelism`` partitions that its first batch fixes.

    ``deduplicate`` (with ``scalable=False``) names what identifies a record, columns or else fields of the JSON in
    ``value``: of records with the same, written to the topic within ``watermark_s``, the transform sees one. Spark
    allows one watermark on a record's way, so a transform that sets one itself has to de-duplicate itself.
    """
    if (reads or writes is not None) and kafka is None:
        raise UserMistake(f"operator '{name}' uses topics, so it must know their brokers; give kafka='host:port'")
    settings = KafkaSettings(kafka) if isinstance(kafka, str) else kafka
    plan = OperatorPlan(
        name=name,
        transform=transform,
        checkpoint=checkpoint,
        reads=(reads,) if isinstance(reads, str) else tuple(reads),
        source=source,
        writes=writes,
        sink=sink,
        topic_options={} if settings is None else settings.for_spark(),
        scalable=scalable,
        parallelism=parallelism,
        max_parallelism=max_parallelism,
        trigger_s=trigger_s,
        records_per_trigger=records_per_trigger,
        starting=starting,
        output_mode=output_mode,
        deduplicate=tuple(deduplicate or ()),
        watermark_s=watermark_s,
    )
    return start_operator(spark, plan)


def topic_probe(options: Mapping[str, str], topics: Sequence[str]) -> ArrivalProbe | None:
    """Asks the brokers how far topics reach, given the options by which Spark reaches them.

    Without a client of Kafka, or with options that it cannot use, arrivals are known from batch to batch only.
    """
    try:
        from headgate.kafka.probe import KafkaProbe

        return KafkaProbe(KafkaSettings.from_spark(options), topics)
    except ModuleNotFoundError as error:
        if error.name is None or error.name.partition(".")[0] != "confluent_kafka":
            raise
        obstacle = "confluent-kafka is not installed: pip install 'headgate[kafka]'"
    except HeadgateError as error:
        obstacle = str(error)
    log.warning("topics %s are seen from batch to batch only (%s)", ", ".join(topics), obstacle)
    return None
