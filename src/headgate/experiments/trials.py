"""How an experiment's simulations are run, read, and averaged over repetitions."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from statistics import median

from headgate.core.ports import JournalReader
from headgate.experiments.reproduction import Arm, Figure, Job, Published, Recoveries, Row, Section
from headgate.report.course import Course
from headgate.scoring import Result, RunSeries, score_series
from headgate.wiring.simulation import Simulation, simulate_all

_WINDOW_S = 10.0
"""Of the percentiles that are averaged over time; papers do not say theirs."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Seen:
    """What one run has shown."""

    result: Result
    p95_over_time_s: float | None
    recoveries: tuple[tuple[float, float], ...]
    """Predicted and measured, of each rescale of which both are known."""
    course: Course | None = None


def observe(trial: tuple[Simulation, str | None], *, first_seed: int = 0) -> Seen:
    """Run it, in whatever process, and keep what is small; of the first repetition also what is drawn.

    With the simulation comes the operator at whose end records are finished, if not at all ends.
    """
    simulation, sink = trial
    run = simulation.run()
    return seen_in(run.journal, run.result, sink=sink, drawn=simulation.seed == first_seed)


def seen_in(journal: JournalReader, result: Result, *, sink: str | None, drawn: bool) -> Seen:
    """What the journal of a run shows, simulated or real."""
    series = RunSeries.from_journal(journal)
    if sink is not None:
        series = series.up_to(sink)
        result = score_series(series, workload=result.workload, scenario=result.scenario, seed=result.seed)
    windows = series.latency_over_time(_WINDOW_S).p95_s
    recoveries = [
        (float(reason.inputs["predicted_s"]), float(reason.inputs["measured_s"]))
        for tick in journal.ticks()
        for reason in tick.decision.reasons
        if reason.code == "recovered" and None not in (reason.inputs["predicted_s"], reason.inputs["measured_s"])
    ]
    course = None
    if drawn:
        told = Course.of(journal, label=result.policy, result=result, sink=sink)
        course = dataclasses.replace(told, decisions=(), events=())
    return Seen(
        result=result,
        p95_over_time_s=float(windows.mean()) if len(windows) else None,
        recoveries=tuple(recoveries),
        course=course,
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class Runner:
    """Runs jobs, each policy several times."""

    repetitions: int = 5
    first_seed: int = 0
    begin: Callable[[str, int], Callable[[], None]] = lambda *_: lambda: None
    """Told what begins and how many simulations it has; what it answers is called after each."""

    def sections(self, jobs: Sequence[Job]) -> list[Section]:
        """All jobs at once, on all processors."""
        seeds = range(self.first_seed, self.first_seed + self.repetitions)
        trials = [(job, arm, seed) for job in jobs for arm in job.arms for seed in seeds]
        simulations = [(job.simulation(arm, seed), job.sink) for job, arm, seed in trials]
        advance = self.begin(", ".join(dict.fromkeys(job.title for job in jobs)), len(simulations))
        seen = simulate_all(simulations, partial(observe, first_seed=self.first_seed), advance=advance)
        found: list[Section] = []
        for job in jobs:
            rows, courses = [], []
            for arm in job.arms:
                mine = [one for (j, a, _), one in zip(trials, seen, strict=True) if j is job and a is arm]
                rows.append(averaged(arm, mine))
                courses += [dataclasses.replace(one.course, label=arm.label) for one in mine if one.course is not None]
            found.append(
                Section(
                    title=job.title,
                    about=_about(job),
                    rows=tuple(rows),
                    counted=job.counted,
                    floor=job.floor,
                    courses=tuple(courses),
                )
            )
        return found


def _about(job: Job) -> str:
    load = job.workload(0)
    return f"{job.about} The load's mean is {float(load.rates.mean()) / load.peak:.0%} of its peak."


def averaged(arm: Arm, seen: Sequence[Seen]) -> Row:
    """One policy over its repetitions."""
    published = arm.published
    results = [one.result for one in seen]
    return Row(
        label=arm.label,
        policy=arm.policy,
        executors=_figure([result.executors.mean for result in results], published.executors),
        p95_over_time_s=_known([one.p95_over_time_s for one in seen], published.latency_s),
        mean_s=_known([result.latency_s.mean for result in results], published.mean_s),
        p95_s=_known([result.latency_s.p95 for result in results]),
        p99_s=_known([result.latency_s.p99 for result in results]),
        longest_s=_known([result.latency_s.max for result in results], published.longest_s),
        rescalings=_figure([float(result.rescalings) for result in results]),
        lag_final=_figure([result.lag_records.final for result in results]),
        recoveries=_recoveries([pair for one in seen for pair in one.recoveries]),
    )


def _recoveries(pairs: Sequence[tuple[float, float]]) -> Recoveries:
    if not pairs:
        return Recoveries(count=0)
    errors = [abs(measured - predicted) / measured for predicted, measured in pairs if measured > 0]
    return Recoveries(
        count=len(pairs),
        predicted_s=median(predicted for predicted, _ in pairs),
        measured_s=median(measured for _, measured in pairs),
        over_predicted=sum(measured <= predicted for predicted, measured in pairs) / len(pairs),
        error=median(errors) if errors else None,
    )


def _known(values: Sequence[float | None], published: float | None = None) -> Figure | None:
    known = [value for value in values if value is not None]
    return _figure(known, published) if known else None


def _figure(values: Sequence[float], published: float | None = None) -> Figure:
    return Figure(mean=sum(values) / len(values), least=min(values), most=max(values), published=published)


def unpublished(arms: Sequence[Arm]) -> tuple[Arm, ...]:
    """The same policies where nothing was published about them."""
    return tuple(dataclasses.replace(arm, published=Published()) for arm in arms)
