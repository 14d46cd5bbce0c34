"""A recorded run as series of numbers: the one reading of a journal that results and reports share.

Executors are counted at each sample and taken to stay until the next. All that are there are paid
for (starting, active and leaving ones); only active ones are supply. Lag is the sum over operators
of what arrived and is not finished. Times are the journal's own; ``started_s`` is their zero.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from headgate.core.decision import Outcome
from headgate.core.graph import Graph, OperatorNode
from headgate.core.knowledge import Engine
from headgate.core.ports import JournalHeader, JournalReader
from headgate.core.sample import ArrivalPoint, Batch, ExecutorState, OperatorSample
from headgate.errors import UserMistake
from headgate.scoring.capacity import executor_capacity
from headgate.scoring.curves import ArrivalCurve, CompletionCurve
from headgate.scoring.distribution import Distribution
from headgate.scoring.elasticity import StepFunction
from headgate.scoring.latency import LatencyOverTime, OperatorCurves, Stretches, latency_over_time, stretches

Series = NDArray[np.float64]


class TickPoint(NamedTuple):
    """One decision, for figures and tables."""

    time_s: float
    wanted: int
    granted: int
    outcome: Outcome
    rescales: bool
    """Whether it was carried out and changed the size."""


@dataclass(frozen=True, kw_only=True, eq=False)
class RunSeries:
    """Everything that is measured about a run, over time."""

    header: JournalHeader
    started_s: float
    ended_s: float
    time_s: Series
    """Of the samples; the series below have one value for each."""
    executors: Series
    """There, and paid for."""
    active: Series
    """Of these, the ones that can be given tasks."""
    target: Series
    """What the agent was reconciling towards; what was there, where it did not say."""
    lag_records: Series
    ticks: tuple[TickPoint, ...]
    capacities: Series
    """Records per second of one executor, as each tick's evaluation shows it, where it does."""
    operators: Mapping[str, OperatorCurves]
    graph: Graph
    records: Stretches
    backlogs: Mapping[str, Series]
    """Lag of each operator at each sample; NaN where it was not there."""

    @classmethod
    def from_journal(cls, reader: JournalReader) -> RunSeries:
        """Read a run; samples and ticks are passed over once."""
        header = reader.header()
        reading = _Reading()
        for sample in reader.samples():
            waiting = 0.0
            for operator in sample.operators:
                waiting += reading.operator(operator).add(operator, sample.time_s, number=len(reading.rows))
            active = [executor.state for executor in sample.executors].count(ExecutorState.ACTIVE)
            target = sample.target_executors
            there = len(sample.executors)
            reading.rows.append((sample.time_s, there, active, there if target is None else target, waiting))
        if not reading.rows:
            raise UserMistake(
                f"the journal of '{header.app}' has no samples, so there is nothing to score; let the run go on longer"
            )
        cores = header.description.cores_per_executor
        points: list[TickPoint] = []
        capacities: list[float] = []
        for tick in reader.ticks():
            decision = tick.decision
            rescales = tick.outcome is Outcome.APPLIED and decision.changes
            points.append(
                TickPoint(tick.time_s, decision.wanted.executors, decision.granted.executors, tick.outcome, rescales)
            )
            capacity = executor_capacity(tick, cores=cores)
            if capacity is not None:
                capacities.append(capacity)
        table = np.array(reading.rows, dtype=np.float64)
        order = np.argsort(table[:, 0], kind="stable")
        table = table[order]
        started_s = _start(header, first_s=float(table[0, 0]), earliest_s=reading.earliest_s())
        at_once = header.description.engine is Engine.MICRO_BATCH
        curves = {
            name: operator.curves(at_once=at_once, since_s=started_s) for name, operator in reading.operators.items()
        }
        graph = reading.graph()
        return cls(
            header=header,
            started_s=started_s,
            ended_s=float(table[-1, 0]),
            time_s=table[:, 0],
            executors=table[:, 1],
            active=table[:, 2],
            target=table[:, 3],
            lag_records=table[:, 4],
            ticks=tuple(points),
            capacities=np.array(capacities),
            operators=curves,
            graph=graph,
            records=stretches(graph, curves),
            backlogs={name: operator.backlog(len(table))[order] for name, operator in reading.operators.items()},
        )

    def up_to(self, sink: str) -> RunSeries:
        """The same run as those records see it that end at one operator: without the ways to others."""
        kept, unseen = set[str](), [sink]
        while unseen:
            name = unseen.pop()
            kept.add(name)
            unseen += [each for each in self.graph[name].upstream if each not in kept]
        graph = Graph(tuple(node for node in self.graph if node.name in kept))
        return replace(self, graph=graph, records=stretches(graph, self.operators))

    @property
    def duration_s(self) -> float:
        return self.ended_s - self.started_s

    @property
    def rescalings(self) -> int:
        return sum(point.rescales for point in self.ticks)

    def steps(self, values: Series) -> StepFunction:
        """A series of the samples as a function of time."""
        return StepFunction(times_s=self.time_s, values=values)

    @property
    def arrival_curve_s(self) -> Series:
        """Moments at which the number of arrived records was sampled."""
        return np.unique(np.concatenate([np.array([self.started_s]), *(curve.times_s for curve in self._sources())]))

    @property
    def arrival_curve(self) -> Series:
        """Records arrived since the run's start, at each of ``arrival_curve_s``."""
        return self.arrived_by(self.arrival_curve_s)

    def arrived_by(self, times_s: Series) -> Series:
        """Records that had come to the app's sources since the run's start."""
        total = np.zeros(len(times_s))
        for curve in self._sources():
            total += curve.at(times_s) - curve.records[:1].sum()
        return total

    def finished_by(self, times_s: Series) -> Series:
        """Source records that every sink had finished; a batch counts evenly over its duration."""
        done = self.records.completions()
        return np.zeros(len(times_s)) if done is None else done.weight_until(times_s)

    def windows(self, window_s: float) -> Series:
        """Edges that cut the run into equal windows; what is left at the end is the last one's."""
        count = max(1, int(self.duration_s / window_s + 1e-9))
        edges: Series = self.started_s + window_s * np.arange(count + 1, dtype=np.float64)
        edges[-1] = self.ended_s
        return edges if self.duration_s > 0 else edges[:0]

    def arrival_rate(self, edges_s: Series) -> Series:
        """Records per second between each two edges."""
        return np.diff(self.arrived_by(edges_s)) / np.diff(edges_s)

    def throughput(self, edges_s: Series) -> Series:
        """Source records finished by every sink, per second, between each two edges."""
        return np.diff(self.finished_by(edges_s)) / np.diff(edges_s)

    def latencies(self) -> Distribution | None:
        """Per record, of those that were finished."""
        return self._latencies

    @cached_property
    def _latencies(self) -> Distribution | None:
        return self.records.latencies()

    def latency_over_time(self, window_s: float = 10.0) -> LatencyOverTime:
        return latency_over_time(self.records, start_s=self.started_s, window_s=window_s)

    def input_ended_s(self) -> float:
        """When the last record came."""
        ends = [curve.ended_s for curve in self._sources()]
        return max((end for end in ends if end is not None), default=self.ended_s)

    def _sources(self) -> list[ArrivalCurve]:
        return [self.operators[name].arrivals for name in self.graph.sources()]


