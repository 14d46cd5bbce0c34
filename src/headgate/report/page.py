"""One self-contained HTML page for one run or several."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from html import escape
from pathlib import Path

from headgate.core.ports import JournalReader
from headgate.errors import UserMistake
from headgate.report import charts, sections
from headgate.report.course import Course
from headgate.report.document import AnyResult
from headgate.report.figure import render
from headgate.report.frame import framed, said, write_page
from headgate.report.verdict import comparison_verdict, verdict


@dataclass(frozen=True, slots=True, kw_only=True)
class ReportRun:
    """A recorded run and the name it shall have on the page."""

    label: str
    reader: JournalReader
    result: AnyResult | None = None
    """Its figures, where they are known already; otherwise they are computed."""


def write_report(runs: Sequence[ReportRun], path: Path, *, title: str | None = None) -> None:
    """Write the page; a file that exists is replaced as a whole or not at all."""
    write_page(compose(runs, title=title), path)


def compose(runs: Sequence[ReportRun], *, title: str | None = None) -> str:
    """The page as text."""
    if not runs:
        raise UserMistake("a report needs at least one run; name a journal")
    courses = [Course.of(run.reader, label=run.label, result=run.result) for run in runs]
    body = _single(courses[0]) if len(courses) == 1 else _several(courses)
    return framed(
        title or _title(courses),
        body,
        footer="Made by Headgate from the journal of the run. Point at a figure to read its values. "
        "Latency is per record, from arrival to the end of the batch that wrote it, weighted by records.",
    )


def _single(course: Course) -> str:
    figures = [
        charts.load_figure([course]),
        charts.size_figure(course),
        charts.reckoning_figure(course),
        charts.lag_figure([course]),
        charts.latency_figure([course]),
        charts.distribution_figure([course]),
    ]
    drawn = "".join(render(figure) for figure in figures if figure is not None)
    return (
        f"{sections.header(course)}{said(verdict(course.document, course.events))}{sections.tiles(course)}"
        f"<h2>The course of the run</h2>{drawn}"
        f"<h2>Decisions</h2>{sections.decisions(course)}"
        f"<h2>Events</h2>{sections.events(course)}"
        f"<h2>All figures</h2>{sections.summary([course])}"
    )


def _several(courses: Sequence[Course]) -> str:
    groups: dict[str, list[Course]] = {}
    for course in courses:
        groups.setdefault(course.workload, []).append(course)
    headed = len(groups) > 1
    parts = []
    for workload, group in groups.items():
        if headed:
            parts.append(f"<h2>Workload <code>{escape(workload or 'unknown')}</code></h2>")
        elif workload:
            parts.append(f'<ul class="meta"><li>workload <b>{escape(workload)}</b></li></ul>')
        parts.append(_group(group))
    parts.append("<h2>The runs one by one</h2>")
    parts += [_details(course) for course in courses]
    return "".join(parts)


def _group(courses: Sequence[Course]) -> str:
    if len(courses) == 1:
        outcome = verdict(courses[0].document, courses[0].events)
    else:
        outcome = comparison_verdict([course.label for course in courses], [course.document for course in courses])
    figures = [
        charts.load_figure(courses),
        charts.lag_figure(courses),
        charts.latency_figure(courses),
        charts.distribution_figure(courses),
    ]
    multiples = "".join(render(charts.size_figure(course, others=courses, small=True)) for course in courses)
    return (
        f"{said(outcome)}{sections.comparison(courses)}"
        f"<h3>Executors that were there</h3>"
        f'<p class="about">{charts.MULTIPLES_ABOUT}</p><div class="multiples">{multiples}</div>'
        f"{''.join(render(figure) for figure in figures if figure is not None)}"
    )


def _details(course: Course) -> str:
    name = f"{course.label} · {course.workload}" if course.workload else course.label
    reckoned = charts.reckoning_figure(course)
    return (
        f"<details><summary>{escape(name)}</summary>"
        f"{sections.header(course)}<p>{escape(verdict(course.document, course.events))}</p>"
        f"{''.join(render(figure) for figure in (charts.size_figure(course), reckoned) if figure is not None)}"
        f"<h3>Decisions</h3>{sections.decisions(course)}<h3>Events</h3>{sections.events(course)}"
        f"<h3>All figures</h3>{sections.summary([course])}</details>"
    )


def _title(courses: Sequence[Course]) -> str:
    apps = list(dict.fromkeys(course.header.app for course in courses))
    return (
        f"{', '.join(apps)} under {courses[0].label.partition(':')[0]}"
        if len(courses) == 1
        else f"{', '.join(apps)}: {len(courses)} runs compared"
    )
