"""The result of a run: the document that ``simulate --json`` prints and a report begins with.

How each figure comes about:

- ``records``: ``in`` is what came to the sources, ``out`` how many of these every sink has finished.
- ``executors``: all that are there and paid for; the mean is over time.
- ``latency_s``: per record, arrival to the end of the batch (or chain) that wrote it.
- ``throughput_degradation``: |input − throughput| ÷ input, averaged over windows with input (ELYSIUM).
- ``executors_saved``: 1 − Σ executors ÷ (steps × most): what a fixed size at the upper bound would have cost more.
- ``elasticity``: against the executors that the mean arrival rate of each window demands, at least the
  lower bound. The capacity of an executor is given, or the median of what the run's evaluations show.
- ``slo.violation_share``: records that took longer than the limit, those that are still waiting and
  already older among them.

A figure that cannot be known is ``None``.
"""

from __future__ import annotations

import dataclasses
from dataclasses import dataclass
from typing import Annotated, Any

import numpy as np
from pydantic import Field

from headgate import codec
from headgate.core.ports import JournalReader
from headgate.scoring.distribution import Distribution
from headgate.scoring.figures import (
    WINDOW_S,
    estimated_capacity,
    excess_time_of,
    provisioning_of,
    throughput_degradation,
    violation_share,
)
from headgate.scoring.run import RunSeries

SLO_LATENCY_S = 10.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Records:
    in_: Annotated[int, Field(alias="in")]
    out: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Executors:
    mean: float
    min: int
    max: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Latency:
    mean: float | None
    p50: float | None
    p95: float | None
    p99: float | None
    max: float | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Lag:
    mean: float
    max: float
    final: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Elasticity:
    accuracy_o: float | None
    accuracy_u: float | None
    timeshare_o: float | None
    timeshare_u: float | None
    excess_time: float | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Slo:
    latency_s: float
    violation_share: float | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Result:
    """One run in figures."""

    policy: str
    workload: str
    scenario: str
    seed: int
    duration_s: float
    records: Records
    executors: Executors
    executor_seconds: float
    rescalings: int
    latency_s: Latency
    lag_records: Lag
    throughput_degradation: float | None
    executors_saved: float | None
    elasticity: Elasticity
    slo: Slo

    def to_document(self) -> dict[str, Any]:
        """Plain values, in the words of the public interface."""
        document = dataclasses.asdict(self)
        document["records"] = {"in": self.records.in_, "out": self.records.out}
        return document

    @classmethod
    def from_document(cls, document: Any, *, where: str) -> Result:
        return codec.from_plain(cls, document, where=where)


def score(
    reader: JournalReader,
    *,
    workload: str = "",
    scenario: str = "",
    seed: int = 0,
    slo_latency_s: float = SLO_LATENCY_S,
    capacity: float | None = None,
    most_executors: int | None = None,
    window_s: float = WINDOW_S,
) -> Result:
    """Read a journal and score its run."""
    return score_series(
        RunSeries.from_journal(reader),
        workload=workload,
        scenario=scenario,
        seed=seed,
        slo_latency_s=slo_latency_s,
        capacity=capacity,
        most_executors=most_executors,
        window_s=window_s,
    )


def score_series(
    run: RunSeries,
    *,
    workload: str = "",
    scenario: str = "",
    seed: int = 0,
    slo_latency_s: float = SLO_LATENCY_S,
    capacity: float | None = None,
    most_executors: int | None = None,
    window_s: float = WINDOW_S,
) -> Result:
    """Score a run that has been read already.

    ``capacity`` is the records per second of one executor; ``most_executors`` stands in for the
    upper bound that the journal names.
    """
    executors = run.steps(run.executors)
    mean_executors = executors.mean(run.started_s, run.ended_s)
    most = most_executors or run.header.description.bounds.most
    return Result(
        policy=run.header.policy,
        workload=workload,
        scenario=scenario,
        seed=seed,
        duration_s=run.duration_s,
        records=Records(
            in_=round(float(run.arrived_by(np.array([run.ended_s]))[0])),
            out=round(float(run.records.records[run.records.finished].sum())),
        ),
        executors=Executors(mean=mean_executors, min=int(run.executors.min()), max=int(run.executors.max())),
        executor_seconds=mean_executors * run.duration_s,
        rescalings=run.rescalings,
        latency_s=_latency(run.latencies()),
        lag_records=Lag(
            mean=run.steps(run.lag_records).mean(run.started_s, run.ended_s),
            max=float(run.lag_records.max()),
            final=float(run.lag_records[-1]),
        ),
        throughput_degradation=throughput_degradation(run, window_s=window_s),
        executors_saved=1.0 - mean_executors / most,
        elasticity=_elasticity(run, capacity=capacity, window_s=window_s),
        slo=Slo(latency_s=slo_latency_s, violation_share=violation_share(run, limit_s=slo_latency_s)),
    )


def score_recorded(
    reader: JournalReader,
    *,
    slo_latency_s: float = SLO_LATENCY_S,
    capacity: float | None = None,
    most_executors: int | None = None,
    window_s: float = WINDOW_S,
) -> Result:
    """Score a journal whose header tells the workload, scenario and seed, as far as they are known."""
    extra = reader.header().extra
    seed = extra.get("seed", 0)
    return score(
        reader,
        workload=str(extra.get("workload", "")),
        scenario=str(extra.get("scenario", "")),
        seed=seed if isinstance(seed, int) else 0,
        slo_latency_s=slo_latency_s,
        capacity=capacity,
        most_executors=most_executors,
        window_s=window_s,
    )


def _elasticity(run: RunSeries, *, capacity: float | None, window_s: float) -> Elasticity:
    per_executor = estimated_capacity(run) if capacity is None else capacity
    excess = excess_time_of(run, capacity=per_executor)
    figures = provisioning_of(run, capacity=per_executor, window_s=window_s)
    if figures is None:
        return Elasticity(accuracy_o=None, accuracy_u=None, timeshare_o=None, timeshare_u=None, excess_time=excess)
    return Elasticity(**dataclasses.asdict(figures), excess_time=excess)


def _latency(latencies: Distribution | None) -> Latency:
    if latencies is None:
        return Latency(mean=None, p50=None, p95=None, p99=None, max=None)
    return Latency(**dataclasses.asdict(latencies.spread()))
