"""The figures of the page, out of one run or of several laid over each other.

With one run the lines are told apart by what they are; with several by the run, and what would hide
behind each other (sizes, which are whole numbers) is drawn side by side instead.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import numpy as np

from headgate.report.axes import Floats, log_scale, share_scale, time_scale, value_scale
from headgate.report.chronicle import ALARMING, EVENT_NAMES, GLYPHS
from headgate.report.course import Course
from headgate.report.figure import Band, Figure, Line, Marker, Ribbon, Rule
from headgate.report.reduction import envelope
from headgate.report.wording import elapsed, number, seconds

RUN_COLOURS = 8
MULTIPLES_ABOUT = (
    "Number of executors over time, each run on the same scales. Blue: more than the load needed; "
    "orange: fewer than it needed."
)


def run_colour(index: int) -> str:
    return f"run-{index % RUN_COLOURS + 1}"


def load_figure(courses: Sequence[Course]) -> Figure:
    """Load against throughput."""
    first, *others = courses
    load = Line(label="load", times=first.rate_times, values=first.load, colour="load", filled=True)
    if others:
        lines = [
            Line(
                label=f"{course.label}: done",
                times=course.rate_times,
                values=course.throughput,
                colour=run_colour(index),
            )
            for index, course in enumerate(courses)
        ]
    else:
        lines = [Line(label="throughput", times=first.rate_times, values=first.throughput, colour="work")]
    everything = (load, *lines)
    return Figure(
        title="Load against throughput",
        about="Records that arrived and that were finished. Where the two part, lag grows or is worked off.",
        x=time_scale(_span_s(courses)),
        y=value_scale(_highest(line.values for line in everything), title="records per second"),
        unit="/s",
        lines=everything,
    )


def reckoning_figure(course: Course) -> Figure | None:
    """What the policy foresaw and took its executors to carry; ``None`` where it says nothing of the kind."""
    reckoned = course.reckoning
    if not reckoned.said:
        return None
    lines = (
        Line(label="load", times=course.rate_times, values=course.load, colour="load", filled=True),
        Line(
            label="most that was foreseen",
            times=reckoned.times,
            values=reckoned.foreseen,
            colour="wanted",
            dash="dotted",
            step=True,
        ),
        Line(label="what the executors carry", times=reckoned.times, values=reckoned.capacity, colour="work"),
    )
    return Figure(
        title="What the policy reckoned with",
        about="The load, the highest rate that was foreseen at each decision, and what the executors that were there "
        "were taken to carry: in 19 of 20 cases it is within the tinted range.",
        x=time_scale(course.span_s),
        y=value_scale(_highest([*(line.values for line in lines), reckoned.high]), title="records per second"),
        unit="/s",
        lines=tuple(line for line in lines if np.isfinite(line.values).any()),
        ribbons=(
            Ribbon(
                label="in 19 of 20 cases", times=reckoned.times, lower=reckoned.low, upper=reckoned.high, colour="work"
            ),
        )
        if np.isfinite(reckoned.high).any()
        else (),
    )


def lag_figure(courses: Sequence[Course]) -> Figure:
    """Micro-batches make lag a saw; what matters is its height, so it is drawn as mean and extent."""
    calm = [envelope(course.times, course.lag) for course in courses]
    ribbons: tuple[Ribbon, ...] = ()
    if len(courses) == 1:
        (only,) = calm
        lines: tuple[Line, ...] = (Line(label="mean", times=only.times, values=only.mean, colour="lag"),)
        extent = Ribbon(
            label="lowest to highest", times=only.times, lower=only.lowest, upper=only.highest, colour="lag"
        )
        ribbons = (extent,)
        about = (
            "Records that had arrived and were not finished yet; on a micro-batch engine it swings with every batch."
        )
    else:
        lines = tuple(
            Line(label=course.label, times=one.times, values=one.highest, colour=run_colour(index))
            for index, (course, one) in enumerate(zip(courses, calm, strict=True))
        )
        about = "Records that had arrived and were not finished yet: the most in each stretch of time."
    return Figure(
        title="Lag",
        about=about,
        x=time_scale(_span_s(courses)),
        y=value_scale(_highest(one.highest for one in calm), title="records"),
        unit="records",
        lines=lines,
        ribbons=ribbons,
    )


def backlog_figure(course: Course, *, others: Sequence[Course] = ()) -> Figure:
    """Lag by operator, small, on the same scales as that of others."""
    courses = [course, *others]
    return Figure(
        title=course.label,
        about=f"at most {number(_highest(course.backlogs.values()))} records",
        x=time_scale(_span_s(courses)),
        y=value_scale(_highest(lag for one in courses for lag in one.backlogs.values()), title="records"),
        unit="records",
        lines=tuple(
            Line(label=name, times=course.times, values=lag, colour=run_colour(index))
            for index, (name, lag) in enumerate(course.backlogs.items())
        ),
        small=True,
        legend=True,
    )


def latency_figure(courses: Sequence[Course]) -> Figure:
    if len(courses) == 1:
        course = courses[0]
        lines: tuple[Line, ...] = (
            Line(label="p95", times=course.latency_times, values=course.latency_p95, colour="p95"),
            Line(label="mean", times=course.latency_times, values=course.latency_mean, colour="mean"),
        )
        about = "From a record's arrival to the end of the batch that wrote it: mean and 95th percentile."
    else:
        lines = tuple(
            Line(label=course.label, times=course.latency_times, values=course.latency_p95, colour=run_colour(index))
            for index, course in enumerate(courses)
        )
        about = "95th percentile of the time from a record's arrival to the end of the batch that wrote it."
    highest = _highest(line.values for line in lines)
    objectives = sorted({course.slo_s for course in courses if course.slo_s is not None})
    rules = tuple(Rule(label=f"objective {seconds(value)}", value=value) for value in objectives)
    # The objective is shown whenever it is near the data; far above it, it would flatten them.
    highest = max([highest, *(value * 1.05 for value in objectives if value <= 4 * highest)])
    return Figure(
        title="Latency over time",
        about=about,
        x=time_scale(_span_s(courses)),
        y=value_scale(highest, title="seconds"),
        unit="s",
        lines=lines,
        rules=rules,
    )


def size_figure(course: Course, *, others: Sequence[Course] = (), small: bool = False) -> Figure:
    """Executors wanted, granted and there; with ``others`` on the same scales as they are."""
    courses = [course, *others]
    lines: list[Line] = []
    bands: list[Band] = []
    if course.demand is not None:
        active, demand = course.active, course.demand
        bands = [
            Band(label="more than needed", times=course.times, lower=demand, upper=active, colour="over"),
            Band(label="fewer than needed", times=course.times, lower=active, upper=demand, colour="under"),
        ]
        if not small:
            lines.append(
                Line(label="needed", times=course.times, values=demand, colour="demand", dash="dotted", step=True)
            )
    if not small:
        lines += [
            Line(
                label="wanted by the policy",
                times=course.tick_times,
                values=course.wanted,
                colour="wanted",
                dash="dotted",
                step=True,
            ),
            Line(
                label="granted",
                times=course.tick_times,
                values=course.granted,
                colour="granted",
                dash="dashed",
                step=True,
            ),
        ]
    lines.append(Line(label="there", times=course.times, values=course.there, colour="there", step=True))
    highest = _highest(
        values
        for one in courses
        for values in (
            one.there,
            one.granted,
            *(() if small else (one.wanted,)),
            *(() if one.demand is None else (one.demand,)),
        )
    )
    return Figure(
        title=course.label if small else "Executors",
        about=course.in_short
        if small
        else "What the policy wanted, what the guards granted, and what was really there.",
        x=time_scale(_span_s(courses)),
        y=value_scale(highest, title="executors", whole=True),
        unit="executors",
        lines=tuple(lines),
        bands=tuple(bands),
        markers=_markers(course),
        small=small,
        legend=not small,
    )


def distribution_figure(courses: Sequence[Course]) -> Figure | None:
    """Share of records that were at least so fast; ``None`` when no run knows a latency."""
    known = [(index, course) for index, course in enumerate(courses) if len(course.latency_values)]
    if not known:
        return None
    # The quickest records of each run would stretch a logarithmic axis for nothing.
    lowest = min(float(np.interp(0.02, course.latency_shares, course.latency_values)) for _, course in known)
    highest = max(float(course.latency_values[-1]) for _, course in known)
    return Figure(
        title="Latency distribution",
        about="Share of all records that were written within a time (the further left, the faster).",
        x=log_scale(lowest, highest, title="latency (logarithmic)"),
        y=share_scale(title="share of records"),
        unit="share",
        lines=tuple(
            Line(
                label=course.label if len(courses) > 1 else "records written within",
                times=course.latency_values,
                values=course.latency_shares,
                colour=run_colour(index) if len(courses) > 1 else "mean",
            )
            for index, course in known
        ),
        legend=len(courses) > 1,
    )


def _markers(course: Course) -> tuple[Marker, ...]:
    return tuple(
        Marker(
            time=event.time_s - course.started_s,
            glyph=GLYPHS[event.kind],
            title=f"{EVENT_NAMES[event.kind]}: {event.message} ({elapsed(event.time_s - course.started_s)})",
        )
        for event in course.events
        if event.kind in ALARMING
    )


def _span_s(courses: Iterable[Course]) -> float:
    return max(course.span_s for course in courses)


def _highest(series: Iterable[Floats]) -> float:
    tops = [float(np.nanmax(values)) for values in series if np.isfinite(values).any()]
    return max(tops, default=0.0)
