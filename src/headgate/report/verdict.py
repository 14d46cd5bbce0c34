"""A run in a sentence, and a comparison in a sentence, computed from their figures."""

from __future__ import annotations

from collections.abc import Sequence

from headgate.core.sample import AgentEvent, EventKind
from headgate.report import wording
from headgate.report.summary import MEASURES, Document, best

_MEASURE = {measure.path: measure for measure in MEASURES}


def value(document: Document, path: str) -> float | None:
    return _MEASURE[path].value(document)


def text(document: Document, path: str) -> str:
    return _MEASURE[path].text(document)


def verdict(document: Document, events: Sequence[AgentEvent]) -> str:
    """What a run achieved, for somebody who reads nothing else.

    >>> verdict({"records": {"out": 900}, "executors": {"mean": 2.4}, "executors_saved": 0.4, "rescalings": 5}, [])
    'Carried 900 records with 2.4 executors on average (40 % fewer than always running 4), 5 rescalings, no restarts.'
    """
    parts = [_carried(document)]
    if value(document, "latency_s.p95") is not None:
        parts.append(f"p95 latency {text(document, 'latency_s.p95')}")
    rescalings = value(document, "rescalings")
    if rescalings is not None:
        parts.append(wording.counted(rescalings, "rescaling"))
    parts.append(wording.counted(_occurred(events, EventKind.RESTARTED), "restart"))
    sentences = [", ".join(parts) + "."]
    sentences += _remarks(document, events)
    return " ".join(sentences)


def _carried(document: Document) -> str:
    records = value(document, "records.out")
    carried = f"Carried {wording.number(records)} records" if records is not None else "Ran"
    mean, saved = value(document, "executors.mean"), value(document, "executors_saved")
    if mean is None:
        return carried
    with_executors = f"{carried} with {wording.mean_count(mean)} executor{'' if mean == 1 else 's'} on average"
    if saved is None or not 0.005 <= saved < 1:
        return with_executors
    most = round(mean / (1 - saved))
    return f"{with_executors} ({wording.share(saved)} fewer than always running {most})"


def _remarks(document: Document, events: Sequence[AgentEvent]) -> list[str]:
    remarks = []
    over, objective = value(document, "slo.violation_share"), value(document, "slo.latency_s")
    if over is not None and objective is not None:
        within = wording.seconds(objective)
        remarks.append(
            f"Every record was written within {within}."
            if over == 0
            else f"{_rest_of(over)} of the records were written within the objective of {within}."
        )
    arrived, behind = value(document, "records.in"), value(document, "lag_records.final")
    if arrived and behind is not None and behind > 0.02 * arrived:
        remarks.append(f"It ended {wording.number(behind)} records behind: the size did not suffice.")
    lost = _occurred(events, EventKind.LOST)
    if lost:
        remarks.append(f"{wording.counted(lost, 'executor')} {'was' if lost == 1 else 'were'} lost on the way.")
    failed = _occurred(events, EventKind.QUERY_FAILED)
    if failed:
        remarks.append(f"The query failed {wording.counted(failed, 'time')}.")
    return remarks


def _rest_of(share: float) -> str:
    """What a small share leaves, never rounded up to everything.

    >>> _rest_of(0.0002), _rest_of(0.004), _rest_of(0.25)
    ('More than 99.9 %', '99.6 %', '75 %')
    """
    if share < 0.001:
        return "More than 99.9 %"
    return f"{100 - share * 100:.1f} %" if share < 0.1 else wording.share(1 - share)


def _occurred(events: Sequence[AgentEvent], kind: EventKind) -> int:
    return sum(event.kind is kind for event in events)


def comparison_verdict(labels: Sequence[str], documents: Sequence[Document]) -> str:
    """Who won what.

    >>> comparison_verdict(["a", "b"], [{"executors": {"mean": 2}, "latency_s": {"p95": 4}},
    ...                                 {"executors": {"mean": 3}, "latency_s": {"p95": 1}}])
    'a needed the fewest executors (2 on average); b had the lowest p95 latency (1 s).'
    """
    clauses = []
    for path, claim, unit in (
        ("executors.mean", "needed the fewest executors", " on average"),
        ("latency_s.p95", "had the lowest p95 latency", ""),
        ("slo.violation_share", "missed the latency objective least", " of the records"),
    ):
        winners = sorted(best(_MEASURE[path], documents))
        if winners:
            names = " and ".join(labels[index] for index in winners)
            clauses.append(f"{names} {claim} ({text(documents[winners[0]], path)}{unit})")
    return f"{'; '.join(clauses)}." if clauses else "The runs are alike in what matters."
