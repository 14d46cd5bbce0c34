"""Operators with their instances, as policies see them that give each operator a parallelism of its own.

What the operators get together decides how many executors there must be: an instance is a slot, and slots are packed on
the executors' cores. Operators with state cannot be told how parallel to be; they are counted with what they need, and
follow the executors.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from typing import Any, ClassVar

from headgate.core.allocation import Allocation, Dimension
from headgate.core.decision import Proposal, Reason
from headgate.core.evaluation import Evaluation, OperatorEvaluation
from headgate.core.knowledge import Knowledge
from headgate.core.options import check_options, option

_LEAST_RATE = 1e-9
"""An instance that takes longer than thirty years for a record has no rate."""


@dataclass(frozen=True, slots=True, kw_only=True)
class OperatorPolicy:
    """What these policies have in common."""

    name: ClassVar[str]
    scales: ClassVar[frozenset[Dimension]] = frozenset({Dimension.EXECUTORS, Dimension.PARALLELISM})

    most_instances: int = option(15, "most instances of an operator that has no limit of its own", least=1)
    period_s: float = option(30.0, "time between two decisions", above=0)
    window_s: float = option(30.0, "length of the window that an evaluation describes", above=0)

    def __post_init__(self) -> None:
        check_options(f"policy '{self.name}'", self)

    def most(self, operator: OperatorEvaluation) -> int:
        own = operator.max_parallelism
        return max(1, self.most_instances if not own else min(own, self.most_instances))

    def wanting(
        self,
        wanted: Mapping[str, int],
        evaluation: Evaluation,
        knowledge: Knowledge,
        *,
        code: str,
        message: str,
        figures: Mapping[str, Any],
        notes: Iterable[Reason] = (),
        memory: Mapping[str, Any] | None = None,
    ) -> Proposal:
        """A proposal with these instances; ``figures`` are those of each operator, by name."""
        allocation = sized(wanted, evaluation, knowledge)
        present = {operator.name: instances_of(operator, knowledge) for operator in evaluation.operators}
        changes = {name: [present[name], count] for name, count in wanted.items() if count != present[name]}
        if changes:
            message += ": " + ", ".join(f"'{name}' {before} → {after}" for name, (before, after) in changes.items())
        inputs = {"operators": dict(figures), "executors": allocation.executors, "changes": changes}
        reason = Reason(by=self.name, code=code if changes else f"{code}-already", message=message, inputs=inputs)
        return Proposal(allocation=allocation, reasons=(*notes, reason), memory=memory or {})

    def held(self, knowledge: Knowledge, missing: str) -> Proposal:
        message = f"{missing} is unknown of every operator, so {knowledge.current.executors} executors stay"
        reason = Reason(by=self.name, code="missing-metrics", message=message, inputs={"missing": [missing]})
        return Proposal(allocation=knowledge.current, reasons=(reason,))

    def unknown(self, operators: Iterable[str], missing: str) -> list[Reason]:
        """A note on operators that are left as they are, if there are any."""
        names = list(operators)
        if not names:
            return []
        message = f"{missing} is unknown of {', '.join(names)}, which stay as they are"
        return [Reason(by=self.name, code="missing-metrics", message=message, inputs={"operators": names})]


def instances_of(operator: OperatorEvaluation, knowledge: Knowledge) -> int:
    """How many instances an operator is held to have; those of an operator with state are what there is room for."""
    ordered = knowledge.current.parallelism.get(operator.name)
    if ordered is not None and ordered >= 1:
        return ordered
    if operator.parallelism is None or not operator.scalable:
        return max(1, min(operator.parallelism or 1, knowledge.current.executors * _cores(knowledge)))
    return max(1, operator.parallelism)


def service_rate(operator: OperatorEvaluation, instances: int) -> float | None:
    """Records per second of one instance while it works."""
    if operator.service_time_s is not None:
        rate = 1 / operator.service_time_s if operator.service_time_s > 0 else 0.0
    else:
        rate = (operator.true_processing_rate or 0.0) / instances
    return rate if _LEAST_RATE <= rate < math.inf else None


def sized(wanted: Mapping[str, int], evaluation: Evaluation, knowledge: Knowledge) -> Allocation:
    """These instances, and executors for all of them.

    Bounds are not applied here, neither of executors nor of parallelism: what is wanted should be seen.
    """
    slots = sum(wanted.get(operator.name, instances_of(operator, knowledge)) for operator in evaluation.operators)
    parallelism = dict(knowledge.current.parallelism)
    parallelism |= {
        operator.name: wanted[operator.name]
        for operator in evaluation.operators
        if operator.scalable and operator.name in wanted
    }
    executors = math.ceil(slots / _cores(knowledge)) if evaluation.operators else knowledge.current.executors
    return replace(knowledge.current.with_executors(executors), parallelism=parallelism)


def _cores(knowledge: Knowledge) -> int:
    return max(1, knowledge.description.cores_per_executor)
