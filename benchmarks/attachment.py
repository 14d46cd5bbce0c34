"""Throughput of a real Spark query with Headgate attached, over the same without: alternating runs, medians.

The stream's backlog is there from the start and batches are cut to one size, so that the query is always
at its limit; what is measured is how fast it works its backlog off.
"""

from __future__ import annotations

import json
import statistics
import tempfile
import time
from pathlib import Path

from headgate.pipelines.hashing import burn, iterations_for
from headgate.spark.cluster import LocalCluster
from headgate.spark.trace_options import TraceOptions
from headgate.spark.trace_source import trace_stream
from headgate.wiring.attachment import attach

RATE = 100_000
DURATION_S = 25.0
BATCH = 60_000
ROUNDS = 5
WARM_UP_BATCHES = 5


def run() -> None:
    ratios: list[float] = []
    with tempfile.TemporaryDirectory() as folder, LocalCluster(nodes=2, initial=2, quota=None) as cluster:
        session = cluster.session("bench")

        def throughput(number: int, *, attached: bool) -> float:
            options = TraceOptions(
                workload=f"constant:rate={RATE}",
                duration_s=DURATION_S,
                start_time_s=time.time() - DURATION_S,
                partitions=4,
                records_per_trigger=BATCH,
            )
            place = Path(folder) / f"{number}-{attached}"
            query = (
                burn(trace_stream(session, options), iterations=iterations_for(10.0))
                .writeStream.format("parquet")
                .option("path", str(place / "sink"))
                .option("checkpointLocation", str(place / "checkpoint"))
                .queryName(f"bench-{number}-{attached}")
                .start()
            )
            scaler = None
            if attached:
                scaler = attach(query, policy="hpa:period_s=5", executors=(2, 2), journal=place.with_suffix(".db"))
            try:
                return _records_per_second(query, total=int(RATE * DURATION_S))
            finally:
                if scaler is not None:
                    scaler.stop()
                query.stop()

        throughput(-1, attached=False)
        for number in range(ROUNDS):
            order = (False, True) if number % 2 == 0 else (True, False)
            found = {attached: throughput(number, attached=attached) for attached in order}
            ratios.append(found[True] / found[False])
            print(
                f"  round {number + 1}: without {found[False]:9.0f} records/s   "
                f"attached {found[True]:9.0f} records/s   ratio {ratios[-1]:.3f}",
                flush=True,
            )
    print(f"  attached ÷ without, median of {ROUNDS}: {statistics.median(ratios):.3f}   goal ≥ 0.98", flush=True)


def _records_per_second(query, *, total: int) -> float:  # type: ignore[no-untyped-def]
    """From the end of the warm-up to the end of the backlog, by the batches' own times."""
    while True:
        progress = query.lastProgress
        if progress is not None and json.loads(progress.sources[0].endOffset)["records"] >= total:
            break
        if not query.isActive:
            raise SystemExit(f"the query failed: {query.exception()}")
        time.sleep(0.2)
    batches = [each for each in query.recentProgress if each.numInputRows][WARM_UP_BATCHES:]
    seconds = sum(each.batchDuration for each in batches) / 1e3
    first = json.loads(batches[0].sources[0].startOffset)["records"]
    last = json.loads(batches[-1].sources[0].endOffset)["records"]
    return (last - first) / seconds
