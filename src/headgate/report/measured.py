"""What an app can sustain on each size: as a table for the terminal, and as a page with a figure."""

from __future__ import annotations

from html import escape
from pathlib import Path

import numpy as np
from rich import box
from rich.table import Table
from rich.text import Text

from headgate.report.axes import Mark, Scale, value_scale
from headgate.report.figure import Figure, Line, Ribbon, render
from headgate.report.frame import framed, said, text_table, write_page
from headgate.report.wording import UNKNOWN, number, seconds, share
from headgate.scoring.scalability import MeasuredSize, Measurement

_COLUMNS = (
    "executors",
    "records/s",
    "not sustained",
    "per executor",
    "efficiency",
    "lag slope",
    "batch",
    "longest batch",
    "gave in first",
)
_NARROW = (
    "exec-\nutors",
    "records/s",
    "not sus-\ntained",
    "per exec-\nutor",
    "effi-\nciency",
    "lag\nslope",
    "batch",
    "longest\nbatch",
    "gave in\nfirst",
)


def measurement_table(measurement: Measurement) -> Table:
    """One row a size."""
    table = Table(
        title=Text(_title(measurement)), title_justify="left", box=box.SIMPLE, collapse_padding=True, pad_edge=False
    )
    for index, column in enumerate(_NARROW):
        last = index == len(_NARROW) - 1
        table.add_column(column, justify="left" if last else "right", no_wrap=not last, overflow="fold")
    for size in measurement.sizes:
        table.add_row(*(Text(cell) for cell in _cells(measurement, size)))
    return table


def write_measurement(measurement: Measurement, path: Path) -> None:
    """The same on a page of its own, with the steps that led there."""
    write_page(measurement_page(measurement), path)


def measurement_page(measurement: Measurement) -> str:
    notes = "".join(f"<li>{escape(note)}</li>" for note in measurement.notes)
    figure = rate_figure(measurement)
    return framed(
        _title(measurement),
        f"{said(verdict(measurement))}{render(figure) if figure is not None else ''}"
        f"<h2>Sizes</h2>{_sizes(measurement)}{f'<ul>{notes}</ul>' if notes else ''}"
        f"<h2>Rates that were held</h2>{_steps(measurement)}",
        footer="Made by Headgate. A rate is sustained if no operator's lag grew while it was held for "
        f"{seconds(measurement.hold_s)} or longer; the rate is that of the first topic's records.",
    )


def verdict(measurement: Measurement) -> str:
    """The outcome in a sentence."""
    known = [size for size in measurement.sizes if size.rate is not None]
    if not known:
        return "No rate that was tried was sustained."
    parts = [f"{'at least ' * size.at_least}{number(size.rate)} records/s on {size.executors}" for size in known]
    outcome = f"{measurement.app} sustains {', '.join(parts)} executor{'' if known[-1].executors == 1 else 's'}"
    efficiency = measurement.efficiency(known[-1])
    if len(known) > 1 and efficiency is not None:
        outcome += f": {share(efficiency)} of linear on the largest size"
    return f"{outcome}."


def rate_figure(measurement: Measurement) -> Figure | None:
    """Sustainable rate by executors, beside the straight line; ``None`` when no rate is known."""
    known = [size for size in measurement.sizes if size.rate is not None]
    if not known:
        return None
    sizes = np.array([size.executors for size in known], dtype=np.float64)
    rates = np.array([size.rate for size in known], dtype=np.float64)
    exceeded = np.array([size.bracket.exceeded or size.rate for size in known], dtype=np.float64)
    most = int(sizes[-1])
    base = rates[0] / sizes[0]
    marks = tuple(Mark(place=count / most, label=str(count)) for count in range(most + 1))
    return Figure(
        title="Greatest sustainable rate",
        about="The rate that was sustained, up to the next that was not; a straight line would be perfect scaling.",
        x=Scale(low=0.0, high=float(most), marks=marks, title="executors", plain=True),
        y=value_scale(float(max(exceeded.max(), base * most)), title="records per second"),
        unit="/s",
        lines=(
            Line(
                label="linear",
                times=np.array([0.0, float(most)]),
                values=np.array([0.0, base * most]),
                colour="demand",
                dash="dotted",
            ),
            Line(label="sustained", times=sizes, values=rates, colour="work"),
        ),
        ribbons=(Ribbon(label="between sustained and not", times=sizes, lower=rates, upper=exceeded, colour="work"),),
    )


def _cells(measurement: Measurement, size: MeasuredSize) -> tuple[str, ...]:
    best = size.best
    return (
        str(size.executors),
        _rate(size),
        number(size.bracket.exceeded),
        number(size.rate_per_executor),
        share(measurement.efficiency(size)),
        share(best.worst.lag_slope) if best else UNKNOWN,
        seconds(best.slowest.batch_s) if best else UNKNOWN,
        seconds(best.slowest.longest_batch_s) if best else UNKNOWN,
        size.gave_in or UNKNOWN,
    )


def _rate(size: MeasuredSize) -> str:
    return f"≥ {number(size.rate)}" if size.at_least else number(size.rate)


def _title(measurement: Measurement) -> str:
    quota = "" if measurement.quota is None else f", {measurement.quota:g} of a processor each"
    unfinished = "" if measurement.complete else ", interrupted"
    return f"{measurement.app}: greatest sustainable rate{quota}{unfinished}"


def _sizes(measurement: Measurement) -> str:
    return text_table(_COLUMNS, [_cells(measurement, size) for size in measurement.sizes])


def _steps(measurement: Measurement) -> str:
    head = ("executors", "asked", "achieved", "held", "outcome", "lag slope", "worst operator", "batches")
    rows = [
        (
            str(size.executors),
            number(step.asked_rate),
            number(step.achieved_rate),
            seconds(step.held_s),
            step.outcome.value,
            share(step.worst.lag_slope),
            step.worst.name,
            seconds(step.slowest.batch_s),
        )
        for size in measurement.sizes
        for step in size.steps
    ]
    return text_table(head, rows)
