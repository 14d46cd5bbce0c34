"""A person's hand on the wheel: pause holds the size, pin sets it; always on, and silent unless used.

A pin wins over a pause, because whoever pins a paused app wants that size.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from headgate.core.decision import Reason, Ruling
from headgate.core.evaluation import Evaluation
from headgate.core.knowledge import Knowledge
from headgate.guards.step import resized


@dataclass(frozen=True, slots=True, kw_only=True)
class Levers:
    """Does what a person has set by hand."""

    name: ClassVar[str] = "levers"

    @property
    def looks_back_s(self) -> float:
        return 0.0

    def review(self, ruling: Ruling, evaluation: Evaluation | None, knowledge: Knowledge) -> Ruling:  # noqa: ARG002
        wanted, pinned = ruling.allocation.executors, knowledge.levers.pinned
        inputs = {"wanted": wanted, "current": knowledge.current.executors}
        if pinned is not None:
            reason = Reason(
                by=self.name,
                code="pinned",
                message=f"a person has pinned the size to {pinned} executors ({wanted} were wanted)",
                inputs={**inputs, "pinned": pinned},
            )
            return ruling.changed(resized(ruling, pinned, knowledge), reason)
        if knowledge.levers.paused:
            reason = Reason(
                by=self.name,
                code="paused",
                message=f"a person has paused scaling: {inputs['current']} executors stay ({wanted} were wanted)",
                inputs=inputs,
            )
            return ruling.changed(knowledge.current, reason)
        return ruling
