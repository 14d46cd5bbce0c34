"""Daedalus' capacity model on real Spark: what it says of each size after some minutes of load, and what is true.

True is what ``headgate measure`` finds right before, on the same warm executors: between the greatest rate that was
sustained and the smallest that was not. Because a shared machine is faster or slower some minutes later, errors are
also given at one and the same pace of the machine (``benchmarks.pace``), and beside backlogs that are worked off
between the loads from which the model learns, each in one long batch. The model sees the loads only. Even and skewed
partitions; executors under a CPU quota, so that capacity grows with them.

All of it takes about 45 minutes; ``HEADGATE_BENCH_SKEW=even`` or ``Zipf-skewed`` does half. With
``HEADGATE_BENCH_FOLDER`` what was measured is kept there, and used instead of measuring where it is already there: so
another model can be judged by the same minutes.
"""

from __future__ import annotations

import contextlib
import json
import math
import os
import statistics
import sys
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from benchmarks.pace import Pace, read_pace, relative_speed, watched_pace
from headgate.config import AppFile
from headgate.control.evaluator import Evaluator
from headgate.core.knowledge import Engine
from headgate.core.ports import JournalReader
from headgate.journal import Excerpt, read_journal
from headgate.models.capacity import CapacityEstimate, CapacityModel
from headgate.scoring.backlogs import Drain, WarmUp
from headgate.scoring.holds import Step, longer_hold_s
from headgate.scoring.sustainable import Bracket, RateSearch
from headgate.wiring.bench import AppBench
from headgate.wiring.examples import named_app

APP, SIZES, QUOTA = "word-count", (1, 2, 3, 4), 0.2
"""So little that four executors, the producer and the broker fit on two cores: else the machine is what is measured."""
PARTITIONS = 12
"""As many tasks for each executor, on every size."""
WARM_S = 120.0
"""A driver gets faster for some minutes."""
LOADS = (0.4, 0.85)
"""Shares of what was measured, one after the other. Of a minute the paper says that it is enough; batches are few."""
LOAD_S, HOLD_S, PRECISION = 45.0, 15.0, 0.1
LONGEST_BATCH_S = 20.0
"""Measuring takes any rate that can be kept up, however long batches get."""
BACKLOG_SHARE = 0.9
"""Of what a batch of that length would take."""
_WARMING = 0.5
"""Of what the last backlog was worked off at."""
_EXPECTED = 0.95
"""Of what the executors of the next larger size carried."""
_AT_MOST = 1.6
"""Of that, or of what backlogs showed: looking further would only leave lag that takes minutes to be worked off."""
SKEWS = {"even": 0.0, "Zipf-skewed": 0.8}


def run() -> None:
    folder = Path(os.environ["HEADGATE_BENCH_FOLDER"]) if "HEADGATE_BENCH_FOLDER" in os.environ else None
    away: list[tuple[float, float, float]] = []
    for name, skew in SKEWS.items():
        if os.environ.get("HEADGATE_BENCH_SKEW", name) != name:
            continue
        with contextlib.ExitStack() as stack:
            place = folder or Path(stack.enter_context(tempfile.TemporaryDirectory()))
            measured, journal, pace = (place / f"{name}.{kind}" for kind in ("json", "db", "pace"))
            if not (measured.exists() and journal.exists()):
                place.mkdir(parents=True, exist_ok=True)
                with watched_pace(pace):
                    _measure(skew, name, measured, journal)
            sizes, paces = json.loads(measured.read_text()), read_pace(pace)
            away += [found for size in sizes if (found := _judge(name, size, journal, paces))]
    if away:
        raw, even, backlog = (statistics.median(map(abs, errors)) for errors in zip(*away, strict=True))
        print(
            f"  median error {raw:.1%}, at one pace {even:.1%}   goal ≤ 5 %   beside backlogs {backlog:.1%}", flush=True
        )


def _judge(name: str, size: dict[str, Any], journal: Path, paces: Sequence[Pace]) -> tuple[float, float, float] | None:
    """How far the model's estimate is from what was measured, as it is and at one pace, and from backlogs."""
    sustained, exceeded, executors = size["sustained"], size["exceeded"], size["executors"]
    what = f"{APP}, {name}, {executors} executors"
    if sustained is None or exceeded is None:
        print(f"  {what}: measured only {sustained} to {exceeded}", flush=True)
        return None
    with read_journal(journal) as reader:
        estimate = _estimated(reader, [hold["load"] for hold in size["holds"]], executors)
        backlog = _worked_off(reader, [hold["backlog"] for hold in size["holds"]])
    if estimate is None or backlog is None:
        print(f"  {what}: no estimate", flush=True)
        return None
    true = math.sqrt(sustained * exceeded)
    faster = relative_speed(paces, [hold["load"] for hold in size["holds"]]) / relative_speed(paces, [size["searched"]])
    away = estimate.rate / true - 1, estimate.rate / true / faster - 1, estimate.rate / backlog - 1
    print(
        f"  {what}: estimated {estimate.rate:8.0f} ({estimate.basis}), measured {sustained:8.0f} to "
        f"{exceeded:8.0f} records/s: {away[0]:+.1%}, on a machine {faster - 1:+.1%} faster: {away[1]:+.1%}, "
        f"backlogs {backlog:8.0f}: {away[2]:+.1%}",
        flush=True,
    )
    return away


