"""As many executors as the arriving records need.

Source: the rule of thumb of every capacity plan.

    executors = ceil(arrival rate ÷ (capacity × (1 − headroom)))

Assumes that the capacity of one executor is known and the same for all.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import ClassVar

from headgate.core.allocation import Dimension
from headgate.core.decision import Proposal, Reason
from headgate.core.evaluation import Evaluation
from headgate.core.knowledge import Knowledge
from headgate.core.options import check_options, option


@dataclass(frozen=True, slots=True, kw_only=True)
class MyPolicy:
    """Follows the arrival rate at a known capacity per executor."""

    name: ClassVar[str] = "my-policy"
    scales: ClassVar[frozenset[Dimension]] = frozenset({Dimension.EXECUTORS})
    needs: ClassVar[tuple[str, ...]] = ("operators.arrival_rate",)

    capacity: float = option(1000.0, "records per second that one executor carries", above=0)
    headroom: float = option(0.2, "share of the capacity to keep free", least=0, most=0.9)
    period_s: float = option(30.0, "time between two decisions", above=0)
    window_s: float = option(60.0, "length of the window that an evaluation describes", above=0)

    def __post_init__(self) -> None:
        check_options(f"policy '{self.name}'", self)

    def decide(self, evaluation: Evaluation, knowledge: Knowledge) -> Proposal:
        rates = [operator.arrival_rate for operator in evaluation.sources]
        known = [rate for rate in rates if rate is not None]
        if not known or len(known) < len(rates):
            message = f"operators.arrival_rate is unknown, so {knowledge.current.executors} executors stay"
            reason = Reason(by=self.name, code="missing-metrics", message=message, inputs={"needs": list(self.needs)})
            return Proposal(allocation=knowledge.current, reasons=(reason,))
        rate, usable = sum(known), self.capacity * (1 - self.headroom)
        size = math.ceil(rate / usable)
        reason = Reason(
            by=self.name,
            code="sized-to-arrivals",
            message=f"{rate:g} records/s arrive and an executor carries {usable:g} with headroom: {size} executors",
            inputs={"arrival_rate": rate, "usable_capacity": usable, "executors": size},
        )
        return Proposal(allocation=knowledge.current.with_executors(size), reasons=(reason,))
