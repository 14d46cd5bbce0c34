"""A pipeline in plain PySpark: it knows nothing of autoscaling and runs the same without Headgate.

Orders come from Spark's rate source, are told apart by country, and go to Parquet.
"""

from __future__ import annotations

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as sql
from pyspark.sql.streaming.query import StreamingQuery

COUNTRIES = ("de", "fr", "it", "pl")


def start(spark: SparkSession, sink: str, rows_per_second: int = 200) -> StreamingQuery:
    """Start the stream; its files and its checkpoint lie below ``sink``."""
    source = spark.readStream.format("rate").option("rowsPerSecond", rows_per_second).option("numPartitions", 4)
    return (
        with_country(source.load())
        .writeStream.format("parquet")
        .option("path", f"{sink}/orders")
        .option("checkpointLocation", f"{sink}/checkpoint")
        .trigger(processingTime="1 second")
        .queryName("orders")
        .start()
    )


def with_country(orders: DataFrame) -> DataFrame:
    """Orders with a digest to look them up by, and the country they came from."""
    country = sql.element_at(sql.array(*map(sql.lit, COUNTRIES)), (sql.col("value") % len(COUNTRIES) + 1).cast("int"))
    return orders.select(
        sql.col("timestamp").alias("ordered_at"),
        sql.col("value").alias("order"),
        sql.sha2(sql.col("value").cast("string"), 256).alias("digest"),
        country.alias("country"),
    )
