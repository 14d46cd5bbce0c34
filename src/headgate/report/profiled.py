"""What profiling runs have shown: as a table for the terminal, and as a page with figures."""

from __future__ import annotations

from pathlib import Path

import numpy as np
from rich import box
from rich.table import Table
from rich.text import Text

from headgate.core.profile import Profile, ProfiledSize
from headgate.report.axes import Mark, Scale, log_scale, value_scale
from headgate.report.charts import run_colour
from headgate.report.figure import Figure, Line, render
from headgate.report.frame import framed, said, text_table, write_page
from headgate.report.wording import UNKNOWN, counted, number, seconds, share

_COLUMNS = ("executors", "capacity", "per executor", "latency, low load", "latency, full load", "downtime", "recovery")


def profile_table(profile: Profile) -> Table:
    """One row a size."""
    table = Table(
        title=Text(_title(profile)), title_justify="left", box=box.SIMPLE, collapse_padding=True, pad_edge=False
    )
    for column in _COLUMNS:
        table.add_column(column.replace(", ", ",\n").replace(" exec", "\nexec"), justify="right", no_wrap=True)
    for size in profile.sizes:
        table.add_row(*_cells(size))
    return table


def write_profile_page(profile: Profile, path: Path) -> None:
    write_page(profile_page(profile), path)


def profile_page(profile: Profile) -> str:
    figures = [figure for figure in (latency_figure(profile), capacity_figure(profile)) if figure is not None]
    return framed(
        _title(profile),
        f"{said(verdict(profile))}{''.join(render(figure) for figure in figures)}"
        f"<h2>Sizes</h2>{text_table(_COLUMNS, [_cells(size) for size in profile.sizes], numbers_from=0)}"
        f"<h2>Loads</h2>{_loads(profile)}<h2>Failures</h2>{_failures(profile)}",
        footer="Made by Headgate from profiling runs. Latency is the mean over records under a constant load; a "
        "failure is an executor killed on purpose, downtime the time without work after it, recovery the time until "
        "the lag was what it had been.",
    )


def verdict(profile: Profile) -> str:
    """The outcome in a sentence."""
    parts = [f"{number(size.capacity)} records/s on {size.executors}" for size in profile.sizes]
    failures = [failure for size in profile.sizes for failure in size.failures]
    outcome = f"{profile.app} works off {', '.join(parts)} executor{'' if profile.sizes[-1].executors == 1 else 's'}"
    if failures:
        longest = max(failure.downtime_s for failure in failures)
        outcome += f"; {counted(len(failures), 'killed executor')} stopped it for at most {seconds(longest)}"
    return f"{outcome}. Profiling has cost {seconds(profile.executor_seconds)} of an executor."


def latency_figure(profile: Profile) -> Figure | None:
    """Latency by load, a line a size."""
    known = [size for size in profile.sizes if size.loads]
    latencies = [load.latency_s for size in known for load in size.loads if load.latency_s > 0]
    if not latencies:
        return None
    highest = max(load.rate for size in known for load in size.loads)
    return Figure(
        title="Latency by load",
        about="Mean latency under constant loads; where a line shoots up, the load was more than that size carries.",
        x=_plain(value_scale(highest, title="records per second")),
        y=log_scale(min(latencies), max(latencies), title="latency"),
        unit="s",
        lines=tuple(
            Line(
                label=f"{size.executors} executor{'' if size.executors == 1 else 's'}",
                times=np.array([load.rate for load in size.loads]),
                values=np.array([load.latency_s for load in size.loads]),
                colour=run_colour(index),
            )
            for index, size in enumerate(known)
        ),
    )


def capacity_figure(profile: Profile) -> Figure | None:
    if len(profile.sizes) < 2:
        return None
    sizes = np.array([size.executors for size in profile.sizes], dtype=np.float64)
    rates = np.array([size.capacity for size in profile.sizes])
    most, base = float(sizes[-1]), rates[0] / sizes[0]
    steps = max(1, round(most / 12))
    marks = tuple(Mark(place=count / most, label=str(count)) for count in range(0, int(most) + 1, steps))
    return Figure(
        title="Capacity by size",
        about="The rate at which a backlog was worked off; a straight line would be perfect scaling.",
        x=Scale(low=0.0, high=most, marks=marks, title="executors", plain=True),
        y=value_scale(float(max(rates.max(), base * most)), title="records per second"),
        unit="/s",
        lines=(
            Line(
                label="linear",
                times=np.array([0.0, most]),
                values=np.array([0.0, base * most]),
                colour="demand",
                dash="dotted",
            ),
            Line(label="capacity", times=sizes, values=rates, colour="work"),
        ),
    )


def _plain(scale: Scale) -> Scale:
    return Scale(low=scale.low, high=scale.high, marks=scale.marks, title=scale.title, plain=True)


def _cells(size: ProfiledSize) -> tuple[str, ...]:
    downtimes = [failure.downtime_s for failure in size.failures]
    carried = [load for load in size.loads if load.rate < size.capacity]
    recoveries = [failure.recovery_s for failure in size.failures if failure.recovery_s is not None]
    return (
        str(size.executors),
        number(size.capacity),
        number(size.capacity / size.executors),
        seconds(size.loads[0].latency_s) if size.loads else UNKNOWN,
        seconds(carried[-1].latency_s) if carried else UNKNOWN,
        seconds(sum(downtimes) / len(downtimes)) if downtimes else UNKNOWN,
        seconds(sum(recoveries) / len(recoveries)) if recoveries else UNKNOWN,
    )


def _loads(profile: Profile) -> str:
    rows = [
        (str(size.executors), number(load.rate), share(load.rate / size.capacity), seconds(load.latency_s))
        for size in profile.sizes
        for load in size.loads
    ]
    return text_table(("executors", "records/s", "of the capacity", "latency"), rows, numbers_from=0)


def _failures(profile: Profile) -> str:
    rows = [
        (
            str(size.executors),
            number(failure.rate),
            share(failure.rate / size.capacity),
            seconds(failure.downtime_s),
            "not seen" if failure.recovery_s is None else seconds(failure.recovery_s),
        )
        for size in profile.sizes
        for failure in size.failures
    ]
    return text_table(("executors", "records/s", "of the capacity", "downtime", "recovery"), rows, numbers_from=0)


def _title(profile: Profile) -> str:
    return f"{profile.app}: what profiling runs have shown"
