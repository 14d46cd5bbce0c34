"""The experiment of Elastic Pulsar Functions (Russo Russo et al., ICPE Companion 2021, section 5).

Images come at random, at a rate that stays the same for ten minutes at a time, and are resized twice; one copy is
stored, the other goes through object recognition. Three functions, so at least three instances. What the paper does not
print is chosen here, and said on the page: its rates (they are drawn only) and its service times.
"""

from __future__ import annotations

import dataclasses
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from headgate.core.allocation import Bounds
from headgate.experiments.reproduction import Arm, Job, Published, Reproduction, Row, Section
from headgate.experiments.trials import Runner, unpublished
from headgate.sim import Scenario
from headgate.workloads import Workload

RATES = (1.0, 2.0, 3.0, 4.0, 2.0, 1.0)
"""Images per second, ten minutes each."""
INTERVAL_S = 600
RESIZE_S, RECOGNIZE_S, SERVICE_SCV = 0.05, 0.6, 0.25
FORECAST_S = 60.0
MOST_INSTANCES = 15

_OPERATOR = {"scalable": True, "parallelism": 1, "max_parallelism": MOST_INSTANCES, "service_scv": SERVICE_SCV}
IMAGES = Scenario.model_validate(
    {
        "name": "images",
        "description": "two resizes and object recognition, image by image",
        "engine": "continuous",
        "executors": 3,
        "startup_s": 1.0,
        "stop_s": 0.0,
        "operators": (
            {"name": "resize-to-store", "capacity": 1 / RESIZE_S, **_OPERATOR},
            {"name": "resize-to-recognize", "capacity": 1 / RESIZE_S, **_OPERATOR},
            {"name": "recognize", "upstream": ("resize-to-recognize",), "capacity": 1 / RECOGNIZE_S, **_OPERATOR},
        ),
    }
)
"""An instance is a thread there, which is ready in a moment: an executor with one core here."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ImagesJob(Job):
    """Its load is a row of rates instead of a trace."""

    rates: tuple[float, ...] = RATES

    def workload(self, seed: int) -> Workload:  # noqa: ARG002 - the same for each
        return Workload(name="10 min at each rate", rates=np.repeat(self.rates, INTERVAL_S))


def images_job() -> ImagesJob:
    return ImagesJob(
        title="Images",
        about="Two resizes, one of them before object recognition. Latencies are those of the images recognized.",
        trace="",
        scenario=IMAGES,
        bounds=Bounds(3, 3 * MOST_INSTANCES),
        arms=(
            Arm(
                label="threshold",
                policy="threshold-backlog",
                published=Published(executors=3.5, mean_s=23.0, longest_s=74.0),
            ),
            Arm(label="DS2", policy="ds2", published=Published(executors=4.5, mean_s=2.7, longest_s=26.0)),
            Arm(
                label="queueing, path",
                policy="queueing-path",
                published=Published(executors=5.0, mean_s=1.03, longest_s=3.0),
            ),
            Arm(label="queueing, function", policy="queueing-function"),
        ),
        duration_s=float(INTERVAL_S * len(RATES)),
        peak_share=1.0,
        peak_executors=1,
        process="poisson",
        sink="recognize",
        counted="instances",
    )


def reproduce(runner: Runner, traces: Path) -> Reproduction:  # noqa: ARG001 - its load is not a recorded one
    job = images_job()
    section, foreseen = runner.sections([job, _foreseeing(job)])
    return Reproduction(
        paper="elastic-functions",
        title="Elastic Pulsar Functions, reproduced",
        source="Russo Russo, Schiazza and Cardellini, ICPE Companion 2021, section 5",
        repetitions=runner.repetitions,
        verdict=verdict(section),
        notes=_notes(),
        sections=(section,),
        beyond=(dataclasses.replace(foreseen, notes=(_effect(section, foreseen),)),),
    )


def _foreseeing(job: ImagesJob) -> ImagesJob:
    """What the authors leave for later work."""
    return dataclasses.replace(
        job,
        title="Images, with foreseen rates",
        about=f"The same policies, deciding on the highest rate foreseen for {FORECAST_S:g} s instead of that of now.",
        arms=tuple(
            dataclasses.replace(arm, policy=f"{arm.policy}:forecast_s={FORECAST_S:g}") for arm in unpublished(job.arms)
        ),
    )


def _effect(without: Section, foreseen: Section) -> str:
    """What foreseeing changes, policy by policy."""
    told = [
        f"{before.label} {mean_of(before):.2g} → {mean_of(after):.2g} s on average, "
        f"{_longest_s(before):.2g} → {_longest_s(after):.2g} s at most, "
        f"{before.executors.mean:.2f} → {after.executors.mean:.2f} instances"
        for before, after in zip(without.rows, foreseen.rows, strict=True)
    ]
    return f"{'; '.join(told)}. Nothing foresees the moment of a step: what is gained is gained after it."


def _longest_s(row: Row) -> float:
    return row.longest_s.mean if row.longest_s is not None else 0.0


def verdict(section: Section) -> str:
    rows = [row for row in section.rows if row.executors.published is not None]
    instances = [row.label for row in sorted(rows, key=lambda row: row.executors.mean)]
    responses = [row.label for row in sorted(rows, key=mean_of, reverse=True)]
    published = [row.label for row in rows]
    same = [what for what, order in (("instances", instances), ("response time", responses)) if order == published]
    told = "; ".join(
        f"{row.label} {row.executors.mean:.1f} instances and {mean_of(row):.2g} s "
        f"({row.executors.published:g} and {row.mean_s.published if row.mean_s else 0:g} published)"
        for row in rows
    )
    order = f"The published order holds in {' and in '.join(same)}" if same else "The published order does not hold"
    return f"{told}. {order}."


def mean_of(row: Row) -> float:
    return row.mean_s.mean if row.mean_s is not None else 0.0


def _notes() -> tuple[str, ...]:
    rates = ", ".join(f"{rate:g}" for rate in RATES)
    chosen = (
        f"Chosen, because it is not printed: {rates} images a second, each for ten minutes; {RESIZE_S:g} s for a "
        f"resize and {RECOGNIZE_S:g} s for recognition, with a squared variation of {SERVICE_SCV:g}. These need 3 to 6 "
        "instances, where the paper has 3 to 7. They were chosen after looking at the threshold's instances."
    )
    instances = (
        "An instance is an executor with one core, ready a second after it was asked for; 15 instances a function at "
        "most, a decision every 30 s, a response of 1 s wanted of each path (or function)."
    )
    responses = (
        "Single images are simulated, with exponential times between them; a response is from an image's arrival to "
        "the end of its recognition. The longest is that of a single image; the paper's peaks are of a curve."
    )
    queueing = "The paper's figures for queueing are those of the variant per path; of the other one it has none."
    return chosen, instances, responses, queueing
