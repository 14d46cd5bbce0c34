"""Fewer points for the same picture.

A day sampled every second has 86 400 points, a screen has about a thousand columns. Each column
keeps its lowest and its highest value, so that no peak is lost.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from headgate.report.axes import Floats

MOST_POINTS = 1500


def reduce_points(times: Floats, values: Floats, *, most: int = MOST_POINTS) -> tuple[Floats, Floats]:
    """At most ``most`` points (and a few at gaps) with every column's extremes among them.

    >>> times, values = np.arange(10_000.0), np.zeros(10_000)
    >>> values[4321] = 7.0
    >>> reduced = reduce_points(times, values)[1]
    >>> len(reduced) <= MOST_POINTS, float(reduced.max())
    (True, 7.0)
    """
    if len(times) <= most:
        return times, values
    columns = np.array_split(np.arange(len(times)), max(1, most // 2 - 1))
    keep = {0, len(times) - 1}
    for column in columns:
        known = column[np.isfinite(values[column])]
        if len(known) < len(column):
            keep.add(int(column[~np.isfinite(values[column])][0]))
        if len(known):
            keep.add(int(known[np.argmin(values[known])]))
            keep.add(int(known[np.argmax(values[known])]))
    chosen = np.asarray(sorted(keep))
    return times[chosen], values[chosen]


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Envelope:
    """A restless series in calm: its mean, lowest and highest value in each of some columns of time."""

    times: Floats
    mean: Floats
    lowest: Floats
    highest: Floats


def envelope(times: Floats, values: Floats, *, columns: int = 240) -> Envelope:
    """NaN in columns that know nothing.

    >>> calm = envelope(np.arange(1000.0), np.tile([0.0, 8.0], 500), columns=10)
    >>> len(calm.times), float(calm.mean[3]), float(calm.lowest[3]), float(calm.highest[3])
    (10, 4.0, 0.0, 8.0)
    """
    if len(times) <= columns:
        return Envelope(times=times, mean=values, lowest=values, highest=values)
    starts = np.linspace(0, len(times), columns, endpoint=False).astype(np.intp)
    known = np.isfinite(values)
    counts = np.add.reduceat(known.astype(np.float64), starts)
    empty = counts == 0
    mean = np.add.reduceat(np.where(known, values, 0.0), starts) / np.where(empty, 1.0, counts)
    lowest = np.minimum.reduceat(np.where(known, values, np.inf), starts)
    highest = np.maximum.reduceat(np.where(known, values, -np.inf), starts)
    middle = (times[starts] + times[np.append(starts[1:], len(times)) - 1]) / 2
    middle[0], middle[-1] = times[0], times[-1]
    return Envelope(
        times=middle,
        mean=np.where(empty, np.nan, mean),
        lowest=np.where(empty, np.nan, lowest),
        highest=np.where(empty, np.nan, highest),
    )


def changes_only(times: Floats, values: Floats) -> tuple[Floats, Floats]:
    """The points at which a step line moves, and its ends.

    >>> [part.tolist() for part in changes_only(np.arange(5.0), np.array([1.0, 1.0, 2.0, 2.0, 2.0]))]
    [[0.0, 2.0, 4.0], [1.0, 2.0, 2.0]]
    """
    if len(times) < 3:
        return times, values
    same = (values[1:] == values[:-1]) | (np.isnan(values[1:]) & np.isnan(values[:-1]))
    keep = np.concatenate(([True], ~same))
    keep[-1] = True
    return times[keep], values[keep]
