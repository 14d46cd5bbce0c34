"""One executor more above a busy share, one fewer below another.

Source: the threshold rules THR of Gesscale's evaluation (Arkian et al., ICCCN 2021, section V): one
resource more when CPU utilisation is over 90 %, one fewer when it is under 50 %, looked at once a
minute.

    step = +1 if mean(busy) > high;  −1 if mean(busy) < low;  else 0

Deviations: the busy share (task time ÷ cores × wall time) stands for CPU utilisation, because it
covers Python processes beside the executor; which node is added or removed is left to the cluster.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from headgate.core.allocation import Dimension
from headgate.core.decision import Proposal, Reason
from headgate.core.evaluation import Evaluation
from headgate.core.knowledge import Knowledge
from headgate.core.options import check_options, option
from headgate.errors import UserMistake


@dataclass(frozen=True, slots=True, kw_only=True)
class ThresholdBusy:
    """Steps of one executor, steered by how busy the executors are on average."""

    name: ClassVar[str] = "threshold-busy"
    scales: ClassVar[frozenset[Dimension]] = frozenset({Dimension.EXECUTORS})
    needs: ClassVar[tuple[str, ...]] = ("executors.busy",)

    high: float = option(0.9, "mean busy share above which one executor is added", above=0, most=1)
    low: float = option(0.5, "mean busy share below which one executor is removed", least=0, most=1)
    period_s: float = option(60.0, "time between two decisions", above=0)
    window_s: float = option(60.0, "length of the window that an evaluation describes", above=0)

    def __post_init__(self) -> None:
        check_options(f"policy '{self.name}'", self)
        if self.low >= self.high:
            raise UserMistake(
                f"policy '{self.name}': low={self.low:g} is not below high={self.high:g}; give a smaller low"
            )

    def decide(self, evaluation: Evaluation, knowledge: Knowledge) -> Proposal:
        present = knowledge.current.executors
        working = evaluation.working_executors
        known = [executor.busy for executor in working if executor.busy is not None]
        if not known:
            return Proposal(allocation=knowledge.current, reasons=(self._without_figures(len(working), present),))
        busy = sum(known) / len(known)
        inputs = {
            "busy": busy,
            "low": self.low,
            "high": self.high,
            "executors_measured": len(known),
            "executors_unknown": len(working) - len(known),
            "current": present,
        }
        if busy > self.high:
            size, code = present + 1, "busy-above-threshold"
            message = f"executors are {busy:.0%} busy, over {self.high:.0%}: one more, {size} in all"
        elif busy < self.low:
            size, code = max(0, present - 1), "busy-below-threshold"
            message = f"executors are {busy:.0%} busy, under {self.low:.0%}: one fewer, {size} in all"
        else:
            size, code = present, "busy-between-thresholds"
            message = f"executors are {busy:.0%} busy, between {self.low:.0%} and {self.high:.0%}: {size} stay"
        reason = Reason(by=self.name, code=code, message=message, inputs=inputs)
        return Proposal(allocation=knowledge.current.with_executors(size), reasons=(reason,))

    def _without_figures(self, working: int, present: int) -> Reason:
        return Reason(
            by=self.name,
            code="missing-metrics",
            message=f"executors.busy is unknown for all of {working} executors, so {present} stay",
            inputs={"missing": list(self.needs), "executors": working, "current": present},
        )
