"""Shrinks only to the largest size that was recommended within a window, as Kubernetes does.

A short dip in the load then removes nothing; a lasting one removes as much as it allows throughout.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from headgate.core.decision import Reason, Ruling
from headgate.core.evaluation import Evaluation
from headgate.core.knowledge import Knowledge
from headgate.core.options import check_options, option
from headgate.guards.step import present_s, resized


@dataclass(frozen=True, slots=True, kw_only=True)
class DelayedScaleDown:
    """Takes the largest of the window's recommendations when shrinking."""

    name: ClassVar[str] = "delayed-scale-down"

    window_s: float = option(300.0, "window whose largest recommendation counts", least=0)

    def __post_init__(self) -> None:
        check_options(f"guard '{self.name}'", self)

    @property
    def looks_back_s(self) -> float:
        return self.window_s

    def review(self, ruling: Ruling, evaluation: Evaluation | None, knowledge: Knowledge) -> Ruling:
        current, wanted = knowledge.current.executors, ruling.allocation.executors
        if wanted >= current:
            return ruling
        begin_s = present_s(evaluation, knowledge) - self.window_s
        # A tick without an evaluation recommended nothing; it only repeated the present size.
        recommended = [
            tick.decision.wanted.executors
            for tick in knowledge.history
            if tick.time_s > begin_s and tick.evaluation is not None
        ]
        granted = min(current, max([wanted, *recommended]))
        if granted == wanted:
            return ruling
        reason = Reason(
            by=self.name,
            code="larger-size-was-recommended",
            message=(
                f"{wanted} executors are wanted, but up to {max(recommended)} were in the last {self.window_s:g} s: "
                f"{granted} for now"
            ),
            inputs={
                "current": current,
                "wanted": wanted,
                "granted": granted,
                "largest": max(recommended),
                "window_s": self.window_s,
            },
        )
        return ruling.changed(resized(ruling, granted, knowledge), reason)
