"""Does not trust old figures: holds the size, or goes to one that is known to be safe.

Assumes that an evaluation without an age is fresh, as one written by hand is.
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
class StaleMetrics:
    """Overrides what is wanted once the figures are too old."""

    name: ClassVar[str] = "stale-metrics"

    after_s: float = option(120.0, "age from which figures are not trusted", above=0)
    fallback: int | None = option(None, "executors to go to then; none holds the size", least=0)

    def __post_init__(self) -> None:
        check_options(f"guard '{self.name}'", self)

    @property
    def looks_back_s(self) -> float:
        # Twice, so that the last good tick is still in sight when its figures have become too old.
        return 2 * self.after_s

    def review(self, ruling: Ruling, evaluation: Evaluation | None, knowledge: Knowledge) -> Ruling:
        age_s = _age_s(evaluation, knowledge)
        if age_s is None or age_s <= self.after_s:
            return ruling
        current, wanted = knowledge.current.executors, ruling.allocation.executors
        size = current if self.fallback is None else self.fallback
        does = f"{current} stay" if self.fallback is None else f"fall back to {size}"
        reason = Reason(
            by=self.name,
            code="held-for-stale-metrics" if self.fallback is None else "fallback-for-stale-metrics",
            message=(
                f"the newest figures are {age_s:.0f} s old, more than {self.after_s:g} s, "
                f"so the {wanted} executors wanted are not trusted: {does}"
            ),
            inputs={"age_s": age_s, "after_s": self.after_s, "wanted": wanted, "current": current, "granted": size},
        )
        return ruling.changed(resized(ruling, size, knowledge), reason)


def _age_s(evaluation: Evaluation | None, knowledge: Knowledge) -> float | None:
    if evaluation is not None:
        return evaluation.age_s
    now_s = present_s(None, knowledge)
    for tick in reversed(knowledge.history):
        if tick.evaluation is not None:
            return now_s - tick.time_s + (tick.evaluation.age_s or 0.0)
    return now_s - knowledge.started_s
