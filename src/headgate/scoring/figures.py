"""The figures of a run that take more than a look at one series."""

from __future__ import annotations

import math

import numpy as np

from headgate.scoring.elasticity import Provisioning, StepFunction, excess_time, provisioning
from headgate.scoring.run import RunSeries

WINDOW_S = 10.0


def throughput_degradation(run: RunSeries, *, window_s: float = WINDOW_S) -> float | None:
    """ELYSIUM's |input − throughput| ÷ input, averaged over the windows in which anything came."""
    edges = run.windows(window_s)
    if not len(edges):
        return None
    came = run.arrival_rate(edges)
    done = run.throughput(edges)
    some = came > 0
    return float(np.mean(np.abs(came[some] - done[some]) / came[some])) if some.any() else None


def violation_share(run: RunSeries, *, limit_s: float) -> float | None:
    """Share of the records whose latency is known to be above, or known not to be above, a limit."""
    latencies, ages = run.latencies(), run.records.ages(run.ended_s)
    late = latencies.weight * latencies.share_above(limit_s) if latencies is not None else 0.0
    overdue = ages.weight * ages.share_above(limit_s) if ages is not None else 0.0
    known = (latencies.weight if latencies is not None else 0.0) + overdue
    return (late + overdue) / known if known > 0 else None


def estimated_capacity(run: RunSeries) -> float | None:
    """Records per second of one executor: the median of what the run's evaluations show."""
    return float(np.median(run.capacities)) if len(run.capacities) else None


def demand(run: RunSeries, *, capacity: float, window_s: float = WINDOW_S) -> StepFunction:
    """Executors that an ideal scaler would have had, instantly, in each window."""
    edges = run.windows(window_s)
    # A hair less, so that a load of exactly three executors does not need four.
    needed = np.ceil(run.arrival_rate(edges) / capacity - 1e-9)
    return StepFunction(times_s=edges[:-1], values=np.maximum(needed, run.header.description.bounds.least))


def provisioning_of(run: RunSeries, *, capacity: float | None, window_s: float = WINDOW_S) -> Provisioning | None:
    """SPEC's figures against the demand; ``None`` if capacity or demand are not known."""
    if capacity is None or capacity <= 0 or run.duration_s <= 0:
        return None
    wanted = demand(run, capacity=capacity, window_s=window_s)
    return provisioning(wanted, run.steps(run.active), start_s=run.started_s, end_s=run.ended_s)


def excess_time_of(run: RunSeries, *, capacity: float | None) -> float | None:
    """Where the run ended before its input was finished, the rest is reckoned with the executors of its end."""
    finished = run.records.finished
    if not len(finished):
        return None
    waiting = float(run.records.records[~finished].sum())
    actual_s = float(run.records.finished1_s[finished].max(initial=-math.inf))
    if waiting > 0:
        strength = (capacity or 0.0) * run.active[-1]
        if strength <= 0:
            return None
        actual_s = run.ended_s + waiting / float(strength)
    return excess_time(actual_s=actual_s, ideal_s=run.input_ended_s(), duration_s=run.duration_s)
