"""A consumer group over time: its figures, and one page with speeds, consumers, moves and lag."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from html import escape
from pathlib import Path
from statistics import median
from typing import Any

import numpy as np

from headgate.consumers.chronicle import read_chronicle
from headgate.errors import UserMistake
from headgate.report.axes import Floats, time_scale, value_scale
from headgate.report.charts import run_colour
from headgate.report.figure import Figure, Line, Marker, render
from headgate.report.frame import framed, said, text_table
from headgate.report.wording import elapsed, mean_count, number, seconds

_TOLD = ("plan", "too-few-consumers", "lost", "restarted", "managed", "kafka-back")
_MOST_ROWS = 200
NORMAL_S = 10.0
"""Lag is normal up to what is written in so long: a few cycles of a consumer."""


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class GroupCourse:
    """Series since the start; NaN is unknown."""

    app: str
    times_s: Floats
    consumers: Floats
    speed: Floats
    """Bytes per second that are written to all partitions."""
    rate: Floats
    """Records per second that are."""
    lag: Floats
    speeds: Mapping[str, Floats]
    lags: Mapping[str, Floats]
    notes: tuple[Mapping[str, Any], ...]
    """What the controller decided and saw, with seconds since the start."""

    @classmethod
    def read(cls, path: Path, *, app: str) -> GroupCourse:
        try:
            lines = list(read_chronicle(path))
        except OSError as error:
            reason = error.strerror or str(error)
            raise UserMistake(f"the chronicle {path} cannot be read ({reason}); give a group's folder") from None
        looks = [line for line in lines if line["kind"] == "group"]
        start_s = float(lines[0]["time_s"]) if lines else 0.0
        partitions = sorted({partition for look in looks for partition in look["speeds"]}, key=_in_order)
        lags = _carried(looks, partitions)
        speeds = {
            partition: np.array([look["speeds"].get(partition, np.nan) for look in looks], dtype=np.float64)
            for partition in partitions
        }
        notes = [line for line in lines if line["kind"] == "note"]
        return cls(
            app=app,
            times_s=np.array([look["time_s"] - start_s for look in looks], dtype=np.float64),
            consumers=np.array([len(look["consumers"]) for look in looks], dtype=np.float64),
            speed=np.array([sum(look["speeds"].values()) for look in looks], dtype=np.float64),
            rate=np.array([look.get("records_per_s", np.nan) for look in looks], dtype=np.float64),
            lag=np.nansum(np.array(list(lags.values())), axis=0) if lags else np.zeros(len(looks)),
            speeds=speeds,
            lags=lags,
            notes=tuple({**note, "since_s": note["time_s"] - start_s} for note in notes),
        )

    def to_document(self) -> dict[str, Any]:
        plans = [note["figures"] for note in self.notes if note["code"] == "plan"]
        managed = [note["figures"] for note in self.notes if note["code"] == "managed"]
        return {
            "app": self.app,
            "duration_s": float(self.times_s[-1]) if self.times_s.size else 0.0,
            "consumers": _spread(self.consumers),
            "bytes_per_s": _spread(self.speed),
            "lag_records": _spread(self.lag),
            "plans": len(plans),
            "moved": sum(int(plan["moved"]) for plan in plans),
            "rscore": sum(float(plan["rscore"]) for plan in plans),
            "ready_s": median(each["ready_s"] for each in managed) if managed else None,
            "handover_s": median(each["handover_s"] for each in managed) if managed else None,
            "changes": self._changes(),
            "lost": sum(note["code"] == "lost" for note in self.notes),
            "restarted": sum(note["code"] == "restarted" for note in self.notes),
        }

    def _changes(self) -> list[dict[str, float | None]]:
        """How long each change took, phase by phase, and until the lag was normal."""
        normal = self.lag <= NORMAL_S * self.rate
        changes: list[dict[str, float | None]] = []
        plan_s: float | None = None
        for note in self.notes:
            figures = note.get("figures", {})
            if note["code"] == "plan":
                plan_s = figures.get("plan_s")
            elif note["code"] == "managed":
                calm = self.times_s[(self.times_s >= note["since_s"]) & normal]
                changes.append(
                    {
                        "plan_s": plan_s,
                        **{name: figures[name] for name in ("ready_s", "handover_s", "seconds")},
                        "calm_s": float(calm[0] - note["since_s"]) if calm.size else None,
                    }
                )
        return changes


def group_page(course: GroupCourse) -> str:
    found = course.to_document()
    verdict = (
        f"{mean_count(found['consumers']['mean'])} consumers on average, {number(found['consumers']['max'])} at most, "
        f"for {number(found['bytes_per_s']['mean'])} bytes/s; {found['plans']} changes moved {found['moved']} "
        f"partitions; at most {number(found['lag_records']['max'])} records behind."
    )
    figures = "".join(render(figure) for figure in _figures(course)) if course.times_s.size > 1 else ""
    rows = [
        (elapsed(note["since_s"]), note["code"].replace("-", " "), note["message"])
        for note in course.notes
        if note["code"] in _TOLD
    ]
    cut = "" if len(rows) <= _MOST_ROWS else f"<p>The last {_MOST_ROWS} of {len(rows)}.</p>"
    columns = ("change", "consumers ready after", "handover", "in all", "lag normal after")
    changes = [
        (str(place), *(seconds(each[name]) for name in ("ready_s", "handover_s", "seconds", "calm_s")))
        for place, each in enumerate(found["changes"], start=1)
    ]
    return framed(
        f"Consumer group {course.app}",
        f"{said(verdict)}{figures}<h2>Changes of the group</h2>"
        f"{text_table(columns, changes, numbers_from=1)}"
        f"<h2>What happened</h2>{cut}{text_table(('time', 'what', ''), rows[-_MOST_ROWS:])}",
        footer="Made by Headgate. Speeds are those that the monitor told; lag is by the offsets that the group has "
        "committed to Kafka, a moment after they were committed to the lake.",
    )


def _figures(course: GroupCourse) -> list[Figure]:
    x = time_scale(float(course.times_s[-1]))
    markers = tuple(
        Marker(time=note["since_s"], glyph="✕" if note["code"] == "lost" else "●", title=escape(note["message"]))
        for note in course.notes
        if note["code"] in ("plan", "lost")
    )
    return [
        Figure(
            title="Consumers",
            about="How many the group has. Dots: a new plan; crosses: a consumer was taken for lost.",
            x=x,
            y=value_scale(float(course.consumers.max()), title="consumers", whole=True),
            unit="executors",
            lines=(Line(label="consumers", times=course.times_s, values=course.consumers, colour="work", step=True),),
            markers=markers,
            legend=False,
        ),
        Figure(
            title="Write speed",
            about="Bytes per second that are written to all partitions together, as the monitor tells.",
            x=x,
            y=value_scale(float(np.nanmax(course.speed)), title="bytes per second"),
            unit="/s",
            lines=(
                Line(label="all partitions", times=course.times_s, values=course.speed, colour="load", filled=True),
            ),
            legend=False,
        ),
        _by_partition(course, course.speeds, title="Write speed of each partition", what="bytes per second", unit="/s"),
        Figure(
            title="Lag",
            about="Records of all partitions that have come and are not in the lake. "
            f"Normal is at most what is written in {NORMAL_S:g} s.",
            x=x,
            y=value_scale(_highest((course.lag, NORMAL_S * course.rate)), title="records"),
            unit="records",
            lines=(
                Line(label="lag", times=course.times_s, values=course.lag, colour="lag"),
                Line(label="normal", times=course.times_s, values=NORMAL_S * course.rate, colour="load"),
            ),
        ),
        _by_partition(course, course.lags, title="Lag of each partition", what="records", unit="records"),
    ]


def _by_partition(course: GroupCourse, values: Mapping[str, Floats], *, title: str, what: str, unit: Any) -> Figure:
    return Figure(
        title=title,
        about="One line for each partition.",
        x=time_scale(float(course.times_s[-1])),
        y=value_scale(_highest(values.values()), title=what),
        unit=unit,
        lines=tuple(
            Line(label=partition, times=course.times_s, values=each, colour=run_colour(index))
            for index, (partition, each) in enumerate(values.items())
        ),
        legend=len(values) <= 8,
    )


def _highest(series: Iterable[Floats]) -> float:
    return max((float(np.nanmax(each)) for each in series if not np.isnan(each).all()), default=0.0)


def _carried(looks: Sequence[Mapping[str, Any]], partitions: Sequence[str]) -> dict[str, Floats]:
    """Lag is asked for less often than speeds: in between it is what it was."""
    found = {partition: np.full(len(looks), np.nan) for partition in partitions}
    known: Mapping[str, float] = {}
    for index, look in enumerate(looks):
        known = look.get("lag", known)
        for partition in partitions:
            if partition in known:
                found[partition][index] = known[partition]
    return found


def _in_order(partition: str) -> tuple[str, int]:
    topic, _, number_ = partition.rpartition("-")
    return topic, int(number_)


def _spread(values: Floats) -> dict[str, float]:
    known = values[~np.isnan(values)]
    if not known.size:
        return {"mean": 0.0, "min": 0.0, "max": 0.0}
    return {"mean": float(known.mean()), "min": float(known.min()), "max": float(known.max())}
