"""From values to places: the scales of a figure and the marks along them.

A scale maps values to a share of the plot (0 at its start, 1 at its end), so that the same drawing
fits a phone, a screen and a sheet of paper.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from headgate.report import wording

Floats = npt.NDArray[np.float64]

_TIME_STEPS_S = (1, 2, 5, 10, 15, 30, 60, 120, 300, 600, 900, 1800, 3600, 7200, 10800, 21600, 43200, 86400)


@dataclass(frozen=True, slots=True, kw_only=True)
class Mark:
    """A tick of an axis: where, and what stands there."""

    place: float
    label: str
    minor: bool = False
    """To be left out where there is little room."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Scale:
    low: float
    high: float
    marks: tuple[Mark, ...]
    title: str
    logarithmic: bool = False
    plain: bool = False
    """Whether its values are numbers; they are times if not."""

    def places(self, values: Floats) -> Floats:
        """Share of the axis for each value, cut off at its ends."""
        if self.logarithmic:
            with np.errstate(divide="ignore"):
                shares = np.log(np.maximum(values, self.low) / self.low) / math.log(self.high / self.low)
        else:
            shares = (values - self.low) / (self.high - self.low)
        return np.clip(shares, 0.0, 1.0)

    def place(self, value: float) -> float:
        return float(self.places(np.asarray([value], dtype=np.float64))[0])


def time_scale(span_s: float) -> Scale:
    """Time since the start of the run.

    >>> [mark.label for mark in time_scale(3600).marks]
    ['0:00', '0:10', '0:20', '0:30', '0:40', '0:50', '1:00']
    >>> time_scale(300).title
    'time since the start (min:s)'
    """
    span_s = max(span_s, 1.0)
    step = next((step for step in _TIME_STEPS_S if span_s / step <= 9), None)
    if step is None:
        step = 86400 * math.ceil(span_s / 86400 / 9)
    if span_s > 4 * 86400:
        title, label = "time since the start (days)", _days
    elif span_s > 1200:
        title, label = "time since the start (h:min)", _hours
    else:
        title, label = "time since the start (min:s)", _minutes
    marks = tuple(
        Mark(place=index * step / span_s, label=label(index * step), minor=bool(index % 2))
        for index in range(int(span_s / step + 1e-9) + 1)
    )
    return Scale(low=0.0, high=span_s, marks=marks, title=title)


def _days(time_s: float) -> str:
    return f"{time_s / 86400:g}"


def _hours(time_s: float) -> str:
    return f"{int(time_s // 3600)}:{int(time_s % 3600 // 60):02d}"


def _minutes(time_s: float) -> str:
    return f"{int(time_s // 60)}:{int(time_s % 60):02d}"


def value_scale(highest: float, *, title: str, whole: bool = False) -> Scale:
    """From zero to a round number at or over the highest value.

    >>> [mark.label for mark in value_scale(4.2, title="executors", whole=True).marks]
    ['0', '1', '2', '3', '4', '5']
    """
    if not math.isfinite(highest) or highest <= 0:
        highest = 1.0
    step = _round_step(highest / 4, whole=whole)
    count = max(1, math.ceil(highest / step - 1e-9))
    marks = tuple(Mark(place=index / count, label=wording.number(index * step)) for index in range(count + 1))
    return Scale(low=0.0, high=max(highest, count * step), marks=marks, title=title)


def _round_step(rough: float, *, whole: bool) -> float:
    size: float = 10.0 ** math.floor(math.log10(rough))
    step = next(size * factor for factor in (1, 2, 2.5, 5, 10) if size * factor >= rough * 0.8)
    return max(1.0, float(math.ceil(step))) if whole else step


def share_scale(*, title: str) -> Scale:
    marks = tuple(Mark(place=part / 4, label=wording.share(part / 4)) for part in range(5))
    return Scale(low=0.0, high=1.0, marks=marks, title=title)


def log_scale(lowest: float, highest: float, *, title: str) -> Scale:
    """Powers of ten and what lies between, for times from milliseconds to hours.

    >>> [mark.label for mark in log_scale(0.3, 20, title="latency").marks if not mark.minor]
    ['1 s', '10 s']
    """
    low = max(lowest, 1e-3) / 1.05
    high = max(highest * 1.05, low * 10)
    marks: list[Mark] = []
    span = math.log(high / low)
    for exponent in range(math.floor(math.log10(low)), math.ceil(math.log10(high)) + 1):
        for factor in (1, 2, 5):
            value = factor * 10.0**exponent
            if low <= value <= high:
                marks.append(Mark(place=math.log(value / low) / span, label=wording.seconds(value), minor=factor != 1))
    return Scale(low=low, high=high, marks=tuple(marks), title=title, logarithmic=True)
