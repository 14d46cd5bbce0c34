"""What an experiment consists of: jobs under several policies, and what was published about them."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from headgate.core.allocation import Bounds
from headgate.report.course import Course
from headgate.sim import Scenario
from headgate.sim.capacity import carried
from headgate.wiring.simulation import Simulation
from headgate.workloads import Workload, parse_workload


@dataclass(frozen=True, slots=True, kw_only=True)
class Published:
    """What a paper says about one policy on one job."""

    executors: float | None = None
    latency_s: float | None = None
    """Averaged as the paper does."""
    mean_s: float | None = None
    """Of single records, as is the longest."""
    longest_s: float | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Arm:
    """One policy of a comparison."""

    label: str
    policy: str
    published: Published = Published()


@dataclass(frozen=True, slots=True, kw_only=True)
class Job:
    """One workload on one app, whose peak is a share of what so many executors carry."""

    title: str
    about: str
    trace: str
    """A workload: a shape or a file."""
    scenario: Scenario
    bounds: Bounds
    arms: tuple[Arm, ...]
    duration_s: float
    peak_share: float
    peak_executors: int
    time_scale: float = 1.0
    process: str = "even"
    """How records come at the workload's rate."""
    sink: str | None = None
    """The operator at whose end records are finished, where the paper looks at the ways to one only."""
    counted: str = "executors"

    def workload(self, seed: int) -> Workload:
        peak = self.peak_share * carried(self.scenario, self.peak_executors, seed=seed)
        return parse_workload(self.trace, peak=peak, duration_s=self.duration_s, time_scale=self.time_scale)

    def simulation(self, arm: Arm, seed: int) -> Simulation:
        return Simulation(
            policy=arm.policy,
            workload=self.workload(seed),
            scenario=self.scenario,
            bounds=self.bounds,
            process=self.process,
            seed=seed,
        )

    @property
    def floor(self) -> float:
        """Executors in fractions that would carry the load at every moment, if capacity were divided like water."""
        load = self.workload(0)
        return float(load.rates.mean()) / (carried(self.scenario, self.peak_executors) / self.peak_executors)


@dataclass(frozen=True, slots=True, kw_only=True)
class Figure:
    """A figure over all repetitions."""

    mean: float
    least: float
    most: float
    published: float | None = None

    @property
    def deviation(self) -> float | None:
        """From the published one, as a share of it."""
        return None if not self.published else self.mean / self.published - 1.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Recoveries:
    """Rescales whose recovery was predicted and then seen."""

    count: int
    predicted_s: float | None = None
    measured_s: float | None = None
    """Medians."""
    over_predicted: float | None = None
    """Share of them that took no longer than predicted."""
    error: float | None = None
    """Median of |measured − predicted| ÷ measured."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Row:
    """One policy on one job, over all repetitions."""

    label: str
    policy: str
    executors: Figure
    p95_over_time_s: Figure | None
    """Mean over time of the 95th percentile of each window: what papers call average latency."""
    mean_s: Figure | None
    p95_s: Figure | None
    p99_s: Figure | None
    longest_s: Figure | None
    rescalings: Figure
    lag_final: Figure
    recoveries: Recoveries


@dataclass(frozen=True, slots=True, kw_only=True)
class Section:
    """One table of an experiment, with the figures that belong to it."""

    title: str
    about: str
    rows: tuple[Row, ...]
    counted: str = "executors"
    """What a paper counts: executors, or instances of operators."""
    floor: float | None = None
    notes: tuple[str, ...] = ()
    courses: tuple[Course, ...] = field(default=(), repr=False)
    """Of the first repetition, one a row."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Sweep:
    """One option tried at several values."""

    title: str
    about: str
    option: str
    values: tuple[float, ...]
    rows: tuple[tuple[str, tuple[Row, ...]], ...]
    """By job, a row for each value."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Reproduction:
    """An experiment that was run again."""

    paper: str
    title: str
    source: str
    repetitions: int
    verdict: str
    notes: tuple[str, ...]
    sections: tuple[Section, ...]
    beyond: tuple[Section, ...] = ()
    """What the paper left open."""
    sweeps: tuple[Sweep, ...] = ()
    virtual: bool = True
    """Whether it was run in the simulator, and not on a real cluster."""

    def to_document(self) -> dict[str, Any]:
        return {
            "paper": self.paper,
            "source": self.source,
            "repetitions": self.repetitions,
            "virtual": self.virtual,
            "verdict": self.verdict,
            "notes": list(self.notes),
            "sections": [_section(section) for section in self.sections],
            "beyond": [_section(section) for section in self.beyond],
            "sweeps": [_sweep(sweep) for sweep in self.sweeps],
        }


def _section(section: Section) -> dict[str, Any]:
    return {
        "title": section.title,
        "about": section.about,
        "floor": section.floor,
        "notes": list(section.notes),
        "rows": [_row(row) for row in section.rows],
    }


def _sweep(sweep: Sweep) -> dict[str, Any]:
    return {
        "title": sweep.title,
        "option": sweep.option,
        "values": list(sweep.values),
        "jobs": [{"job": job, "rows": [_row(row) for row in rows]} for job, rows in sweep.rows],
    }


def _row(row: Row) -> dict[str, Any]:
    figures = ("executors", "p95_over_time_s", "mean_s", "p95_s", "p99_s", "longest_s", "rescalings", "lag_final")
    return {
        "label": row.label,
        "policy": row.policy,
        **{name: _figure(getattr(row, name)) for name in figures},
        "recoveries": {
            name: getattr(row.recoveries, name)
            for name in ("count", "predicted_s", "measured_s", "over_predicted", "error")
        },
    }


def _figure(figure: Figure | None) -> dict[str, float | None] | None:
    if figure is None:
        return None
    return {
        "mean": figure.mean,
        "least": figure.least,
        "most": figure.most,
        "published": figure.published,
        "deviation": figure.deviation,
    }
