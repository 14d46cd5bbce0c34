"""DS2: in one pass through the graph, as many instances as the source's rate needs at each operator.

Source: Kalavri et al., "Three Steps is All You Need: Fast, Accurate, Automatic Scaling Decisions for Distributed
Streaming Dataflows", OSDI 2018, its published controller, and its use in Russo Russo et al., "Elastic Pulsar Functions
for Distributed Stream Processing", ICPE Companion 2021, section 4.3. In topological order, with true rates, which count
useful time only:

    instances = ⌈target input ÷ (true processing rate ÷ present instances)⌉

    target input = arrival rate of a source, or Σ target output of the operators before it
    target output = target input × selectivity        (true output rate ÷ true processing rate)

The pass goes on with what an operator is meant to get, not with what rounded-up instances could give. A decision is
taken when ``activation`` windows in a row have asked for one; of them the largest, or the median, counts. A source that
keeps up shows its rate; one that does not shows the rate of arrivals all the same, because those are counted in the
topic. An operator without figures is taken by what arrives at it, and stays as it is if its own rate is unknown.
"""

from __future__ import annotations

import math
import statistics
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

from headgate.core.decision import Proposal
from headgate.core.evaluation import Evaluation, OperatorEvaluation
from headgate.core.graph import Graph, OperatorNode
from headgate.core.knowledge import Knowledge
from headgate.core.options import option
from headgate.errors import UserMistake
from headgate.policies.instances import OperatorPolicy, instances_of, service_rate

_TIDY = 9
"""Digits of a quotient that count, so that 3.0000000000000004 is not rounded up to 4."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Ds2(OperatorPolicy):
    """The parallelism at which no operator holds up the source.

    >>> Ds2(activation=3).window_s
    30.0
    """

    name: ClassVar[str] = "ds2"
    needs: ClassVar[tuple[str, ...]] = ("operators.arrival_rate", "operators.true_processing_rate")

    activation: int = option(1, "windows in a row that must ask for a change", least=1)
    combine: str = option("max", "which of their answers counts", choices=("max", "median"))
    headroom: float = option(0.0, "share of the instances' time to leave free", least=0, most=0.9)

    def plan(self, evaluation: Evaluation, knowledge: Knowledge) -> Proposal:
        present = {operator.name: instances_of(operator, knowledge) for operator in evaluation.operators}
        optimum, figures, unknown = self._optimum(evaluation, present)
        if not optimum:
            return self.held(knowledge, " or ".join(self.needs))
        asked = [*_asked(knowledge.memory), optimum][-self.activation :]
        changes = [answer for answer in asked if any(answer.get(name) != present.get(name) for name in optimum)]
        settled = len(asked) == self.activation and len(changes) == len(asked)
        wanted = self._combined(asked, optimum) if settled else {name: present[name] for name in optimum}
        rate = sum(operator.arrival_rate or 0.0 for operator in evaluation.sources)
        message = f"{rate:g} records/s come in"
        if not settled and changes:
            message += f"; {len(changes)} of {self.activation} windows have asked for a change"
        return self.wanting(
            wanted,
            evaluation,
            knowledge,
            code="optimal-parallelism",
            message=message,
            figures=figures,
            notes=self.unknown(unknown, self.needs[1]),
            memory={"asked": [] if settled or not changes else asked},
        )

    def _optimum(
        self, evaluation: Evaluation, present: Mapping[str, int]
    ) -> tuple[dict[str, int], dict[str, Any], list[str]]:
        """Instances of each operator of which enough is known, with the figures, and the names of the others."""
        known = {operator.name: operator for operator in evaluation.operators}
        outputs: dict[str, float | None] = {}
        optimum: dict[str, int] = {}
        figures: dict[str, Any] = {}
        unknown: list[str] = []
        for name in _in_order(evaluation.operators):
            operator = known[name]
            target = _target(operator, outputs)
            outputs[name] = None
            rate = service_rate(operator, present[name])
            if target is None or rate is None:
                unknown.append(name)
                continue
            if operator.selectivity is not None:
                outputs[name] = target * operator.selectivity
            needed = round(target / (rate * (1 - self.headroom)), _TIDY)
            optimum[name] = max(1, min(self.most(operator), math.ceil(min(needed, 1e9))))
            figures[name] = {"target_rate": target, "rate_per_instance": rate, "needed": needed}
        return optimum, figures, unknown

    def _combined(self, asked: Sequence[Mapping[str, int]], names: Mapping[str, int]) -> dict[str, int]:
        pick = max if self.combine == "max" else statistics.median_high
        return {name: pick([answer[name] for answer in asked if name in answer]) for name in names}


def _target(operator: OperatorEvaluation, outputs: Mapping[str, float | None]) -> float | None:
    before = [outputs.get(name) for name in operator.upstream]
    if not before or None in before:
        return operator.arrival_rate
    return sum(output for output in before if output is not None)


def _in_order(operators: Sequence[OperatorEvaluation]) -> list[str]:
    """Each operator after those that it reads from; as given where they do not make up a graph."""
    names = {operator.name for operator in operators}
    try:
        graph = Graph(
            tuple(
                OperatorNode(name=operator.name, upstream=tuple(each for each in operator.upstream if each in names))
                for operator in operators
            )
        )
    except UserMistake:
        return [operator.name for operator in operators]
    return [node.name for node in graph]


def _asked(memory: Mapping[str, Any]) -> list[dict[str, int]]:
    """Answers of earlier windows; what is none is forgotten."""
    kept = memory.get("asked")
    if not isinstance(kept, Sequence) or isinstance(kept, str):
        return []
    return [
        {str(name): count for name, count in answer.items() if isinstance(count, int)}
        for answer in kept
        if isinstance(answer, Mapping)
    ]
