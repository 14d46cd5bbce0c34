"""Real work for each record, so that a small stream keeps a cluster busy.

SHA-256 over a text made from the record, in Spark's own expressions: no Python process takes part,
the number of 64-byte blocks in the chain sets the cost, and the result is a column of the output,
so that no optimiser can leave it out.
"""

from __future__ import annotations

from typing import Any

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.functions import col, rpad, sha2

from headgate.errors import UserMistake

BLOCK_BYTES = 64
MICROSECONDS_PER_BLOCK = 0.4
"""On a core without instructions for SHA-256; ``measure_block_us`` finds out that of this machine."""
MOST_BLOCKS = 100_000
_TRIAL_BYTES = 4_000_000
_TRIALS = 12


def iterations_for(cost_us: float, *, block_us: float = MICROSECONDS_PER_BLOCK) -> int:
    """The number of blocks that costs about so much of one core, per record.

    >>> iterations_for(100, block_us=0.5)
    200
    """
    blocks = cost_us / block_us if cost_us > 0 else 0.0
    if not 0 < blocks <= MOST_BLOCKS:
        raise UserMistake(
            f"cost_us={cost_us:g} is not possible; give the microseconds of work per record, above 0 and "
            f"up to {MOST_BLOCKS * block_us:g}"
        )
    return max(1, round(blocks))


def measure_block_us(spark: SparkSession) -> float:
    """What a block costs in a warm Java process on this machine: takes about half a second in the driver.

    Processor time, not wall time, so that a busy machine does not look like a slow one.
    """
    context: Any = spark.sparkContext
    jvm = context._jvm
    text = context._gateway.new_array(jvm.byte, _TRIAL_BYTES)
    digest = jvm.java.security.MessageDigest.getInstance("SHA-256")
    threads = jvm.java.lang.management.ManagementFactory.getThreadMXBean()
    best_ns = float("inf")
    for _ in range(_TRIALS):
        # PySpark gives each Python thread a Java thread of its own, so both readings are of the same one.
        before_ns = threads.getCurrentThreadCpuTime()
        digest.digest(text)
        best_ns = min(best_ns, threads.getCurrentThreadCpuTime() - before_ns)
    return best_ns / 1e3 / (_TRIAL_BYTES / BLOCK_BYTES)


def burn(frame: DataFrame, column: str = "value", *, iterations: int, result: str = "digest") -> DataFrame:
    """The frame with one more column, made from ``column`` by that many blocks of work per record."""
    text = col(column).cast("string")
    return frame.withColumn(result, sha2(rpad(text, iterations * BLOCK_BYTES, text), 256))
