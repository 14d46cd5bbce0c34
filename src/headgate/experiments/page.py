"""An experiment for people: tables for the terminal, and one page with the paper's figures."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from html import escape

import numpy as np
from rich import box
from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text

from headgate.experiments.reproduction import Figure as Mean
from headgate.experiments.reproduction import Reproduction, Row, Section, Sweep
from headgate.report import charts
from headgate.report.axes import Mark, Scale, value_scale
from headgate.report.charts import run_colour
from headgate.report.course import Course
from headgate.report.figure import Figure, Line, render
from headgate.report.frame import framed, said, text_table
from headgate.report.wording import UNKNOWN, mean_count, number, seconds, share, tight

_RECOVERY_COLUMNS = ("policy", "rescales watched", "predicted", "measured", "within prediction", "off by")


def reproduction_tables(found: Reproduction) -> RenderableType:
    """For a terminal of 80 columns."""
    return Group(
        *(_terminal_table(section) for section in (*found.sections, *found.beyond)),
        *(_terminal_sweep(sweep) for sweep in found.sweeps),
        *(Text(f"- {note}") for note in found.notes),
    )


def reproduction_page(found: Reproduction) -> str:
    notes = "".join(f"<li>{escape(tight(note))}</li>" for note in found.notes)
    beyond = "".join(_section(section, figures=False) for section in found.beyond)
    sweeps = "".join(_sweep(sweep) for sweep in found.sweeps)
    return framed(
        found.title,
        f'<ul class="meta"><li>source <b>{escape(found.source)}</b></li>'
        f"<li>repetitions <b>{found.repetitions}</b></li></ul>"
        f"{said(found.verdict)}<ul>{notes}</ul>"
        f"{''.join(_section(section, figures=True) for section in found.sections)}"
        f"{f'<h2>Beyond the paper</h2>{sweeps}{beyond}' if beyond or sweeps else ''}",
        footer=f"Made by Headgate {'in virtual time' if found.virtual else 'on real Spark and Kafka'}. "
        "Executors are means over time, and all figures means over the "
        "repetitions with the least and the greatest in brackets where they differ. Latency is per record; «p95 over "
        "time» is the mean of the 95th percentiles of 10 s each.",
    )


def _section(section: Section, *, figures: bool) -> str:
    floor = (
        ""
        if section.floor is None
        else f" In fractions of {section.counted}, the load alone needs {mean_count(section.floor)} on average."
    )
    notes = "".join(f"<p>{escape(tight(note))}</p>" for note in section.notes)
    drawn = _figures(section) if figures and section.courses else ""
    return (
        f"<h2>{escape(section.title)}</h2><p>{escape(tight(section.about + floor))}</p>"
        f"{_table(section.rows, counted=section.counted)}{notes}"
        f"{_recoveries(section.rows)}{drawn}"
    )


def _recoveries(rows: Sequence[Row]) -> str:
    """Predicted against measured, of the policies that predict."""
    known = [
        (
            row.label,
            str(row.recoveries.count),
            seconds(row.recoveries.predicted_s),
            seconds(row.recoveries.measured_s),
            share(row.recoveries.over_predicted),
            share(row.recoveries.error),
        )
        for row in rows
        if row.recoveries.count
    ]
    if not known:
        return ""
    return (
        '<h3>Recovery times</h3><p class="about">Medians; off by is |measured − predicted| ÷ measured.</p>'
        f"{text_table(_RECOVERY_COLUMNS, known, numbers_from=1)}"
    )


def _figures(section: Section) -> str:
    """As the paper has them: workload, executors over time, latency distribution, mean executors."""
    courses = section.courses
    load = charts.load_figure(courses[:1])
    workload = Figure(
        title="Workload",
        about="Records per second that came.",
        x=load.x,
        y=load.y,
        unit=load.unit,
        lines=tuple(line for line in load.lines if line.label == "load"),
        legend=False,
    )
    sizes = "".join(render(charts.size_figure(course, others=courses, small=True)) for course in courses)
    distribution = charts.distribution_figure(courses)
    return (
        f'{render(workload)}<h3>Executors</h3><p class="about">{charts.MULTIPLES_ABOUT}</p>'
        f'<div class="multiples">{sizes}</div>{_by_operator(courses)}'
        f"{render(distribution) if distribution is not None else ''}{_bars(section.rows, counted=section.counted)}"
    )


def _by_operator(courses: Sequence[Course]) -> str:
    """Backlogs and latency over time, where an app has several operators."""
    if all(len(course.backlogs) < 2 for course in courses):
        return ""
    backlogs = "".join(render(charts.backlog_figure(course, others=courses)) for course in courses)
    return (
        '<h3>Backlog of each operator</h3><p class="about">Records that had come and were not finished, each policy on '
        f'the same scales.</p><div class="multiples">{backlogs}</div>{render(charts.latency_figure(courses))}'
    )


def _bars(rows: Sequence[Row], *, counted: str) -> str:
    """Mean executors, or whatever is counted, ours and the published ones."""
    most = max(max(row.executors.mean, row.executors.published or 0.0) for row in rows)
    lines = []
    for index, row in enumerate(rows):
        published = row.executors.published
        lines.append(_bar(row.label, row.executors.mean, most, run_colour(index)))
        if published is not None:
            lines.append(_bar("published", published, most, "demand"))
    return f'<h3>Mean {counted}</h3><div class="bars">{"".join(lines)}</div>'


def _bar(label: str, value: float, most: float, colour: str) -> str:
    width = 100 * value / most if most else 0.0
    return (
        f'<div class="bar-row"><span class="bar-name">{escape(label)}</span><span class="bar-track">'
        f'<span class="bar {colour}" style="width:{width:.1f}%"></span></span>'
        f'<span class="bar-value">{mean_count(value)}</span></div>'
    )


def _sweep(sweep: Sweep) -> str:
    executors = _sweep_figure(sweep, "executors", "Executors by target", "Mean executors for each recovery target.")
    latency = _sweep_figure(sweep, "latency", "Latency by target", "95th percentile over records for each target.")
    head = ("job", sweep.option, "executors", "p95", "p99", "longest", "rescalings", "recovery predicted", "measured")
    rows = [
        (
            job,
            f"{value:g}",
            _spread(row.executors),
            _lasting(row.p95_s),
            _lasting(row.p99_s),
            _lasting(row.longest_s),
            _spread(row.rescalings),
            seconds(row.recoveries.predicted_s),
            seconds(row.recoveries.measured_s),
        )
        for job, found in sweep.rows
        for value, row in zip(sweep.values, found, strict=True)
    ]
    return (
        f"<h2>{escape(sweep.title)}</h2><p>{escape(sweep.about)}</p>{render(executors)}{render(latency)}"
        f"{text_table(head, rows, numbers_from=1)}"
    )


def _sweep_figure(sweep: Sweep, what: str, title: str, about: str) -> Figure:
    def value(row: Row) -> float:
        figure = row.executors if what == "executors" else row.p95_s
        return math.nan if figure is None else figure.mean

    most = max(sweep.values)
    lines = tuple(
        Line(
            label=job,
            times=np.array(sweep.values),
            values=np.array([value(row) for row in rows]),
            colour=run_colour(index),
        )
        for index, (job, rows) in enumerate(sweep.rows)
    )
    highest = max((float(np.nanmax(line.values)) for line in lines), default=1.0)
    return Figure(
        title=title,
        about=about,
        x=Scale(
            low=0.0,
            high=most,
            marks=tuple(Mark(place=one / most, label=f"{one:g}") for one in sweep.values),
            title=sweep.option,
            plain=True,
        ),
        y=value_scale(highest, title="executors" if what == "executors" else "seconds"),
        unit="executors" if what == "executors" else "s",
        lines=lines,
    )


def _table(rows: Sequence[Row], *, counted: str) -> str:
    """Everything about each policy; columns of which nothing is known are left out."""
    columns = [(counted if title == _COUNTED else title, [cell(row) for row in rows]) for title, cell in _COLUMNS]
    known = [(title, cells) for title, cells in columns if any(cell != UNKNOWN for cell in cells)]
    return text_table(
        tuple(title for title, _ in known), list(zip(*(cells for _, cells in known), strict=True)), numbers_from=1
    )


def _published(figure: Mean | None) -> str:
    return UNKNOWN if figure is None else seconds(figure.published)


_COUNTED = "executors"
_COLUMNS: tuple[tuple[str, Callable[[Row], str]], ...] = (
    ("policy", lambda row: row.label),
    (_COUNTED, lambda row: _spread(row.executors)),
    ("published", lambda row: mean_count(row.executors.published)),
    ("deviation", lambda row: _signed(row.executors.deviation)),
    ("p95 over time", lambda row: _lasting(row.p95_over_time_s)),
    ("published", lambda row: _published(row.p95_over_time_s)),
    ("mean", lambda row: _lasting(row.mean_s)),
    ("published", lambda row: _published(row.mean_s)),
    ("p95", lambda row: _lasting(row.p95_s)),
    ("p99", lambda row: _lasting(row.p99_s)),
    ("longest", lambda row: _lasting(row.longest_s)),
    ("published", lambda row: _published(row.longest_s)),
    ("rescalings", lambda row: _spread(row.rescalings)),
)


def _signed(deviation: float | None) -> str:
    """
    >>> _signed(0.073), _signed(-0.001), _signed(None)
    ('+7 %', '0 %', '–')
    """
    if deviation is None:
        return UNKNOWN
    percent = round(100 * deviation)
    return f"{percent:+d} %" if percent else "0 %"


def _spread(figure: Mean) -> str:
    """
    >>> _spread(Mean(mean=5.0, least=5.0, most=5.0)), _spread(Mean(mean=5.0, least=4.5, most=5.25))
    ('5', '5 (4.5–5.25)')
    """
    middle = mean_count(figure.mean)
    if mean_count(figure.least) == mean_count(figure.most):
        return middle
    return f"{middle} ({mean_count(figure.least)}–{mean_count(figure.most)})"


def _lasting(figure: Mean | None) -> str:
    return UNKNOWN if figure is None else seconds(figure.mean)


def _terminal_table(section: Section) -> Table:
    table = Table(
        title=Text(section.title, style="bold"),
        title_justify="left",
        box=box.SIMPLE,
        collapse_padding=True,
        pad_edge=False,
    )
    table.add_column("policy", min_width=9, no_wrap=True)
    columns = _terminal_columns(section.rows, counted=section.counted)
    for title, _ in columns:
        table.add_column(title, justify="right", no_wrap=True)
    for row in section.rows:
        table.add_row(row.label, *(cell(row) for _, cell in columns))
    return table


def _terminal_columns(rows: Sequence[Row], *, counted: str) -> list[tuple[str, Callable[[Row], str]]]:
    """What fits: executors, the latencies of which something was published, and rescalings."""
    columns: list[tuple[str, Callable[[Row], str]]] = [
        (f"{counted[:4]}-\n{counted[4:]}", lambda row: mean_count(row.executors.mean)),
        ("pub-\nlished", lambda row: mean_count(row.executors.published)),
    ]
    latencies: tuple[tuple[str, Callable[[Row], Mean | None]], ...] = (
        ("p95\nover time", lambda row: row.p95_over_time_s),
        ("mean", lambda row: row.mean_s),
        ("longest", lambda row: row.longest_s),
    )
    published = [
        (title, figure) for title, figure in latencies if any(_published(figure(row)) != UNKNOWN for row in rows)
    ]
    for title, figure in published:
        columns.append((title, lambda row, figure=figure: _lasting(figure(row))))  # type: ignore[misc]
        columns.append(("pub-\nlished", lambda row, figure=figure: _published(figure(row))))  # type: ignore[misc]
    if len(published) < 2:
        columns.append(("p95", lambda row: _lasting(row.p95_s)))
    columns.append(("rescal-\nings", lambda row: number(row.rescalings.mean)))
    return columns


def _terminal_sweep(sweep: Sweep) -> Table:
    table = Table(title=Text(sweep.title, style="bold"), title_justify="left", box=box.SIMPLE, pad_edge=False)
    table.add_column("job")
    for value in sweep.values:
        table.add_column(f"{value:g}", justify="right", no_wrap=True)
    for job, rows in sweep.rows:
        table.add_row(job, *(mean_count(row.executors.mean) for row in rows))
    return table
