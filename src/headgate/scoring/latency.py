"""How long records took, from their arrival at a source to the end of the batch (or chain) that wrote them.

Source records are cut into stretches within which arrival and completion are straight lines, so
latency is a line too, and a stretch weighs as much as it has records. Through a graph, a record that
operator A finishes at t arrives at the next operator at t, and is finished there when that
operator's input up to then is: maps of time to time, composed along the graph. Where ways join, the
latest counts.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from headgate.core.graph import Graph
from headgate.scoring.curves import ArrivalCurve, CompletionCurve, locate
from headgate.scoring.distribution import Distribution

Series = NDArray[np.float64]


@dataclass(frozen=True, slots=True, eq=False)
class OperatorCurves:
    arrivals: ArrivalCurve
    completions: CompletionCurve


@dataclass(frozen=True, slots=True, eq=False)
class Stretches:
    """Runs of source records; times are those of the first and of the last record of each."""

    records: Series
    arrived0_s: Series
    arrived1_s: Series
    began_s: Series
    """Start of the work that finished them: of the last micro-batch, or their own on a continuous engine."""
    finished0_s: Series
    finished1_s: Series
    """Infinite while not finished by every sink."""

    @classmethod
    def joined(cls, many: list[Stretches]) -> Stretches:
        if not many:
            return cls(*(np.zeros(0) for _ in range(6)))
        return cls(*(np.concatenate([getattr(one, name) for one in many]) for name in cls.__slots__))

    @property
    def finished(self) -> NDArray[np.bool_]:
        return np.isfinite(self.finished1_s)

    def latencies(self) -> Distribution | None:
        """Of the records that are finished."""
        return Distribution.of(*self.latency_ranges(), self.records[self.finished])

    def latency_ranges(self) -> tuple[Series, Series]:
        """The least and the greatest latency of each stretch that is finished; its records lie evenly between."""
        done = self.finished
        first = np.maximum(self.finished0_s[done] - self.arrived0_s[done], 0.0)
        last = np.maximum(self.finished1_s[done] - self.arrived1_s[done], 0.0)
        return np.minimum(first, last), np.maximum(first, last)

    def ages(self, now_s: float) -> Distribution | None:
        """How long the records that are not finished have been waiting."""
        open_ = ~self.finished
        youngest = np.maximum(now_s - self.arrived1_s[open_], 0.0)
        oldest = np.maximum(now_s - self.arrived0_s[open_], 0.0)
        return Distribution.of(youngest, oldest, self.records[open_])

    def completions(self) -> Distribution | None:
        """When work on finished records was done, each batch spread evenly over its duration."""
        done = self.finished
        return Distribution.of(
            np.minimum(self.began_s[done], self.finished1_s[done]), self.finished1_s[done], self.records[done]
        )


def stretches(graph: Graph, curves: Mapping[str, OperatorCurves]) -> Stretches:
    """All source records of an app with the times at which every sink had finished them."""
    return Stretches.joined([_from_source(graph, curves, source) for source in graph.sources()])


def _from_source(graph: Graph, curves: Mapping[str, OperatorCurves], source: str) -> Stretches:
    first = _through_one(curves[source])
    finishes = {source: (first.began_s, first.finished0_s, first.finished1_s)}
    ends: list[tuple[Series, Series, Series]] = []
    sinks = graph.sinks()
    for operator in graph:
        ways = [finishes[name] for name in operator.upstream if name in finishes]
        if ways:
            _, came0, came1 = _latest(ways)
            finishes[operator.name] = _onwards(curves[operator.name], came0, came1)
        if operator.name in finishes and operator.name in sinks:
            ends.append(finishes[operator.name])
    began, finished0, finished1 = _latest(ends)
    return Stretches(first.records, first.arrived0_s, first.arrived1_s, began, finished0, finished1)


def _through_one(operator: OperatorCurves) -> Stretches:
    arrived, done = operator.arrivals, operator.completions
    if len(arrived.records) < 2:
        return Stretches.joined([])
    start = arrived.records[0] if not len(done.first) else max(arrived.records[0], done.first[0])
    cuts = np.concatenate([arrived.records, done.first, done.end, [start]])
    cuts = np.unique(cuts[(cuts >= start) & (cuts <= arrived.records[-1])])
    low, high = cuts[:-1], cuts[1:]
    arrived0, arrived1 = _arrived(arrived, low, high)
    began, finished0, finished1 = _finished(done, low, high)
    return Stretches(high - low, arrived0, arrived1, began, finished0, finished1)


def _arrived(curve: ArrivalCurve, low: Series, high: Series) -> tuple[Series, Series]:
    at, _ = locate(low, high, curve.records[1:])
    start, time_s = curve.records[at], curve.times_s[at]
    pace = (curve.times_s[at + 1] - time_s) / (curve.records[at + 1] - start)
    return time_s + (low - start) * pace, time_s + (high - start) * pace


def _finished(curve: CompletionCurve, low: Series, high: Series) -> tuple[Series, Series, Series]:
    index, known = locate(low, high, curve.end)
    at = index[known]
    start, time_s = curve.first[at], curve.first_finished_s[at]
    pace = (curve.finished_s[at] - time_s) / (curve.end[at] - start)
    began, finished0, finished1 = (np.full(len(low), np.inf) for _ in range(3))
    finished0[known] = time_s + (low[known] - start) * pace
    finished1[known] = time_s + (high[known] - start) * pace
    began[known] = np.where(pace > 0, finished0[known], curve.began_s[at])
    return began, finished0, finished1


def _onwards(operator: OperatorCurves, came0: Series, came1: Series) -> tuple[Series, Series, Series]:
    _, finished0 = _time_map(operator, came0)
    began, finished1 = _time_map(operator, came1)
    return began, np.minimum(finished0, finished1), finished1


def _time_map(operator: OperatorCurves, came_s: Series) -> tuple[Series, Series]:
    began = np.full(len(came_s), np.inf)
    finished = np.full(len(came_s), np.inf)
    known = np.isfinite(came_s)
    began[known], finished[known] = operator.completions.through(operator.arrivals.at(came_s[known]))
    # An operator that let nothing through since then was finished with the record when it came.
    return np.maximum(began, came_s), np.maximum(finished, came_s)


def _latest(ways: list[tuple[Series, Series, Series]]) -> tuple[Series, Series, Series]:
    began, finished0, finished1 = ways[0]
    for other_began, other0, other1 in ways[1:]:
        began = np.where(other1 > finished1, other_began, began)
        finished0, finished1 = np.maximum(finished0, other0), np.maximum(finished1, other1)
    return began, finished0, finished1


@dataclass(frozen=True, slots=True, eq=False)
class LatencyOverTime:
    """Latency of the records that were finished in each window in which any were."""

    time_s: Series
    """Middle of the window."""
    mean_s: Series
    p95_s: Series


def latency_over_time(runs: Stretches, *, start_s: float, window_s: float) -> LatencyOverTime:
    """A stretch belongs to the window in which its middle record was finished."""
    done = runs.finished
    finished_s = (runs.finished0_s[done] + runs.finished1_s[done]) / 2
    windows, index = np.unique(np.floor((finished_s - start_s) / window_s), return_inverse=True)
    low, high = runs.latency_ranges()
    share = runs.records[done] / np.bincount(index, weights=runs.records[done])[index]
    means: Series = np.bincount(index, weights=share * (low + high) / 2, minlength=len(windows)).astype(np.float64)
    return LatencyOverTime(
        time_s=start_s + (windows + 0.5) * window_s,
        mean_s=means,
        p95_s=_quantiles(low, high, share, index, count=len(windows), of=0.95),
    )


def _quantiles(low: Series, high: Series, share: Series, group: NDArray[np.intp], *, count: int, of: float) -> Series:
    """A quantile of each group: all groups, of weight 1 each, side by side on one axis."""
    apart = high.max(initial=0.0) + 1.0
    joint = Distribution.of(low + group * apart, high + group * apart, share)
    if joint is None:
        return np.zeros(0)
    return np.array([joint.quantile((number + of) / count) - number * apart for number in range(count)])
