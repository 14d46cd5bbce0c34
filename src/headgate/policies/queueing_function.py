"""The fewest instances of each operator with which records are through it in time, by queueing theory.

Source: Russo Russo, Schiazza and Cardellini, "Elastic Pulsar Functions for Distributed Stream Processing", ICPE
Companion 2021, section 4.2.1. Each operator is a GI/G/k queue (``models.queueing``); from one instance upwards, the
first number whose mean response T is within R_max, or the most that there may be.

On micro-batches the wait for a batch is added to T. Where that and the work on a record alone are beyond R_max, no
number of instances helps: that is said, and the operator gets the fewest with which records wait for an instance no
longer than they are worked on, instead of the most. An operator without traffic gets one instance.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

from headgate.core.decision import Proposal, Reason
from headgate.core.evaluation import Evaluation
from headgate.core.knowledge import Knowledge
from headgate.core.options import option
from headgate.policies.instances import OperatorPolicy
from headgate.policies.stations import NEEDS, USES, KnownStation, stations


@dataclass(frozen=True, slots=True, kw_only=True)
class QueueingFunction(OperatorPolicy):
    """A mean response time for each operator by itself."""

    name: ClassVar[str] = "queueing-function"
    needs: ClassVar[tuple[str, ...]] = NEEDS
    likes: ClassVar[tuple[str, ...]] = USES

    response_s: float = option(1.0, "mean time in which a record should be through each operator (R_max)", above=0)

    def plan(self, evaluation: Evaluation, knowledge: Knowledge) -> Proposal:
        known = stations(evaluation, knowledge)
        if not known:
            return self.held(knowledge, " or ".join(self.needs))
        wanted: dict[str, int] = {}
        figures: dict[str, Any] = {}
        notes = self.unknown([each.name for each in evaluation.operators if each.name not in known], self.needs[1])
        for name, station in known.items():
            wanted[name], note = self._instances(name, station)
            figures[name] = station.figures
            if note is not None:
                notes.append(note)
        return self.wanting(
            wanted,
            evaluation,
            knowledge,
            code="response-per-operator",
            message=f"records should be through each operator within {self.response_s:g} s",
            figures=figures,
            notes=notes,
        )

    def _instances(self, name: str, known: KnownStation) -> tuple[int, Reason | None]:
        most = self.most(known.operator)
        found = known.station.fewest(self.response_s - known.batch_delay_s, most=most)
        if found is not None:
            return found, None
        inputs = {"operator": name, "floor_s": known.floor_s, "response_s": self.response_s, "most": most}
        if known.floor_s >= self.response_s:
            calm = known.station.fewest(2 / known.station.service_rate, most=most) or most
            message = (
                f"operator '{name}' takes {known.floor_s:.2g} s with any number of instances, of which "
                f"{known.batch_delay_s:.2g} s are waiting for a batch; {calm} keep records from waiting for each other"
            )
            return calm, Reason(by=self.name, code="out-of-reach", message=message, inputs=inputs)
        message = f"operator '{name}' would need more than the {most} instances that it may have"
        return most, Reason(by=self.name, code="capped", message=message, inputs=inputs)
