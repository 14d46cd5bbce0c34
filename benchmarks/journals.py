"""Writing one sample and one tick to a journal on disk, each committed."""

from __future__ import annotations

import dataclasses
import itertools
import tempfile
from pathlib import Path

from benchmarks.decisions import evaluation
from benchmarks.timing import line, times_s
from headgate.core.allocation import Allocation, Bounds
from headgate.core.decision import Decision, Outcome, Reason, Tick
from headgate.core.knowledge import AppDescription, Engine
from headgate.core.ports import JournalHeader
from headgate.core.sample import ArrivalPoint, Batch, ExecutorSample, OperatorSample, Sample
from headgate.journal import SqliteJournal

EXECUTORS = 12


def run() -> None:
    description = AppDescription(app="bench", engine=Engine.MICRO_BATCH, bounds=Bounds(1, 12))
    size = Allocation(executors=EXECUTORS)
    numbers = itertools.count()
    now = dataclasses.replace(evaluation(0.0), executors=evaluation(0.0).executors[:EXECUTORS])
    reasons = (Reason(by="hpa", code="within-tolerance", message="busy 0.81 is close to the target 0.80"),)

    def sample() -> Sample:
        n = float(next(numbers))
        return Sample(
            time_s=n,
            operators=(
                OperatorSample(
                    name="op",
                    arrivals=(ArrivalPoint(n, 5000 * n),),
                    batches=(Batch(int(n), n - 1, n, 5000 * (n - 1), 5000 * n, tasks=24, run_s=0.8),),
                    done_records=5000 * n,
                    busy_s=9 * n,
                ),
            ),
            executors=tuple(ExecutorSample(str(i), f"node-{i}", 1, n, 0.8 * n, 400 * n) for i in range(EXECUTORS)),
        )

    def tick() -> Tick:
        n = next(numbers)
        return Tick(
            index=n,
            time_s=float(n),
            epoch=1,
            outcome=Outcome.UNCHANGED,
            evaluation=now,
            decision=Decision(time_s=float(n), current=size, wanted=size, granted=size, reasons=reasons),
            observed=size,
        )

    with tempfile.TemporaryDirectory() as folder:
        journal = SqliteJournal(Path(folder) / "bench.db", retention_s=600.0)
        journal.open_run(JournalHeader(app="bench", policy="static", description=description))
        line("append a sample", times_s(lambda: journal.append_sample(sample()), repeats=2000), goal="goal ≤ 2 ms")
        line("append a tick", times_s(lambda: journal.append_tick(tick()), repeats=2000), goal="goal ≤ 2 ms")
        journal.close()
