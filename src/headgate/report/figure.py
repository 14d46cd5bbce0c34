"""One figure as HTML: an SVG drawing that stretches, and text around it that does not.

The drawing is a thousand units wide and a thousand high and fills whatever box it is given; lines
keep their width (``vector-effect``), and labels are ordinary text placed in percent. So one figure
serves phone, screen and paper, takes its colours from the page's style sheet (light, dark, print),
and needs no script to be seen. The page's script only adds a read-out under the pointer, from the
same paths.
"""

from __future__ import annotations

from dataclasses import dataclass
from html import escape
from typing import Literal

import numpy as np

from headgate.report.axes import Floats, Scale
from headgate.report.reduction import changes_only, reduce_points

Unit = Literal["s", "/s", "records", "executors", "share"]
Dash = Literal["", "dashed", "dotted"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Line:
    label: str
    times: Floats
    values: Floats
    """NaN where unknown: the line has a gap there."""
    colour: str
    """A class of the style sheet: ``load``, ``work``, ``run-1`` …"""
    dash: Dash = ""
    step: bool = False
    """The value holds until the next point."""
    filled: bool = False
    """The area under it is tinted instead of its edge being drawn."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Band:
    """The area between two step lines, where the upper one is really higher."""

    label: str
    times: Floats
    lower: Floats
    upper: Floats
    colour: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Ribbon:
    """From the lowest to the highest value around a line."""

    label: str
    times: Floats
    lower: Floats
    upper: Floats
    colour: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Rule:
    """A level across the figure, such as a service's objective."""

    label: str
    value: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Marker:
    time: float
    glyph: str
    title: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Figure:
    title: str
    about: str
    """What to see in it, in a sentence; also what a screen reader says."""
    x: Scale
    y: Scale
    unit: Unit
    lines: tuple[Line, ...]
    bands: tuple[Band, ...] = ()
    ribbons: tuple[Ribbon, ...] = ()
    rules: tuple[Rule, ...] = ()
    markers: tuple[Marker, ...] = ()
    small: bool = False
    legend: bool = True


def render(figure: Figure) -> str:
    small = " small" if figure.small else ""
    legend = _legend(figure) if figure.legend else ""
    x_kind = "log" if figure.x.logarithmic else "plain" if figure.x.plain else "time"
    return (
        f'<figure class="chart{small}"><figcaption><h3>{escape(figure.title)}</h3>'
        f"<p>{escape(figure.about)}</p>{legend}</figcaption>"
        f'<div class="frame"><div class="y-title">{escape(figure.y.title)}</div>'
        f'<div class="plot" data-x="{x_kind}" data-x-low="{figure.x.low:.6g}" data-x-high="{figure.x.high:.6g}"'
        f' data-y-low="{figure.y.low:.6g}" data-y-high="{figure.y.high:.6g}" data-unit="{figure.unit}">'
        f"{_drawing(figure)}{_marks(figure)}{_overlay(figure)}</div>"
        f'<div class="x-title">{escape(figure.x.title)}</div></div></figure>'
    )


def _drawing(figure: Figure) -> str:
    parts = [f"M0 {_down(mark.place)}H1000" for mark in figure.y.marks]
    parts += [f"M{_along(mark.place)} 0V1000" for mark in figure.x.marks]
    paths = [f'<path class="grid" d="{"".join(parts)}"/>']
    paths += [_band(figure, band) for band in figure.bands]
    paths += [_ribbon(figure, ribbon) for ribbon in figure.ribbons]
    paths += [_line(figure, line) for line in sorted(figure.lines, key=lambda line: not line.filled)]
    paths += [
        f'<path class="rule" d="M0 {_down(figure.y.place(rule.value))}H1000"/>'
        for rule in figure.rules
        if rule.value <= figure.y.high
    ]
    name = escape(f"{figure.title}. {figure.about}", quote=True)
    return (
        f'<svg viewBox="0 0 1000 1000" preserveAspectRatio="none" role="img" aria-label="{name}">{"".join(paths)}</svg>'
    )


def _line(figure: Figure, line: Line) -> str:
    times, values = changes_only(line.times, line.values) if line.step else (line.times, line.values)
    times, values = reduce_points(times, values)
    across = figure.x.places(times) * 1000
    down = 1000 - figure.y.places(values) * 1000
    runs = _known_runs(values)
    label = escape(line.label, quote=True)
    if line.filled:
        d = "".join(_area(across[run], down[run], step=line.step) for run in runs)
        return f'<path class="area {line.colour}" data-label="{label}" d="{d}"/>'
    d = "".join(_path(across[run], down[run], step=line.step) for run in runs)
    # A single point is there to be seen, not to be a speck.
    look = f" {line.dash}" if line.dash else " dot" if len(values) == 1 else ""
    return f'<path class="line {line.colour}{look}" data-label="{label}" d="{d}"/>'


def _known_runs(values: Floats) -> list[slice]:
    """The stretches of a line between its gaps."""
    known = np.isfinite(values)
    edges = np.flatnonzero(np.diff(np.concatenate(([False], known, [False])).astype(np.int8)))
    return [slice(int(first), int(end)) for first, end in zip(edges[::2], edges[1::2], strict=True)]


def _path(across: Floats, down: Floats, *, step: bool) -> str:
    xs, ys = np.round(across, 1), np.round(down, 1)
    if len(xs) == 1:
        return f"M{xs[0]:g} {ys[0]:g}H{xs[0]:g}"  # no length, but round ends make it a dot
    if step:
        return f"M{xs[0]:g} {ys[0]:g}" + "".join(f"H{x:g}V{y:g}" for x, y in zip(xs[1:], ys[1:], strict=True))
    if len(xs) > 2:
        # A point level with both its neighbours adds bytes and nothing to see.
        keep = np.concatenate(([True], (ys[1:-1] != ys[:-2]) | (ys[1:-1] != ys[2:]), [True]))
        xs, ys = xs[keep], ys[keep]
    return f"M{xs[0]:g} {ys[0]:g}" + "".join(f"L{x:g} {y:g}" for x, y in zip(xs[1:], ys[1:], strict=True))


def _area(across: Floats, down: Floats, *, step: bool) -> str:
    return f"{_path(across, down, step=step)}V1000H{across[0]:.1f}Z"


def _band(figure: Figure, band: Band) -> str:
    """Boxes, one for each stretch in which both edges stay where they are."""
    higher = band.upper > band.lower
    d = []
    index = 0
    last = len(band.times) - 1
    while index < last:
        if not higher[index]:
            index += 1
            continue
        end = index + 1
        while end < last and band.upper[end] == band.upper[index] and band.lower[end] == band.lower[index]:
            end += 1
        left, right = _along(figure.x.place(band.times[index])), _along(figure.x.place(band.times[end]))
        top, bottom = _down(figure.y.place(band.upper[index])), _down(figure.y.place(band.lower[index]))
        if left != right:
            d.append(f"M{left} {top}H{right}V{bottom}H{left}Z")
        index = end
    return f'<path class="band {band.colour}" d="{"".join(d)}"/>' if d else ""


def _ribbon(figure: Figure, ribbon: Ribbon) -> str:
    across = figure.x.places(ribbon.times) * 1000
    lower, upper = (1000 - figure.y.places(edge) * 1000 for edge in (ribbon.lower, ribbon.upper))
    d = []
    for run in _known_runs(ribbon.upper):
        there = _path(across[run], upper[run], step=False)
        back = _path(across[run][::-1], lower[run][::-1], step=False)
        d.append(f"{there}L{back[1:]}Z")
    return f'<path class="ribbon {ribbon.colour}" d="{"".join(d)}"/>'


def _marks(figure: Figure) -> str:
    spans = [
        f'<span class="y-mark" style="bottom:{mark.place:.2%}">{escape(mark.label)}</span>' for mark in figure.y.marks
    ]
    spans += [
        f'<span class="x-mark{" minor" if mark.minor else ""}" style="left:{mark.place:.2%}">'
        f"{escape(mark.label)}</span>"
        for mark in figure.x.marks
    ]
    return "".join(spans)


def _overlay(figure: Figure) -> str:
    parts = [
        f'<span class="event" style="left:{figure.x.place(marker.time):.2%}"'
        f' title="{escape(marker.title, quote=True)}">{escape(marker.glyph)}</span>'
        f'<span class="event-line" style="left:{figure.x.place(marker.time):.2%}"></span>'
        for marker in figure.markers
    ]
    parts += [
        f'<span class="rule-label" style="bottom:{figure.y.place(rule.value):.2%}">{escape(rule.label)}</span>'
        for rule in figure.rules
        if rule.value <= figure.y.high
    ]
    return "".join(parts)


def _legend(figure: Figure) -> str:
    entries = [
        f'<li><svg class="key" viewBox="0 0 24 10" aria-hidden="true">{_key(line)}</svg>{escape(line.label)}</li>'
        for line in figure.lines
    ]
    entries += [
        f'<li><svg class="key" viewBox="0 0 24 10" aria-hidden="true">'
        f'<path class="band {band.colour}" d="M0 0H24V10H0Z"/></svg>{escape(band.label)}</li>'
        for band in figure.bands
    ]
    entries += [
        f'<li><svg class="key" viewBox="0 0 24 10" aria-hidden="true">'
        f'<path class="ribbon {ribbon.colour}" d="M0 0H24V10H0Z"/></svg>{escape(ribbon.label)}</li>'
        for ribbon in figure.ribbons
    ]
    glyphs = {marker.glyph: marker.title.split(":", 1)[0] for marker in figure.markers}
    entries += [f"<li><b>{escape(glyph)}</b> {escape(meaning)}</li>" for glyph, meaning in glyphs.items()]
    return f'<ul class="legend">{"".join(entries)}</ul>'


def _key(line: Line) -> str:
    if line.filled:
        return f'<path class="area {line.colour}" d="M0 0H24V10H0Z"/>'
    return f'<path class="line {line.colour} {line.dash}" d="M0 5H24"/>'


def _along(place: float) -> str:
    return f"{place * 1000:.1f}".removesuffix(".0")


def _down(place: float) -> str:
    return f"{1000 - place * 1000:.1f}".removesuffix(".0")
