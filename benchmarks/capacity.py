"""Daedalus' capacity model on real Spark: what it says of each size after some minutes of load, and what is true.

True is what ``headgate measure`` finds right before, on the same warm executors: between the greatest rate that was
sustained and the smallest that was not. The model sees loads below that only. Even and skewed partitions; executors
under a CPU quota, so that capacity grows with them. All of it takes about 80 minutes; ``HEADGATE_BENCH_SKEW=even`` or
``Zipf-skewed`` does half.
"""

from __future__ import annotations

import math
import os
import statistics
from pathlib import Path

from headgate.config import AppFile
from headgate.control.evaluator import Evaluator
from headgate.core.knowledge import Engine
from headgate.models.capacity import CapacityEstimate, CapacityModel
from headgate.scoring.backlogs import Drain, WarmUp
from headgate.scoring.holds import Step, longer_hold_s
from headgate.scoring.sustainable import Bracket, RateSearch
from headgate.wiring.bench import AppBench
from headgate.wiring.examples import named_app

APP, SIZES, QUOTA = "word-count", (1, 2, 3, 4), 0.25
LOADS = (0.3, 0.5, 0.7, 0.9)
"""Shares of what was measured, one after the other."""
LOAD_S, HOLD_S, PRECISION = 40.0, 10.0, 0.1
LONGEST_BATCH_S = 30.0
"""Measuring takes any rate that can be kept up, however long batches get."""
SKEWS = {"even": 0.0, "Zipf-skewed": 0.8}


def run() -> None:
    errors: list[float] = []
    for name, skew in SKEWS.items():
        if os.environ.get("HEADGATE_BENCH_SKEW", name) != name:
            continue
        with AppBench(_app(skew), executors=SIZES, seed=0, say=lambda _: None) as bench:
            for executors in sorted(SIZES, reverse=True):
                bench.resize(executors)
                what = f"{APP}, {name}, {executors} executors"
                found = _measured(bench, _drained(bench))
                if found.sustained is None or found.exceeded is None:
                    print(f"  {what}: measured {found}", flush=True)
                    continue
                true = math.sqrt(found.sustained * found.exceeded)
                estimate = _estimated(bench, true, executors)
                if estimate is None:
                    print(f"  {what}: no estimate", flush=True)
                    continue
                errors.append(abs(estimate.rate / true - 1))
                print(
                    f"  {what}: estimated {estimate.rate:8.0f} ({estimate.basis}), measured {found.sustained:8.0f} to "
                    f"{found.exceeded:8.0f} records/s: {estimate.rate / true - 1:+.1%}",
                    flush=True,
                )
    if errors:
        print(f"  median error {statistics.median(errors):.1%}   goal ≤ 5 %", flush=True)


def _app(skew: float) -> AppFile:
    app = named_app(Path(APP))
    (producer,) = app.producers
    return app.model_copy(
        update={
            "cluster": app.cluster.model_copy(update={"quota": QUOTA}),
            "producers": (producer.model_copy(update={"partition_skew": skew}),),
        }
    )


def _drained(bench: AppBench) -> float:
    """The rate at which a backlog is worked off, once the app does not get faster any more."""
    warm_up, drains = WarmUp(first_records=2000), list[Drain]()
    while (records := warm_up.next_records(drains)) is not None:
        drains.append(bench.drain(records))
    return max(drain.rate for drain in drains[-2:])


def _estimated(bench: AppBench, capacity: float, executors: int) -> CapacityEstimate | None:
    """What the model says after having seen the executors under some loads."""
    model = CapacityModel(ignored_s=0.0, longest_batch_s=LONGEST_BATCH_S)
    for share in LOADS:
        evaluator = Evaluator(keep_s=LOAD_S, engine=Engine.MICRO_BATCH)
        hold = bench.observe(share * capacity, LOAD_S)
        for sample in bench.samples(hold.started_s + LOAD_S / 8, hold.ended_s):
            evaluator.learn(sample)
        seen = evaluator.evaluate(now_s=hold.ended_s, window_s=LOAD_S, fields=frozenset({"course"}))
        for executor in seen.working_executors:
            model.learn(executor.id, executor.course, age_s=executor.age_s)
        bench.settle()
    return model.present(executors)


def _measured(bench: AppBench, about: float) -> Bracket:
    """As ``headgate measure`` searches, from what a backlog showed."""
    search, steps = RateSearch(start=about, growth=1.15, precision=PRECISION), list[Step]()
    while (rate := search.next_rate(steps)) is not None:
        steps.append(bench.hold(rate, HOLD_S, lambda step: longer_hold_s(step, hold_s=HOLD_S)))
        bench.settle()
    return search.bracket(steps)
