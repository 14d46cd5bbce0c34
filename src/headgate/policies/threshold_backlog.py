"""One instance more for an operator with a long backlog, one fewer with a short one.

Source: Russo Russo, Schiazza and Cardellini, "Elastic Pulsar Functions for Distributed Stream Processing", ICPE
Companion 2021, section 4.1. With Q the backlog of an operator's input:

    Q ≤ T_in: −1 instance        T_in < Q ≤ T_out: nothing        Q > T_out: +1 instance

never fewer than 1, never more than its maximum. On micro-batches, records always wait for the next batch; backlog is
there what is left beyond the intake of one.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

from headgate.core.decision import Proposal
from headgate.core.evaluation import Evaluation, OperatorEvaluation
from headgate.core.knowledge import Knowledge
from headgate.core.options import option
from headgate.errors import UserMistake
from headgate.policies.instances import OperatorPolicy, instances_of


@dataclass(frozen=True, slots=True, kw_only=True)
class ThresholdBacklog(OperatorPolicy):
    """Keeps the backlog of every operator between two thresholds."""

    name: ClassVar[str] = "threshold-backlog"
    needs: ClassVar[tuple[str, ...]] = ("operators.lag_records",)

    scale_in: float = option(50.0, "backlog up to which an operator has one instance too many (T_in)", least=0)
    scale_out: float = option(150.0, "backlog beyond which it has one too few (T_out)", least=0)

    def __post_init__(self) -> None:
        OperatorPolicy.__post_init__(self)
        if self.scale_in > self.scale_out:
            raise UserMistake(
                f"policy '{self.name}': scale_in={self.scale_in:g} is above scale_out={self.scale_out:g}; swap them"
            )

    def plan(self, evaluation: Evaluation, knowledge: Knowledge) -> Proposal:
        wanted: dict[str, int] = {}
        figures: dict[str, Any] = {}
        unknown: list[str] = []
        for operator in evaluation.operators:
            backlog = _backlog(operator)
            if backlog is None:
                unknown.append(operator.name)
                continue
            present = instances_of(operator, knowledge)
            step = 0
            if operator.scalable:
                step = 1 if backlog > self.scale_out else -1 if backlog <= self.scale_in else 0
            wanted[operator.name] = max(1, min(self.most(operator), present + step))
            figures[operator.name] = {"backlog": backlog, "instances": present}
        if not wanted:
            return self.held(knowledge, self.needs[0])
        message = f"backlogs of up to {self.scale_in:g} records take an instance, of over {self.scale_out:g} bring one"
        return self.wanting(
            wanted,
            evaluation,
            knowledge,
            code="backlog-thresholds",
            message=message,
            figures=figures,
            notes=self.unknown(unknown, self.needs[0]),
        )


def _backlog(operator: OperatorEvaluation) -> float | None:
    if operator.lag_records is None:
        return None
    intake = operator.batch.records if operator.batch is not None else 0.0
    return max(0.0, operator.lag_records - intake)
