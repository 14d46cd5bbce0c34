"""A stateless operator of rolling top-k words, set to parallelism 1, 4 and 2 while it runs, in several rounds.

The word generator works off a backlog on four executors, each with a share of a processor, so that more tasks can
be faster at all on a machine of two cores. Executors get faster while they run, hence the rounds. Same query, same
run, no batch left out.
"""

from __future__ import annotations

import sys
import tempfile
from itertools import pairwise
from pathlib import Path

from headgate.kafka.broker import LocalBroker
from headgate.spark.cluster import LocalCluster
from headgate.wiring.session import open_session
from headgate.workloads.records.words import Words

sys.path.insert(0, str(Path(__file__).parents[1] / "tests" / "e2e"))

from top_k_chain import TopKChain

STAGE = "generator"
SETTINGS = (1, 4, 2)
QUOTA = 0.4
PER_BATCH = 4_000
ROUNDS, BATCHES = 3, 3
WARM = 6
LINES = PER_BATCH * (ROUNDS * len(SETTINGS) * (BATCHES + 3) + WARM + 3)


def run() -> None:
    with (
        tempfile.TemporaryDirectory() as folder,
        LocalBroker() as broker,
        LocalCluster(nodes=4, initial=4, quota=QUOTA) as cluster,
    ):
        session = open_session("bench", cluster=cluster, delta=False)
        chain = TopKChain(
            session,
            broker.settings,
            Path(folder),
            watermark_s=3600.0,
            max_parallelism=4,
            records_per_trigger=PER_BATCH,
            deadline_s=600.0,
            stages=("reader",),
        )
        with chain:
            begin_ms = chain.begin_ms()
            chain.send(Words().values(0, [begin_ms + number // 10 for number in range(LINES)]))
            chain.settle()
            generator = chain.start_stage(STAGE)
            identity = (generator.query.id, generator.query.runId)
            # Every executor has its first tasks of this operator before anything is measured.
            chain.pace(STAGE, max(SETTINGS), batches=WARM)
            for _ in range(ROUNDS):
                paces = [(each, chain.pace(STAGE, each, batches=BATCHES)) for each in SETTINGS]
                told = " → ".join(f"{each}: {pace.records_per_s:.0f}" for each, pace in paces)
                print(f"  parallelism and lines/s  {told}", flush=True)
            progress = [each for each in generator.query.recentProgress if each.numInputRows > 0]
            same = (generator.query.id, generator.query.runId) == identity
            gaps = sum(later.batchId != earlier.batchId + 1 for earlier, later in pairwise(progress))
        print(f"  same query and run: {same}; {len(progress)} batches, {gaps} gaps", flush=True)
