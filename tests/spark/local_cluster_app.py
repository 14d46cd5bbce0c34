"""A driver with Spark's own ``local-cluster`` master, as somebody would try Headgate out; says what it sees as JSON."""

from __future__ import annotations

import json
import sys
import time
from pathlib import Path

from pyspark.sql import SparkSession

import headgate


def main(folder: Path) -> None:
    spark = (
        SparkSession.builder.master("local-cluster[2,1,512]")
        .config("spark.executor.memory", "512m")
        .config("spark.executor.cores", "1")
        .config("spark.ui.enabled", "false")
        .config("spark.ui.showConsoleProgress", "false")
        .config("spark.driver.bindAddress", "127.0.0.1")
        .config("spark.driver.host", "127.0.0.1")
        .getOrCreate()
    )
    stream = spark.readStream.format("rate").option("rowsPerSecond", 100).option("numPartitions", 2).load()
    query = (
        stream.writeStream.format("noop")
        .queryName("trial")
        .option("checkpointLocation", str(folder / "checkpoint"))
        .trigger(processingTime="500 milliseconds")
        .start()
    )
    run_id = query.runId
    sizes = []
    with headgate.attach(query, policy="static:period_s=1", executors=(1, 2), journal=folder / "trial.db") as scaler:
        for pinned in (2, 1, 2):
            scaler.pin(pinned)
            while scaler.status().observed is None or scaler.status().observed.executors != pinned:
                time.sleep(0.2)
            sizes.append(pinned)
        seen = query.lastProgress.batchId if query.lastProgress is not None else -1
        while query.lastProgress is None or query.lastProgress.batchId < seen + 2:
            time.sleep(0.2)
        status = scaler.status()
    answer = {
        "sizes": sizes,
        "rescalings": status.rescalings,
        "pinned": status.levers.pinned,
        "same_run": query.isActive and query.runId == run_id,
        "failure": scaler.failure and str(scaler.failure),
    }
    query.stop()
    spark.stop()
    sys.stdout.write(json.dumps(answer) + "\n")


if __name__ == "__main__":
    main(Path(sys.argv[1]))
