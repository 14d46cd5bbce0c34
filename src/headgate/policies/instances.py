"""Operators with their instances, as policies see them that give each operator a parallelism of its own.

What the operators get together decides how many executors there must be: an instance is a slot, and slots are packed on
the executors' cores. Operators with state cannot be told how parallel to be; they are counted with what they need, and
follow the executors.

Each of these policies can decide on rates that are foreseen instead of those of now, which their authors leave for
later work: with ``forecast_s`` all arrivals are taken to rise as much as those of the sources are foreseen to, at most,
within that time; that they will fall is no reason to have less than now.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from typing import Any, ClassVar

from headgate.core.allocation import Allocation, Dimension
from headgate.core.decision import Proposal, Reason
from headgate.core.evaluation import Evaluation, OperatorEvaluation
from headgate.core.knowledge import Knowledge
from headgate.core.options import check_options, option
from headgate.policies.foresight import FORECASTERS, Foresight, ForesightMemory, trained, workload_of

_LEAST_RATE = 1e-9
"""An instance that takes longer than thirty years for a record has no rate."""
_BUSY = 0.7
"""How busy the slots of an operator with state may be."""
_MOST_SLOTS = 1e6


@dataclass(frozen=True, slots=True, kw_only=True)
class OperatorPolicy(ABC):
    """What these policies have in common."""

    name: ClassVar[str]
    scales: ClassVar[frozenset[Dimension]] = frozenset({Dimension.EXECUTORS, Dimension.PARALLELISM})

    likes: ClassVar[tuple[str, ...]] = ()
    """Fields that it would like to know."""

    most_instances: int = option(15, "most instances of an operator that has no limit of its own", least=1)
    forecast_s: float = option(0.0, "decide on the highest rate foreseen for so long; 0: on the present one", least=0)
    forecaster: str = option("smoothing", "how the rate is foreseen", choices=FORECASTERS)
    season_s: float = option(86400.0, "period of a workload that repeats itself, for seasonal-naive", least=1)
    period_s: float = option(30.0, "time between two decisions", above=0)
    window_s: float = option(30.0, "length of the window that an evaluation describes", above=0)

    def __post_init__(self) -> None:
        check_options(f"policy '{self.name}'", self)

    @property
    def uses(self) -> tuple[str, ...]:
        return (*self.likes, *(("operators.arrivals_per_s",) if self.forecast_s else ()))

    @property
    def looks_back_s(self) -> float:
        return self._foresight.history_s if self.forecast_s else 0.0

    @property
    def _foresight(self) -> Foresight:
        return Foresight(
            policy=self.name,
            period_s=self.period_s,
            forecaster=self.forecaster,
            season_s=self.season_s,
            horizon_s=max(self.forecast_s, self.period_s),
            poor_wape=0.25,
            retrain_after=15,
            first_training_s=300.0,
            history_s=max(3600.0, 2 * self.season_s if self.forecaster == "seasonal-naive" else 0.0),
        )

    def lesson(self, evaluation: Evaluation, knowledge: Knowledge) -> Any:
        """The workload up to now, for policies that foresee it by a model."""
        return self._foresight.history(evaluation, knowledge)

    def train(self, lesson: Any) -> Mapping[str, Any]:
        """That model."""
        return trained(lesson)

    @abstractmethod
    def plan(self, evaluation: Evaluation, knowledge: Knowledge) -> Proposal:
        """What the policy wants for these rates."""

    def decide(self, evaluation: Evaluation, knowledge: Knowledge) -> Proposal:
        """For the rates of now, or for those that are foreseen."""
        workload = workload_of(evaluation)
        if not self.forecast_s or not workload.size:
            return self.plan(evaluation, knowledge)
        known = knowledge.memory.get("foresight")
        memory = ForesightMemory.restored(known if isinstance(known, Mapping) else {})
        forecast, reasons = self._foresight.foresee(evaluation, knowledge, memory, workload)
        train = self._foresight.wants_training(knowledge, memory)
        present = float(workload.mean())
        rise = max(1.0, forecast.peak(self.forecast_s) / present) if present > 0 else 1.0
        proposal = self.plan(_ahead(evaluation, rise, self.forecast_s), knowledge)
        return replace(
            proposal,
            reasons=(*reasons, *proposal.reasons),
            memory={**proposal.memory, "foresight": memory.state},
            train=train,
        )

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


def _ahead(evaluation: Evaluation, rise: float, seconds: float) -> Evaluation:
    """As it will be if everything that arrives rises so much; what cannot be taken in then is backlog."""
    return replace(
        evaluation,
        operators=tuple(
            replace(
                operator,
                arrival_rate=None if operator.arrival_rate is None else operator.arrival_rate * rise,
                lag_records=None
                if operator.lag_records is None
                else operator.lag_records + seconds * _left_over(operator, rise),
            )
            for operator in evaluation.operators
        ),
    )


def _left_over(operator: OperatorEvaluation, rise: float) -> float:
    """Records per second that will arrive and cannot be taken in."""
    takes = operator.true_processing_rate if operator.true_processing_rate is not None else operator.input_rate
    if operator.arrival_rate is None or takes is None:
        return 0.0
    return max(0.0, operator.arrival_rate * rise - takes)


def instances_of(operator: OperatorEvaluation, knowledge: Knowledge) -> int:
    """How many instances an operator is held to have; of one with state, how many it needs."""
    if not operator.scalable:
        return _needed(operator)
    ordered = knowledge.current.parallelism.get(operator.name)
    return max(1, ordered or operator.parallelism or 1)


def _needed(operator: OperatorEvaluation) -> int:
    """Slots that an operator keeps busy, with some room.

    One with state has as many tasks as there are partitions of it, on however many slots there are: that it could use
    them all is no reason to have them.
    """
    rates = [rate for rate in (operator.arrival_rate, operator.input_rate) if rate is not None]
    if not rates or operator.service_time_s is None:
        return 1
    slots = math.ceil(min(max(rates) * operator.service_time_s / _BUSY, _MOST_SLOTS))
    return max(1, slots if operator.parallelism is None else min(slots, operator.parallelism))


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
