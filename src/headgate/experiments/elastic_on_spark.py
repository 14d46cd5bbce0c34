"""The experiment of Elastic Pulsar Functions on real Kafka and Spark: the same policies, pictures and a detector.

Two minutes instead of ten at each rate. Micro-batches have a response time of their own, below which no number of
instances can be; so the response that is wanted is twice what the app needs without load, which is measured first.
"""

from __future__ import annotations

import dataclasses
import threading
from collections.abc import Callable
from pathlib import Path
from statistics import fmean

from headgate.config import AppFile, load_app
from headgate.core.ports import JournalReader
from headgate.experiments.elastic_functions import images_job, verdict
from headgate.experiments.reproduction import Reproduction, Row, Section
from headgate.experiments.trials import Runner, Seen, averaged, seen_in
from headgate.journal import read_journal
from headgate.scoring import Result, score_recorded
from headgate.wiring.app import RunningApp
from headgate.wiring.examples import example_app

Say = Callable[[str], None]

RATES = (3.0, 6.0, 9.0, 12.0, 6.0, 3.0)
"""Pictures per second, each for one interval: more than one instance of the detector can take, at their height."""
INTERVAL_S = 120.0
IDLE_RATE, IDLE_S = 0.5, 90.0
NODES, CORES, QUOTA = 4, 2, 0.4
"""Two slots an executor: five operators have an instance each at least."""
SINK = "results"


def reproduce(runner: Runner, folder: Path, say: Say) -> Reproduction:
    """One run a policy, one after the other; their journals stay in the folder."""
    job = images_job()
    advance = runner.begin("Images on Spark", len(job.arms) + 1)
    app = _app(folder, interval_s=INTERVAL_S, seed=runner.first_seed)
    say(f"measuring the response without load, for {IDLE_S:.0f} s …")
    idle = _run(_idle(app), f"static:executors={NODES}", "idle", say)
    # The median: the first pictures meet executors that are cold.
    floor_s = idle.result.latency_s.p50
    advance()
    if floor_s is None:
        raise RuntimeError("no picture was recognized without load")
    response_s = 2 * floor_s
    rows, courses = list[Row](), []
    for arm in job.arms:
        spec = f"{arm.policy}:response_s={response_s:.2f}" if arm.policy.startswith("queueing") else arm.policy
        say(f"{arm.label}: {spec}, {len(RATES)} × {INTERVAL_S:.0f} s …")
        seen = _run(app, spec, arm.policy, say)
        rows.append(averaged(dataclasses.replace(arm, policy=spec), [seen]))
        courses += [dataclasses.replace(seen.course, label=arm.label)] if seen.course is not None else []
        advance()
    section = Section(
        title="Images on Spark",
        about="Two resizes, one of them before a detector of faces, on real Kafka and Spark.",
        rows=tuple(rows),
        counted=job.counted,
        courses=tuple(courses),
    )
    return Reproduction(
        paper="elastic-functions",
        title="Elastic Pulsar Functions, on real Spark",
        source="Russo Russo, Schiazza and Cardellini, ICPE Companion 2021, section 5",
        repetitions=1,
        verdict=verdict(section),
        notes=_notes(floor_s, response_s),
        sections=(section,),
        virtual=False,
    )


def _app(folder: Path, *, interval_s: float, seed: int) -> AppFile:
    """The example, on small nodes, with the experiment's load."""
    app = load_app(example_app("images"))
    trace = folder / "rates.csv"
    folder.mkdir(parents=True, exist_ok=True)
    lines = [f"{second},{RATES[int(second // interval_s)]:g}" for second in range(int(interval_s * len(RATES)))]
    trace.write_text("\n".join(["seconds,records_per_second", *lines, ""]))
    (producer,) = app.producers
    load = {"workload": str(trace), "peak": None, "duration_s": None, "arrivals": "poisson", "seed": seed}
    cluster = {"nodes": NODES, "cores": CORES, "quota": QUOTA, "initial": NODES}
    # An operator starts with one instance, as a function does.
    operators = tuple(
        table.model_copy(update={"parallelism": 1}) if table.scalable else table for table in app.operators
    )
    return app.model_copy(
        update={
            "folder": folder,
            "cluster": app.cluster.model_copy(update=cluster),
            "operators": operators,
            "producers": (producer.model_copy(update=load),),
            "controller": app.controller.model_copy(update={"executors": (2, NODES), "guards": ()}),
        }
    )


def _idle(app: AppFile) -> AppFile:
    (producer,) = app.producers
    load = {"workload": f"constant:rate={IDLE_RATE:g}", "duration_s": IDLE_S}
    return app.model_copy(update={"producers": (producer.model_copy(update=load),)})


def _run(app: AppFile, policy: str, name: str, say: Say) -> Seen:
    """From the start to the last picture recognized."""
    controller = app.controller.model_copy(update={"policy": policy})
    app = app.model_copy(update={"controller": controller, "folder": app.folder / name})
    with RunningApp(app, say=say) as running:
        running.wait(stop=threading.Event())
    with read_journal(running.journal) as reader:
        seen = seen_in(reader, score_recorded(reader), sink=SINK, drawn=True)
        return dataclasses.replace(seen, result=_in_instances(seen.result, reader))


def _in_instances(result: Result, journal: JournalReader) -> Result:
    """Instances instead of executors: the slots that operators without state were given, on average over samples."""
    given = [
        sum(operator.parallelism or 0 for operator in sample.operators if operator.scalable)
        for sample in journal.samples()
    ]
    return dataclasses.replace(result, executors=dataclasses.replace(result.executors, mean=fmean(given)))


def _notes(floor_s: float, response_s: float) -> tuple[str, ...]:
    rates = ", ".join(f"{rate:g}" for rate in RATES)
    load = (
        f"{rates} pictures a second, {INTERVAL_S:.0f} s each, at random; {NODES} executors of {CORES} slots and "
        f"{QUOTA:g} of a core at most. Instances are the slots given to the four operators without state, of which "
        "each has one at least; the executors follow them."
    )
    response = (
        f"Without load a picture takes {floor_s:.1f} s (median), most of it waiting for micro-batches, so "
        f"{response_s:.1f} s are wanted of the policies that are told a response time. The published figures are of "
        "another engine and another machine: only the order of the policies can be compared."
    )
    return load, response
