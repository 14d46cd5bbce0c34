"""Daedalus' capacity model on real Spark: what it says of each size after a minute of ordinary load, and what is true.

True is the rate at which a backlog is worked off right afterwards, on the same warm executors. Even and skewed
partitions; executors under a CPU quota, so that capacity grows with them.
"""

from __future__ import annotations

import statistics
from pathlib import Path

from headgate.config import AppFile
from headgate.control.evaluator import Evaluator
from headgate.core.knowledge import Engine
from headgate.models.capacity import CapacityModel
from headgate.scoring.sustainable import Drain, WarmUp
from headgate.wiring.bench import AppBench
from headgate.wiring.examples import named_app

APP, SIZES, QUOTA = "word-count", (1, 2, 3, 4), 0.25
LOADS = (0.35, 0.5, 0.65)
"""Shares of what a backlog showed, one after the other."""
LOAD_S = 40.0
SKEWS = {"even": 0.0, "Zipf-skewed": 0.8}


def run() -> None:
    errors: list[float] = []
    for name, skew in SKEWS.items():
        app = _app(skew)
        with AppBench(app, executors=SIZES, seed=0, say=lambda _: None) as bench:
            for executors in sorted(SIZES, reverse=True):
                bench.resize(executors)
                known = _drained(bench)
                estimate = _estimated(bench, known, executors)
                true = _drained(bench, settled=True)
                if estimate is None:
                    print(f"  {APP}, {name}, {executors} executors: no estimate", flush=True)
                    continue
                error = estimate / true - 1
                errors.append(abs(error))
                print(
                    f"  {APP}, {name}, {executors} executors: estimated {estimate:8.0f}, worked off {true:8.0f} "
                    f"records/s: {error:+.1%}",
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


def _drained(bench: AppBench, *, settled: bool = False) -> float:
    """The rate at which a backlog is worked off, once the app does not get faster any more."""
    warm_up, drains = WarmUp(first_records=20_000 if settled else 2000), list[Drain]()
    while (records := warm_up.next_records(drains)) is not None:
        drains.append(bench.drain(records))
    return max(drain.rate for drain in drains[-2:])


def _estimated(bench: AppBench, capacity: float, executors: int) -> float | None:
    """What the model says after having seen the executors under some loads."""
    model = CapacityModel(ignored_s=0.0)
    for share in LOADS:
        evaluator = Evaluator(keep_s=LOAD_S, engine=Engine.MICRO_BATCH)
        hold = bench.observe(share * capacity, LOAD_S)
        for sample in bench.samples(hold.started_s + LOAD_S / 4, hold.ended_s):
            evaluator.learn(sample)
        seen = evaluator.evaluate(now_s=hold.ended_s, window_s=LOAD_S, fields=frozenset({"course"}))
        for executor in seen.working_executors:
            model.learn(executor.id, executor.course, age_s=executor.age_s)
        bench.settle()
    found = model.present(executors)
    return None if found is None else found.rate
