"""Tables and tiles of the page. Every text that comes from outside is escaped here."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from html import escape

from headgate.core.allocation import Allocation
from headgate.report import wording
from headgate.report.charts import run_colour
from headgate.report.chronicle import ALARMING, EVENT_NAMES, DecisionRow, RowKind
from headgate.report.course import Course
from headgate.report.summary import MEASURES, best, compared
from headgate.report.verdict import text, value

_SHORT_TABLE = 40
_MOST_ROWS = 1000

_OUTCOMES = {
    "applied": "",
    "unchanged": "",
    "dry-run": "dry run: not carried out",
    "not-ready": "not ready",
    "failed": "failed",
    "refused": "refused",
}


def header(course: Course) -> str:
    """Who ran what, when and for how long."""
    head = course.header
    facts = [
        ("app", head.app),
        ("policy", head.policy),
        ("guards", ", ".join(head.guards)),
        ("workload", course.workload),
        ("scenario", course.scenario),
        ("cluster", head.description.cluster),
        ("executors", f"{head.description.bounds.least}..{head.description.bounds.most}"),
        ("started", wording.moment(course.started_s)),
        ("duration", wording.seconds(course.span_s)),
        ("", "dry run: decided without acting" if head.dry_run else ""),
    ]
    items = "".join(f"<li>{name} <b>{escape(fact)}</b></li>" for name, fact in facts if fact)
    return f'<ul class="meta">{items}</ul>'


def tiles(course: Course) -> str:
    """The figures that are looked at first."""
    document = course.document
    most = value(document, "executors.max")
    least = value(document, "executors.min")
    objective = value(document, "slo.latency_s")
    over = value(document, "slo.violation_share")
    cards = [
        ("records carried", text(document, "records.out"), f"of {text(document, 'records.in')} that arrived"),
        (
            "executors, mean",
            text(document, "executors.mean"),
            f"{wording.number(least)} to {wording.number(most)}",
        ),
        ("executors saved", text(document, "executors_saved"), "against always running the upper bound"),
        ("rescalings", text(document, "rescalings"), "changes carried out"),
        ("latency, p95", text(document, "latency_s.p95"), f"mean {text(document, 'latency_s.mean')}"),
        ("latency, p99", text(document, "latency_s.p99"), f"longest {text(document, 'latency_s.max')}"),
        ("lag, most", text(document, "lag_records.max"), f"{text(document, 'lag_records.final')} at the end"),
    ]
    if objective is not None and over is not None:
        cards.append(("over the objective", wording.share(over), f"of records took over {wording.seconds(objective)}"))
    items = "".join(
        f'<li><span class="name">{name}</span><span class="value">{escape(shown)}</span>'
        f'<span class="note">{escape(wording.tight(note))}</span></li>'
        for name, shown, note in cards
        if shown != wording.UNKNOWN
    )
    return f'<ul class="tiles">{items}</ul>'


def comparison(courses: Sequence[Course]) -> str:
    """Several runs, a row each, the best of each column marked."""
    documents = [course.document for course in courses]
    columns = compared(documents)
    winners = {measure.path: best(measure, documents) for measure in columns}
    head = "".join(
        f'<th class="number" title="{escape(column.name)}">{column.short or column.name}</th>' for column in columns
    )
    rows = []
    for index, course in enumerate(courses):
        cells = "".join(
            f'<td class="number{" best" if index in winners[column.path] else ""}">'
            f"{escape(column.text(course.document))}</td>"
            for column in columns
        )
        swatch = f'<span class="swatch {run_colour(index)}"></span>'
        rows.append(f'<tr><th scope="row">{swatch}{escape(course.label)}</th>{cells}</tr>')
    return _table(f"<th>run</th>{head}", rows, kind=" comparison")


def summary(courses: Sequence[Course]) -> str:
    """All figures of the result documents, a column each."""
    head = "".join(f'<th class="number">{escape(course.label)}</th>' for course in courses)
    rows = [
        f'<tr><th scope="row">{measure.name}</th>'
        + "".join(f'<td class="number">{escape(measure.text(course.document))}</td>' for course in courses)
        + f'<td class="about">{escape(measure.about)}</td></tr>'
        for measure in MEASURES
        if any(measure.value(course.document) is not None for course in courses)
    ]
    return _table(f"<th>figure</th>{head}<th></th>", rows)


def decisions(course: Course) -> str:
    """Every change with its reasons; where there is more, the quiet times folded away."""
    rows = course.decisions
    if not rows:
        return "<p>No decision was recorded.</p>"
    changes = [row for row in rows if row.kind is RowKind.CHANGE]
    quiet = sum(row.ticks for row in rows if row.kind in (RowKind.QUIET, RowKind.HELD))
    count = f"{wording.counted(len(changes), 'change')} of size decided"
    if len(rows) <= _SHORT_TABLE:
        return f"<p>{count}, {wording.counted(quiet, 'tick')} without a change.</p>{_decision_table(course, rows)}"
    visible = [row for row in rows if row.kind in (RowKind.CHANGE, RowKind.PROBLEM)]
    opened = " open" if len(visible) <= 2 * _SHORT_TABLE else ""
    return (
        f'<details class="changes"{opened}><summary>{count}</summary>{_decision_table(course, visible)}</details>'
        f"<details><summary>The whole course, with {wording.counted(quiet, 'tick')} without a change</summary>"
        f"{_decision_table(course, rows)}</details>"
    )


def _decision_table(course: Course, rows: Sequence[DecisionRow]) -> str:
    lines = [_decision_row(course, row) for row in rows[:_MOST_ROWS]] + _left_off(len(rows))
    return _table("<th>time</th><th>executors</th><th>policy wanted</th><th>why</th>", lines)


def _decision_row(course: Course, row: DecisionRow) -> str:
    first, last = (wording.elapsed(time_s - course.started_s) for time_s in (row.first_s, row.last_s))
    when = first if row.ticks == 1 else f"{first} – {last}"
    if row.kind is RowKind.CHANGE:
        change = _change(row)
    else:
        ticks = f" · {row.ticks} ticks" if row.ticks > 1 else ""
        change = f"stays {row.granted.executors}{ticks}"
    outcome = _OUTCOMES[row.outcome.value]
    tag = f'<span class="tag">{outcome}</span>' if outcome else ""
    problem = f"<li>{escape(row.problem)}</li>" if row.problem else ""
    reasons = "".join(
        f'<li><span class="by">{escape(reason.by)}</span> {escape(reason.message)}</li>' for reason in row.reasons
    )
    moment = f' title="{wording.moment(row.first_s)}"' if wording.is_wall_clock(row.first_s) else ""
    return (
        f'<tr class="row-{row.kind.value}"><td class="when"{moment}>{when}</td><td class="size">{change}{tag}</td>'
        f'<td>{row.wanted.executors}</td><td><ul class="reasons">{problem}{reasons}</ul></td></tr>'
    )


def _change(row: DecisionRow) -> str:
    before, granted = row.before, row.granted
    way = "up" if granted.executors > before.executors else "down" if granted.executors < before.executors else ""
    words = f'<span class="change {way}">{before.executors} → {granted.executors}</span>'
    return f"{words}{_other_dimensions(before, granted)}"


def _other_dimensions(before: Allocation, granted: Allocation) -> str:
    changed = [
        f"{escape(name)}: {before.parallelism.get(name, '–')} → {count}"
        for name, count in granted.parallelism.items()
        if before.parallelism.get(name) != count
    ]
    if granted.nodes != before.nodes and granted.nodes:
        changed.append(f"on {escape(', '.join(granted.nodes))}")
    if granted.assignment != before.assignment:
        changed.append("partitions assigned anew")
    return f'<div class="about">{"<br>".join(changed)}</div>' if changed else ""


def events(course: Course) -> str:
    found = course.events
    if not found:
        return "<p>Nothing was reported.</p>"
    alarming = [event for event in found if event.kind in ALARMING]
    rows = [
        f"<tr{' class=row-problem' if event.kind in ALARMING else ''}>"
        f'<td class="when">{wording.elapsed(event.time_s - course.started_s)}</td><td>{EVENT_NAMES[event.kind]}</td>'
        f"<td>{escape(event.executor or '')}</td><td>{escape(event.message)}</td></tr>"
        for event in found[:_MOST_ROWS]
    ] + _left_off(len(found))
    table = _table("<th>time</th><th>event</th><th>executor</th><th>what</th>", rows)
    words = f"{wording.counted(len(found), 'event')}, {wording.counted(len(alarming), 'alarming one')}"
    opened = " open" if len(found) <= _SHORT_TABLE else ""
    return f"<details{opened}><summary>{words}</summary>{table}</details>"


def _left_off(count: int) -> list[str]:
    """Says, in a row of its own, how many of so many rows the table does not show."""
    if count <= _MOST_ROWS:
        return []
    return [f'<tr><td colspan="4">… and {wording.number(count - _MOST_ROWS)} more rows in the journal</td></tr>']


def _table(head: str, rows: Iterable[str], *, kind: str = "") -> str:
    return (
        f'<div class="scroll{kind}"><table><thead><tr>{head}</tr></thead><tbody>{"".join(rows)}</tbody></table></div>'
    )
