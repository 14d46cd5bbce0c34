"""A run as the page tells it: its series since the start, its decisions, events and figures.

What is computed about a run is computed by ``headgate.scoring``; here it is only arranged.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from headgate.core.decision import Tick
from headgate.core.ports import JournalHeader, JournalReader
from headgate.core.sample import AgentEvent, Sample
from headgate.report import wording
from headgate.report.axes import Floats
from headgate.report.chronicle import DecisionRow, decision_rows
from headgate.report.document import AnyResult, document_of
from headgate.report.reckoning import Reckoned, Reckoning
from headgate.report.verdict import text, value
from headgate.scoring import RunSeries, demand, estimated_capacity, score_series

_SHORTEST_WINDOW_S = 5.0
_LONGEST_WINDOW_S = 30.0
_WINDOWS = 1200
_SHARES = np.concatenate([np.linspace(0.0, 0.99, 300, endpoint=False), np.linspace(0.99, 1.0, 60)])


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Course:
    """Times of series are seconds since ``started_s``; NaN in a series is unknown."""

    label: str
    header: JournalHeader
    document: Mapping[str, Any]
    started_s: float
    span_s: float
    times: Floats
    """Of the samples."""
    lag: Floats
    backlogs: Mapping[str, Floats]
    """Lag of each operator."""
    there: Floats
    """Executors that are there and paid for."""
    active: Floats
    """Of these, the ones that can be given tasks."""
    demand: Floats | None
    """Executors that would have sufficed, where that is known."""
    rate_times: Floats
    load: Floats
    throughput: Floats
    tick_times: Floats
    wanted: Floats
    granted: Floats
    latency_times: Floats
    latency_mean: Floats
    latency_p95: Floats
    latency_values: Floats
    """Latencies in ascending order, and the share of records at or below each."""
    latency_shares: Floats
    reckoning: Reckoning
    decisions: tuple[DecisionRow, ...]
    events: tuple[AgentEvent, ...]

    @classmethod
    def of(
        cls, reader: JournalReader, *, label: str, result: AnyResult | None = None, sink: str | None = None
    ) -> Course:
        """``sink`` names the operator at whose end records are finished, where only the ways to that one count."""
        listening = _Listening(reader)
        run = RunSeries.from_journal(listening)
        if sink is not None:
            run = run.up_to(sink)
        window_s = _window_s(run)
        edges = run.windows(window_s)
        latency = run.latency_over_time(window_s)
        latencies = run.latencies()
        capacity = estimated_capacity(run)
        reckoned = Reckoned(run.started_s)
        decisions = tuple(decision_rows(reckoned.watching(reader.ticks())))
        ticks = np.array([(tick.time_s, tick.wanted, tick.granted) for tick in run.ticks], dtype=np.float64)
        ticks = ticks.reshape(-1, 3)
        if len(ticks):
            # The last decision holds until the end.
            ticks = np.vstack([ticks, [max(run.ended_s, ticks[-1, 0]), *ticks[-1, 1:]]])
        return cls(
            label=label,
            header=run.header,
            document=document_of(score_series(run) if result is None else result),
            started_s=run.started_s,
            span_s=run.duration_s,
            times=run.time_s - run.started_s,
            lag=run.lag_records,
            backlogs=run.backlogs,
            there=run.executors,
            active=run.active,
            demand=demand(run, capacity=capacity).at(run.time_s) if capacity and len(edges) else None,
            rate_times=(edges[1:] + edges[:-1]) / 2 - run.started_s,
            load=run.arrival_rate(edges),
            throughput=run.throughput(edges),
            tick_times=ticks[:, 0] - run.started_s,
            wanted=ticks[:, 1],
            granted=ticks[:, 2],
            latency_times=latency.time_s - run.started_s,
            latency_mean=latency.mean_s,
            latency_p95=latency.p95_s,
            latency_values=np.zeros(0)
            if latencies is None
            else np.interp(_SHARES * latencies.weight, latencies.below, latencies.knots),
            latency_shares=np.zeros(0) if latencies is None else _SHARES,
            reckoning=reckoned.reckoning,
            decisions=decisions,
            events=tuple(sorted(listening.events, key=lambda event: event.time_s)),
        )

    @property
    def workload(self) -> str:
        return str(self.document.get("workload") or self.header.extra.get("workload") or "")

    @property
    def scenario(self) -> str:
        return str(self.document.get("scenario") or self.header.extra.get("scenario") or "")

    @property
    def slo_s(self) -> float | None:
        return value(self.document, "slo.latency_s")

    @property
    def in_short(self) -> str:
        """What a small figure has room to say."""
        rescalings = wording.counted(value(self.document, "rescalings") or 0, "rescaling")
        return f"mean {text(self.document, 'executors.mean')}, {rescalings}, p95 {text(self.document, 'latency_s.p95')}"


class _Listening:
    """Passes a journal on and keeps the events that go by, so that its samples are read once."""

    def __init__(self, reader: JournalReader) -> None:
        self._reader = reader
        self.events: list[AgentEvent] = []

    def header(self) -> JournalHeader:
        return self._reader.header()

    def samples(self, *, since_s: float | None = None) -> Iterator[Sample]:
        for sample in self._reader.samples(since_s=since_s):
            self.events += sample.events
            yield sample

    def ticks(self, *, since_s: float | None = None) -> Iterator[Tick]:
        return self._reader.ticks(since_s=since_s)

    def last_tick(self) -> Tick | None:
        return self._reader.last_tick()


def _window_s(run: RunSeries) -> float:
    """Long enough for two batches, so that a rate is not the beat of the batches."""
    fitting = min(max(run.duration_s / _WINDOWS, _SHORTEST_WINDOW_S), _LONGEST_WINDOW_S)
    beats = [
        float(np.median(np.diff(operator.completions.finished_s)))
        for operator in run.operators.values()
        if len(operator.completions.finished_s) > 2
    ]
    return max([fitting, *(2 * beat for beat in beats)])
