"""Lets the size change by a few executors at a time only."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from headgate.core.decision import Reason, Ruling
from headgate.core.evaluation import Evaluation
from headgate.core.knowledge import Knowledge
from headgate.core.options import check_options, option
from headgate.guards.step import resized


@dataclass(frozen=True, slots=True, kw_only=True)
class StepLimit:
    """Cuts a step to a largest one per direction."""

    name: ClassVar[str] = "step-limit"

    up: int | None = option(4, "most executors added in one step; none for any number", least=1)
    down: int | None = option(1, "most executors removed in one step; none for any number", least=1)

    def __post_init__(self) -> None:
        check_options(f"guard '{self.name}'", self)

    @property
    def looks_back_s(self) -> float:
        return 0.0

    def review(self, ruling: Ruling, evaluation: Evaluation | None, knowledge: Knowledge) -> Ruling:  # noqa: ARG002
        current, wanted = knowledge.current.executors, ruling.allocation.executors
        most = wanted if self.up is None else current + self.up
        least = wanted if self.down is None else current - self.down
        granted = max(least, min(most, wanted))
        if granted == wanted:
            return ruling
        step = abs(granted - current)
        direction = "up" if wanted > current else "down"
        reason = Reason(
            by=self.name,
            code=f"step-{direction}-cut",
            message=f"from {current} to {wanted} executors is more than one step of {step}: {granted} for now",
            inputs={"current": current, "wanted": wanted, "granted": granted, "limit": step},
        )
        return ruling.changed(resized(ruling, granted, knowledge), reason)
