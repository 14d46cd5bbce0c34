"""Ignores changes that are small beside the present size."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from headgate.core.decision import Reason, Ruling
from headgate.core.evaluation import Evaluation
from headgate.core.knowledge import Knowledge
from headgate.core.options import check_options, option
from headgate.guards.step import resized


@dataclass(frozen=True, slots=True, kw_only=True)
class Tolerance:
    """Holds the size while the wanted one lies within a band around it."""

    name: ClassVar[str] = "tolerance"

    band: float = option(0.1, "share of the present size up to which a change is ignored", least=0, most=1)

    def __post_init__(self) -> None:
        check_options(f"guard '{self.name}'", self)

    @property
    def looks_back_s(self) -> float:
        return 0.0

    def review(self, ruling: Ruling, evaluation: Evaluation | None, knowledge: Knowledge) -> Ruling:  # noqa: ARG002
        current, wanted = knowledge.current.executors, ruling.allocation.executors
        if wanted == current or current == 0:
            return ruling
        change = abs(wanted - current) / current
        if change > self.band:
            return ruling
        reason = Reason(
            by=self.name,
            code="change-too-small",
            message=(
                f"{wanted} executors are wanted, but that is {change:.0%} away from {current}, "
                f"within the band of {self.band:.0%}: {current} stay"
            ),
            inputs={"current": current, "wanted": wanted, "change": change, "band": self.band},
        )
        return ruling.changed(resized(ruling, current, knowledge), reason)
