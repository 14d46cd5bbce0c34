"""Leaves the app alone for a time after each change of size, so that its effect can be seen."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from headgate.core.decision import Reason, Ruling
from headgate.core.evaluation import Evaluation
from headgate.core.knowledge import Knowledge
from headgate.core.options import check_options, option
from headgate.guards.step import last_applied, present_s, resized


@dataclass(frozen=True, slots=True, kw_only=True)
class Cooldown:
    """Holds the size until enough time has passed since the last change, whatever its direction."""

    name: ClassVar[str] = "cooldown"

    up_s: float = option(60.0, "time after a change in which nothing is added", least=0)
    down_s: float = option(300.0, "time after a change in which nothing is removed", least=0)

    def __post_init__(self) -> None:
        check_options(f"guard '{self.name}'", self)

    @property
    def looks_back_s(self) -> float:
        return max(self.up_s, self.down_s)

    def review(self, ruling: Ruling, evaluation: Evaluation | None, knowledge: Knowledge) -> Ruling:
        current, wanted = knowledge.current.executors, ruling.allocation.executors
        last = last_applied(knowledge)
        if wanted == current or last is None:
            return ruling
        direction, rest_s = ("up", self.up_s) if wanted > current else ("down", self.down_s)
        since_s = present_s(evaluation, knowledge) - last.time_s
        if since_s >= rest_s:
            return ruling
        reason = Reason(
            by=self.name,
            code=f"cooling-down-before-{direction}",
            message=(
                f"{wanted} executors are wanted, but the last change was {since_s:.0f} s ago and {rest_s:g} s "
                f"must pass before scaling {direction}: {current} stay"
            ),
            inputs={"current": current, "wanted": wanted, "since_s": since_s, "cooldown_s": rest_s},
        )
        return ruling.changed(resized(ruling, current, knowledge), reason)
