"""The figures of a result document: their names for people, their form, and which way is better.

Page and terminal both read this list, so that a figure has one name everywhere.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

from headgate.report import wording

Document = Mapping[str, Any]
Better = Literal["low", "high"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Measure:
    """One figure of a result."""

    path: str
    """Where it stands in the result document: ``latency_s.p95``."""
    name: str
    show: Callable[[float | None], str]
    better: Better | None = None
    about: str = ""
    compared: bool = False
    """Whether it has a column in comparisons, which have room for a few."""
    short: str = ""

    def value(self, document: Document) -> float | None:
        found: Any = document
        for key in self.path.split("."):
            found = found.get(key) if isinstance(found, Mapping) else None
        return float(found) if isinstance(found, int | float) else None

    def text(self, document: Document) -> str:
        return self.show(self.value(document))


MEASURES: tuple[Measure, ...] = (
    Measure(path="duration_s", name="duration", show=wording.seconds),
    Measure(path="records.in", name="records in", show=wording.number, about="arrived at the source"),
    Measure(path="records.out", name="records out", show=wording.number, about="finished and committed"),
    Measure(
        path="executors.mean",
        name="executors, mean",
        short="executors",
        show=wording.mean_count,
        better="low",
        about="over time",
        compared=True,
    ),
    Measure(path="executors.min", name="executors, fewest", show=wording.number),
    Measure(path="executors.max", name="executors, most", show=wording.number),
    Measure(
        path="executor_seconds", name="executor seconds", show=wording.number, better="low", about="what is paid for"
    ),
    Measure(
        path="executors_saved",
        name="executors saved",
        short="saved",
        show=wording.share,
        better="high",
        about="against always running the upper bound",
        compared=True,
    ),
    Measure(
        path="rescalings",
        name="rescalings",
        show=wording.number,
        better="low",
        about="changes of size that were carried out",
        compared=True,
    ),
    Measure(
        path="latency_s.mean",
        name="latency, mean",
        short="latency mean",
        show=wording.seconds,
        better="low",
        about="arrival to committed, weighted by records",
        compared=True,
    ),
    Measure(path="latency_s.p50", name="latency, median", show=wording.seconds, better="low"),
    Measure(path="latency_s.p95", name="latency, p95", short="p95", show=wording.seconds, better="low", compared=True),
    Measure(path="latency_s.p99", name="latency, p99", short="p99", show=wording.seconds, better="low", compared=True),
    Measure(path="latency_s.max", name="latency, longest", show=wording.seconds, better="low"),
    Measure(path="lag_records.mean", name="lag, mean", show=wording.number, better="low", about="records that waited"),
    Measure(
        path="lag_records.max", name="lag, most", short="lag max", show=wording.number, better="low", compared=True
    ),
    Measure(path="lag_records.final", name="lag, at the end", show=wording.number, better="low"),
    Measure(
        path="throughput_degradation",
        name="throughput degradation",
        show=wording.share,
        better="low",
        about="|input − throughput| ÷ input, mean over windows",
    ),
    Measure(
        path="elasticity.accuracy_o",
        name="accuracy, over-provisioned",
        short="too many",
        show=wording.number,
        better="low",
        about="executors too many, mean over time (SPEC)",
        compared=True,
    ),
    Measure(
        path="elasticity.accuracy_u",
        name="accuracy, under-provisioned",
        short="too few",
        show=wording.number,
        better="low",
        about="executors too few, mean over time (SPEC)",
        compared=True,
    ),
    Measure(path="elasticity.timeshare_o", name="time over-provisioned", show=wording.share, better="low"),
    Measure(path="elasticity.timeshare_u", name="time under-provisioned", show=wording.share, better="low"),
    Measure(
        path="elasticity.excess_time",
        name="excess time",
        show=wording.share,
        better="low",
        about="needed after the last record came, as a share of the run",
    ),
    Measure(path="slo.latency_s", name="latency objective", show=wording.seconds),
    Measure(
        path="slo.violation_share",
        name="records over the objective",
        short="over SLO",
        show=wording.share,
        better="low",
        compared=True,
    ),
)


def compared(documents: Sequence[Document]) -> tuple[Measure, ...]:
    """The columns of a comparison: those of which at least one run knows the figure."""
    return tuple(
        measure
        for measure in MEASURES
        if measure.compared and any(measure.value(document) is not None for document in documents)
    )


def best(measure: Measure, documents: Sequence[Document]) -> frozenset[int]:
    """Which of several documents have the best value, as far as a reader can tell; none if all are alike.

    >>> rescalings = next(measure for measure in MEASURES if measure.path == "rescalings")
    >>> sorted(best(rescalings, [{"rescalings": 3}, {"rescalings": 1}, {}]))
    [1]
    >>> sorted(best(rescalings, [{"rescalings": 3}, {"rescalings": 3}]))
    []
    """
    known = {index: found for index, document in enumerate(documents) if (found := measure.value(document)) is not None}
    if measure.better is None or len({measure.show(found) for found in known.values()}) < 2:
        return frozenset()
    target = measure.show(min(known.values()) if measure.better == "low" else max(known.values()))
    return frozenset(index for index, found in known.items() if measure.show(found) == target)
