"""What the commands print on a terminal, as rich renderables.

Names and sentences from users and policies are shown as they are, never read as markup.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from rich import box
from rich.console import Group, RenderableType
from rich.panel import Panel
from rich.table import Table
from rich.text import Text

from headgate.core.status import Status
from headgate.report import wording
from headgate.report.document import AnyResult, document_of
from headgate.report.reading import Reading, size
from headgate.report.summary import MEASURES, Document, best, compared

_COMPARED = {
    "executors.mean": "exec-\nutors",
    "executors_saved": "saved",
    "rescalings": "rescal-\nings",
    "latency_s.mean": "latency\nmean",
    "latency_s.p95": "\np95",
    "latency_s.p99": "\np99",
    "lag_records.max": "lag\nmax",
    "slo.violation_share": "over\nSLO",
}


def result_table(result: AnyResult, *, title: str | None = None) -> Table:
    """Every figure of one result."""
    document = document_of(result)
    table = Table(title=_plain(title or _heading(document)), title_justify="left", box=box.SIMPLE)
    table.add_column("figure")
    table.add_column("value", justify="right")
    table.add_column("", style="dim")
    for measure in MEASURES:
        if measure.value(document) is not None:
            table.add_row(measure.name, measure.text(document), measure.about)
    return table


def comparison_table(
    results: Sequence[AnyResult], *, labels: Sequence[str] | None = None, title: str | None = None
) -> RenderableType:
    """Several results side by side, a table a workload, the best of each column marked.

    A row is named by its policy unless ``labels`` names it.
    """
    documents = [document_of(result) for result in results]
    names = labels if labels is not None else [str(document.get("policy", "")) for document in documents]
    groups: dict[str, list[int]] = {}
    for index, document in enumerate(documents):
        groups.setdefault(str(document.get("workload", "")), []).append(index)
    tables = [
        _comparison(
            [names[index] for index in members],
            [documents[index] for index in members],
            title=" · ".join(part for part in (title, workload if len(groups) > 1 else None) if part),
        )
        for workload, members in groups.items()
    ]
    return Group(*tables)


def _comparison(names: Sequence[str], documents: Sequence[Document], *, title: str) -> Table:
    """Narrow enough for a terminal of 80 columns."""
    columns = [measure for measure in compared(documents) if measure.path in _COMPARED]
    table = Table(
        title=Text(title, style="bold") if title else None,
        title_justify="left",
        box=box.SIMPLE,
        collapse_padding=True,
        pad_edge=False,
    )
    table.add_column("policy", overflow="fold", min_width=14)
    for measure in columns:
        table.add_column(_COMPARED[measure.path], justify="right", vertical="top", no_wrap=True)
    winners = [best(measure, documents) for measure in columns]
    for place, (name, document) in enumerate(zip(names, documents, strict=True)):
        cells = [
            Text(measure.text(document), style="bold green" if place in winning else "")
            for measure, winning in zip(columns, winners, strict=True)
        ]
        table.add_row(_plain(name), *cells)
    return table


def policies_table(rows: Sequence[Mapping[str, Any]]) -> Table:
    """One row a policy: ``name``, ``about``, ``scales``, ``source`` and whatever else the rows have."""
    return _rows_table(rows)


def options_table(rows: Sequence[Mapping[str, Any]], *, title: str | None = None) -> Table:
    """One row an option: ``option``, ``default``, ``meaning``, ``limits`` or whatever the rows have."""
    return _rows_table(rows, title=title)


def _rows_table(rows: Sequence[Mapping[str, Any]], *, title: str | None = None) -> Table:
    table = Table(title=_plain(title) if title else None, title_justify="left", box=box.SIMPLE)
    columns = list(dict.fromkeys(key for row in rows for key in row))
    for index, column in enumerate(columns):
        table.add_column(column.replace("_", " "), style="bold" if index == 0 else "", no_wrap=index == 0)
    for row in rows:
        table.add_row(*(_cell(row.get(column)) for column in columns))
    return table


def status_panel(status: Status) -> Panel:
    """A controller at one moment: size, figures, last decision and why."""
    reading = Reading.of(status)
    grid = Table.grid(padding=(0, 2))
    grid.add_column(style="dim", no_wrap=True)
    grid.add_column(overflow="fold")
    for name, value in (*figure_rows(status, reading), *control_rows(status)):
        grid.add_row(name, value)
    return Panel(grid, title=_plain(f"{status.app} · {status.policy}"), title_align="left", box=box.ROUNDED)


def figure_rows(status: Status, reading: Reading) -> Iterable[tuple[str, RenderableType]]:
    """How big the app is and how it fares."""
    bounds = f"  within {status.bounds.least}..{status.bounds.most}"
    yield "executors", Text.assemble((size(reading), "bold"), (bounds, "dim"))
    yield "load", f"{wording.number(reading.rate)} records/s in, {wording.number(reading.throughput)} records/s done"
    yield "lag", f"{wording.number(reading.lag_records)} records"
    mean, p95 = wording.seconds(reading.latency_mean_s), wording.seconds(reading.latency_p95_s)
    yield "latency", f"{mean} mean, {p95} p95"
    yield "busy", wording.share(reading.busy)


def control_rows(status: Status) -> Iterable[tuple[str, RenderableType]]:
    """What the controller did last, and what it is about to do."""
    yield "state", _state(status)
    yield "rescalings", f"{status.rescalings} in {wording.seconds(status.time_s - status.started_s)}"
    yield "last decision", last_decision(status)
    if status.next_tick_s is not None and status.running:
        yield "next decision", f"in {wording.seconds(round(max(0.0, status.next_tick_s - status.time_s), 1))}"
    if status.problem:
        yield "problem", Text(status.problem, style="bold red")


def last_decision(status: Status) -> RenderableType:
    """What was decided last, and every reason on a line of its own."""
    tick = status.last_tick
    if tick is None:
        return Text("none yet", style="dim")
    decision = tick.decision
    change = (
        f"{decision.current.executors} → {decision.granted.executors}"
        if decision.changes
        else f"stay at {decision.granted.executors}"
    )
    wish = f" (policy wanted {decision.wanted.executors})" if decision.wanted != decision.granted else ""
    at = wording.time_of_day(tick.time_s, started_s=status.started_s)
    lines = [Text.assemble((change, "bold"), wish, (f"  {tick.outcome.value}, {at}", "dim"))]
    lines += [Text.assemble((f"{reason.by}: ", "cyan"), reason.message) for reason in decision.reasons]
    if tick.problem:
        lines.append(Text(tick.problem, style="red"))
    return Group(*lines)


def _state(status: Status) -> Text:
    words = Text("running", style="green") if status.running else Text("ended", style="yellow")
    if status.levers.pinned is not None:
        words.append(f", pinned to {status.levers.pinned}", style="yellow")
    if status.levers.paused:
        words.append(", paused", style="yellow")
    if status.dry_run:
        words.append(", dry run: decides without acting", style="yellow")
    return words


def _heading(document: Mapping[str, Any]) -> str:
    return " · ".join(str(document[key]) for key in ("policy", "workload", "scenario") if document.get(key))


def _cell(value: Any) -> Text:
    if isinstance(value, Text):
        return value
    if isinstance(value, list | tuple | frozenset | set):
        return _plain(", ".join(str(part) for part in value))
    return _plain(wording.UNKNOWN if value is None else str(value))


def _plain(text: str) -> Text:
    return Text(text)
