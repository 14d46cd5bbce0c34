"""The packing experiment for people: tables for the terminal, and a page with the Pareto fronts."""

from __future__ import annotations

from html import escape

import numpy as np
from rich import box
from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text

from headgate.experiments.consumer_group import DELTAS, PUBLISHED, STARTS, PackingReproduction, StreamScores
from headgate.experiments.groups_compared import PARTITIONS, POLL_S, THRESHOLD_S
from headgate.packing import ALGORITHMS
from headgate.report.axes import Mark, Scale, value_scale
from headgate.report.charts import run_colour
from headgate.report.figure import Figure, Line, render
from headgate.report.frame import framed, said, text_table
from headgate.report.wording import UNKNOWN, tight

_MODIFIED = tuple(name for name in ALGORITHMS if name.startswith("m"))


def packing_tables(found: PackingReproduction) -> RenderableType:
    """For a terminal of 80 columns: streams that start at random."""
    table = Table(
        title=Text("CBS / mean Rscore, by δ", style="bold"), title_justify="left", box=box.SIMPLE, pad_edge=False
    )
    table.add_column("")
    for delta in DELTAS:
        table.add_column(str(delta), justify="right", no_wrap=True)
    for name in ALGORITHMS:
        scores = [found.of("random", delta) for delta in DELTAS]
        table.add_row(name, *(f"{each.cbs[name]:.3f}".lstrip("0") + f"/{each.rscore[name]:.1f}" for each in scores))
    published = [
        f"- published at δ = {delta}: "
        + ", ".join(f"{name} {PUBLISHED[delta, name][0]:.3f}/{PUBLISHED[delta, name][1]:g}" for name in _MODIFIED)
        for delta in sorted({delta for delta, _ in PUBLISHED})
    ]
    fronts = [f"- Pareto front at δ = {delta}: {', '.join(found.of('random', delta).front)}" for delta in DELTAS]
    lines = (Text(line) for line in (*published, *fronts, *(f"- {note}" for note in found.notes)))
    return Group(table, *lines, _groups_table(found))


_GROUPS_HEAD = ("group", "consumers", "moved", "lag (mean)", "lag (most)")
_GROUPS_ABOUT = (
    f"{PARTITIONS} partitions for an hour, whose load drifts from one to the next; the groups of Kafka's get a member "
    f"more for each {THRESHOLD_S:.0f} s of a consumer's work that wait, and are looked at every {POLL_S} s. Lag is in "
    "seconds of one consumer's work."
)


def _group_rows(found: PackingReproduction) -> list[tuple[str, ...]]:
    return [
        (row.label, f"{row.consumers:.2f}", str(row.moved), f"{row.lag_mean_s:.2f} s", f"{row.lag_max_s:.0f} s")
        for row in found.groups
    ]


def _groups_table(found: PackingReproduction) -> Table:
    title = Text("Beside Kafka's own groups", style="bold")
    table = Table(title=title, title_justify="left", box=box.SIMPLE, pad_edge=False)
    for place, name in enumerate(_GROUPS_HEAD):
        table.add_column(name, justify="right" if place else "left", no_wrap=True)
    for row in _group_rows(found):
        table.add_row(*row)
    return table


def packing_page(found: PackingReproduction) -> str:
    notes = "".join(f"<li>{escape(tight(note))}</li>" for note in found.notes)
    return framed(
        found.title,
        f'<ul class="meta"><li>source <b>{escape(found.source)}</b></li>'
        f"<li>repetitions <b>{found.repetitions}</b></li></ul>{said(found.verdict)}<ul>{notes}</ul>"
        f"{''.join(_start(found, start) for start in STARTS)}"
        f"<h2>Beyond the paper: beside Kafka's own groups</h2><p>{escape(_GROUPS_ABOUT)}</p>"
        f"{text_table(_GROUPS_HEAD, _group_rows(found), numbers_from=1)}",
        footer="Made by Headgate. CBS: consumers more than the fewest that any algorithm used, as a share, on average "
        "over the steps. Rscore: speed of the partitions that were moved, in consumers' capacities. Below and to the "
        "left is better.",
    )


def _start(found: PackingReproduction, start: str) -> str:
    head = ("algorithm", *(f"δ = {delta}" for delta in DELTAS))
    rows = [(name, *(_pair(found.of(start, delta), name) for delta in DELTAS)) for name in ALGORITHMS]
    about = "at random speeds" if STARTS[start] is None else f"with all partitions at {start} of a consumer's capacity"
    beside = _beside(found) if start == "random" else ""
    figures = "".join(render(_front(found.of(start, delta))) for delta in DELTAS)
    return (
        f"<h2>Streams that start {about}</h2>{text_table(head, rows, numbers_from=1)}{beside}"
        f'<h3>Pareto fronts</h3><p class="about">Each dot is an algorithm; those on the line are beaten by no other in '
        f'both figures.</p><div class="multiples">{figures}</div>'
    )


def _beside(found: PackingReproduction) -> str:
    rows = []
    for (delta, name), (cbs, moves) in sorted(PUBLISHED.items()):
        ours = found.of("random", delta)
        share = ours.rscore[name] / moves - 1
        figures = (f"{ours.cbs[name]:.4f}", f"{cbs:.3f}", f"{ours.rscore[name]:.1f}", f"{moves:g}", f"{share:+.1%}")
        rows.append((f"δ = {delta}", name, *figures))
    head = ("stream", "algorithm", "CBS", "published", "Rscore", "published", "deviation")
    return f"<h3>Beside the published figures</h3>{text_table(head, rows, numbers_from=2)}"


def _pair(scores: StreamScores, name: str) -> str:
    return UNKNOWN if name not in scores.cbs else f"{scores.cbs[name]:.3f} / {scores.rscore[name]:.1f}"


def _front(scores: StreamScores) -> Figure:
    widest = max(max(scores.cbs.values()), 1e-6)
    marks = tuple(Mark(place=part, label=f"{part * widest:.2f}") for part in (0.0, 0.5, 1.0))
    dots = [
        Line(
            label=name,
            times=np.array([scores.cbs[name]]),
            values=np.array([scores.rscore[name]]),
            colour=run_colour(index),
        )
        for index, name in enumerate(name for name in ALGORITHMS if name in scores.front)
    ]
    others = [name for name in ALGORITHMS if name not in scores.front]
    rest = [
        Line(
            label="others" if not number else "",
            times=np.array([scores.cbs[name]]),
            values=np.array([scores.rscore[name]]),
            colour="demand",
        )
        for number, name in enumerate(others)
    ]
    front = Line(
        label="front",
        times=np.array([scores.cbs[name] for name in scores.front]),
        values=np.array([scores.rscore[name] for name in scores.front]),
        colour="demand",
        dash="dotted",
    )
    return Figure(
        title=f"δ = {scores.delta}",
        about=f"On the front: {', '.join(scores.front)}.",
        x=Scale(low=0.0, high=widest, marks=marks, title="cardinal bin score", plain=True),
        y=value_scale(max(scores.rscore.values()) or 1.0, title="mean Rscore"),
        unit="records",
        lines=(front, *dots, *rest),
        small=True,
        legend=False,
    )
