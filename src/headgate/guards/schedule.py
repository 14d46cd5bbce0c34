"""Hours in which the size may not grow or shrink, and hours that need a least size.

``schedule:min=mon-fri 08:00-18:00=4,no_down=22:00-06:00,timezone=Europe/Berlin``

Assumes that time is in seconds since 1970 UTC, as on a real cluster; virtual time that starts at 0
begins on a Thursday at midnight. A least size wins over a blackout, because it names a need.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from typing import ClassVar

from headgate.core.decision import Reason, Ruling
from headgate.core.evaluation import Evaluation
from headgate.core.knowledge import Knowledge
from headgate.core.options import check_options, option
from headgate.guards.hours import Hours, clock_face, local_time, parse_hours, parse_timezone
from headgate.guards.step import present_s, resized


@dataclass(frozen=True, slots=True, kw_only=True)
class Schedule:
    """Blackouts per direction and least sizes by the hour."""

    name: ClassVar[str] = "schedule"

    min: str = option("", "least sizes, as mon-fri 08:00-18:00=4;sat+sun 10:00-14:00=2")
    no_up: str = option("", "hours without scaling up, as 08:00-09:00;fri 16:00-24:00")
    no_down: str = option("", "hours without scaling down, as 22:00-06:00")
    timezone: str = option("UTC", "zone of these hours, as Europe/Berlin, UTC or +02:00")

    def __post_init__(self) -> None:
        check_options(f"guard '{self.name}'", self)
        for text, field, sized in (
            (self.min, "min", True),
            (self.no_up, "no_up", False),
            (self.no_down, "no_down", False),
        ):
            parse_hours(text, where=f"guard '{self.name}': {field}", sized=sized)
        parse_timezone(self.timezone, where=f"guard '{self.name}': timezone")

    @property
    def looks_back_s(self) -> float:
        # Only to know roughly what time it is when nothing could be collected.
        return 600.0 if self.min or self.no_up or self.no_down else 0.0

    def review(self, ruling: Ruling, evaluation: Evaluation | None, knowledge: Knowledge) -> Ruling:
        moment = local_time(present_s(evaluation, knowledge), parse_timezone(self.timezone, where="timezone"))
        if moment is None:
            return ruling
        return self._least(self._blackout(ruling, moment, knowledge), moment, knowledge)

    def _blackout(self, ruling: Ruling, moment: datetime, knowledge: Knowledge) -> Ruling:
        current, wanted = knowledge.current.executors, ruling.allocation.executors
        if wanted == current:
            return ruling
        direction, text = ("up", self.no_up) if wanted > current else ("down", self.no_down)
        hours = _now_in(parse_hours(text, where=f"no_{direction}", sized=False), moment)
        if not hours:
            return ruling
        reason = Reason(
            by=self.name,
            code=f"blackout-{direction}",
            message=(
                f"{wanted} executors are wanted, but {hours[0].text} is without scaling {direction}: {current} stay"
            ),
            inputs={"wanted": wanted, "current": current, "hours": hours[0].text, "local_time": clock_face(moment)},
        )
        return ruling.changed(resized(ruling, current, knowledge), reason)

    def _least(self, ruling: Ruling, moment: datetime, knowledge: Knowledge) -> Ruling:
        wanted = ruling.allocation.executors
        sizes = [
            (hours.size or 0, hours.text) for hours in _now_in(parse_hours(self.min, where="min", sized=True), moment)
        ]
        least, text = max(sizes, default=(0, ""))
        if wanted >= least:
            return ruling
        reason = Reason(
            by=self.name,
            code="scheduled-minimum",
            message=f"{wanted} executors are wanted, but {text} asks for at least {least}",
            inputs={"wanted": wanted, "least": least, "hours": text, "local_time": clock_face(moment)},
        )
        return ruling.changed(resized(ruling, least, knowledge), reason)


def _now_in(windows: tuple[Hours, ...], moment: datetime) -> list[Hours]:
    return [hours for hours in windows if hours.contains(moment)]