def _start(header: JournalHeader, *, first_s: float, earliest_s: float) -> float:
    """The run's zero: when it was opened, unless samples were kept from long after that only."""
    earliest = min(first_s, earliest_s)
    just_opened = 0 <= earliest - header.started_s <= 2 * header.sampling_interval_s
    return header.started_s if just_opened else earliest


@dataclass(slots=True, kw_only=True)
class _OperatorReading:
    """One operator's raw curve and batches, gathered sample by sample."""

    node: OperatorNode
    points: list[ArrivalPoint] = field(default_factory=list)
    batches: list[Batch] = field(default_factory=list)
    done: list[tuple[float, float]] = field(default_factory=list)
    lags: dict[int, float] = field(default_factory=dict)
    """By the number of the sample."""

    def add(self, sample: OperatorSample, time_s: float, *, number: int) -> float:
        """Take in a sample; the lag that it shows."""
        self.points += sample.arrivals
        self.batches += sample.batches
        # Clocks may differ a little; a sample is never older than a batch that it reports.
        finished_s = sample.batches[-1].finished_s if sample.batches else time_s
        self.done.append((max(time_s, finished_s), sample.done_records))
        lag = max(0.0, self.points[-1].records - sample.done_records) if self.points else 0.0
        self.lags[number] = lag
        return lag

    def backlog(self, samples: int) -> Series:
        lags = np.full(samples, np.nan)
        lags[list(self.lags)] = list(self.lags.values())
        return lags

    def curves(self, *, at_once: bool, since_s: float) -> OperatorCurves:
        points = self.points
        # Nothing was done before the first sample, so what had arrived by then arrived in this run.
        fresh = self.done[0][1] == 0 or any(batch.first_record == 0 for batch in self.batches[:1])
        if fresh and points and points[0].records > 0 and points[0].time_s > since_s:
            points = [ArrivalPoint(since_s, 0.0), *points]
        completions = CompletionCurve.of(self.batches, self.done, at_once=at_once, since_s=since_s)
        return OperatorCurves(ArrivalCurve.of(points), completions)


@dataclass(slots=True)
class _Reading:
    rows: list[tuple[float, int, int, int, float]] = field(default_factory=list)
    operators: dict[str, _OperatorReading] = field(default_factory=dict)

    def operator(self, sample: OperatorSample) -> _OperatorReading:
        known = self.operators.get(sample.name)
        if known is None:
            node = OperatorNode(name=sample.name, upstream=sample.upstream)
            known = self.operators[sample.name] = _OperatorReading(node=node)
        return known

    def earliest_s(self) -> float:
        return min(
            (operator.points[0].time_s for operator in self.operators.values() if operator.points), default=np.inf
        )

    def graph(self) -> Graph:
        """As the samples tell it; an operator that never showed itself is left out."""
        nodes = [reading.node for reading in self.operators.values()]
        known = {node.name for node in nodes}
        return Graph(
            tuple(
                OperatorNode(name=node.name, upstream=tuple(name for name in node.upstream if name in known))
                for node in nodes
            )
        )