def _measure(skew: float, name: str, measured: Path, journal: Path) -> None:
    """What each size carries, and when it then had loads below that; kept size by size, with the journal of all."""
    sizes: list[dict[str, Any]] = []
    of_one: float | None = None
    with AppBench(_app(skew), executors=SIZES, seed=0, say=lambda _: None) as bench:
        for executors in sorted(SIZES, reverse=True):
            bench.resize(executors)
            # Smaller sizes keep the oldest executors, which are warm.
            about = _warmed(bench) if of_one is None else _EXPECTED * of_one * executors
            began_s = time.time()
            found = _found(bench, about)
            searched = began_s, time.time()
            print(f"  {name}, {executors} executors: {found}", file=sys.stderr, flush=True)
            known = found.sustained is not None and found.exceeded is not None
            true = math.sqrt((found.sustained or 0.0) * (found.exceeded or 0.0))
            holds = [_held(bench, share * true, true) for share in LOADS] if known else []
            of_one = true / executors if known else None
            sizes.append(
                {
                    "executors": executors,
                    "sustained": found.sustained,
                    "exceeded": found.exceeded,
                    "searched": searched,
                    "holds": holds,
                }
            )
            measured.write_text(json.dumps(sizes))
            bench.keep_journal(journal)


def _app(skew: float) -> AppFile:
    app = named_app(Path(APP))
    (producer,) = app.producers
    return app.model_copy(
        update={
            "cluster": app.cluster.model_copy(update={"quota": QUOTA}),
            "topics": tuple(topic.model_copy(update={"partitions": PARTITIONS}) for topic in app.topics),
            "operators": tuple(each.model_copy(update={"max_parallelism": PARTITIONS}) for each in app.operators),
            "producers": (producer.model_copy(update={"partition_skew": skew}),),
        }
    )


def _warmed(bench: AppBench) -> float:
    """The rate at which a backlog is worked off, once the app does not get faster any more."""
    warm_up, drains = WarmUp(first_records=2000), list[Drain]()
    while (records := warm_up.next_records(drains)) is not None:
        drains.append(bench.drain(records))
    bench.observe(_WARMING * drains[-1].rate, WARM_S)
    bench.settle()
    return bench.drain(drains[-1].records).rate


def _held(bench: AppBench, load: float, capacity: float) -> dict[str, tuple[float, float]]:
    """When that load was there, and then a backlog; the app has nothing left to do after each."""
    hold = bench.observe(load, LOAD_S)
    bench.settle()
    began_s = time.time()
    bench.drain(round(BACKLOG_SHARE * LONGEST_BATCH_S * capacity))
    return {"load": (hold.started_s, hold.ended_s), "backlog": (began_s, time.time())}


def _estimated(reader: JournalReader, loads: Sequence[tuple[float, float]], executors: int) -> CapacityEstimate | None:
    """What the model says after having seen the executors under some loads."""
    model = CapacityModel(ignored_s=0.0, longest_batch_s=LONGEST_BATCH_S)
    for started_s, ended_s in loads:
        evaluator = Evaluator(keep_s=LOAD_S, engine=Engine.MICRO_BATCH)
        for sample in Excerpt(reader, since_s=started_s + LOAD_S / 8, until_s=ended_s).samples():
            evaluator.learn(sample)
        seen = evaluator.evaluate(now_s=ended_s, window_s=LOAD_S, fields=frozenset({"course"}))
        for executor in seen.working_executors:
            model.learn(executor.id, executor.course, age_s=executor.age_s)
    return model.present(executors)


def _worked_off(reader: JournalReader, backlogs: Sequence[tuple[float, float]]) -> float | None:
    """Records a second in the batches that took most of each backlog."""
    longest = [
        max(batches, key=lambda batch: batch.records)
        for began_s, ended_s in backlogs
        if (
            batches := [
                batch
                for sample in Excerpt(reader, since_s=began_s, until_s=ended_s + 2.0).samples()
                for operator in sample.operators
                for batch in operator.batches
            ]
        )
    ]
    taken_s = sum(batch.finished_s - batch.started_s for batch in longest)
    return sum(batch.records for batch in longest) / taken_s if taken_s > 0 else None


def _found(bench: AppBench, about: float) -> Bracket:
    """As ``headgate measure`` searches, from what a backlog showed."""
    search, steps = RateSearch(start=about, most=_AT_MOST * about, growth=1.15, precision=PRECISION), list[Step]()
    while (rate := search.next_rate(steps)) is not None:
        steps.append(bench.hold(rate, HOLD_S, lambda step: longer_hold_s(step, hold_s=HOLD_S)))
        bench.settle()
    return search.bracket(steps)
