"""A fixed size: the baseline that every elastic policy is measured against.

Source: the static deployments that the literature compares with, as the 12 workers of Daedalus
(Pfister et al., ICPE 2024, section 4.3.1). Deviation: without a number it keeps the size it finds,
which makes it an observer that never acts.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from headgate.core.allocation import Dimension
from headgate.core.decision import Proposal, Reason
from headgate.core.evaluation import Evaluation
from headgate.core.knowledge import Knowledge
from headgate.core.options import check_options, option


@dataclass(frozen=True, slots=True, kw_only=True)
class Static:
    """Always the same number of executors."""

    name: ClassVar[str] = "static"
    scales: ClassVar[frozenset[Dimension]] = frozenset({Dimension.EXECUTORS})
    needs: ClassVar[tuple[str, ...]] = ()

    executors: int | None = option(None, "executors to keep; none keeps the size that it finds", least=0)
    period_s: float = option(60.0, "time between two decisions", above=0)
    window_s: float = option(60.0, "length of the window that an evaluation describes", above=0)

    def __post_init__(self) -> None:
        check_options("policy 'static'", self)

    def decide(self, evaluation: Evaluation, knowledge: Knowledge) -> Proposal:  # noqa: ARG002 - the load is ignored
        present = knowledge.current.executors
        if self.executors is None:
            reason = Reason(
                by=self.name,
                code="holds-what-it-found",
                message=f"no size is set, so the {present} executors that are there stay",
                inputs={"executors": present},
            )
            return Proposal(allocation=knowledge.current, reasons=(reason,))
        reason = Reason(
            by=self.name,
            code="fixed-size",
            message=f"the size is fixed at {self.executors} executors, whatever the load",
            inputs={"executors": self.executors, "current": present},
        )
        return Proposal(allocation=knowledge.current.with_executors(self.executors), reasons=(reason,))
