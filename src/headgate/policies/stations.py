"""Operators as queues: what the queueing policies know of each, and what its instances would make of it.

Variations that are unknown are those of a Poisson stream and of exponential service, the usual assumption. On
micro-batches every response also has the time that a record waits for its batch, whatever the instances do.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from headgate.core.evaluation import Evaluation, OperatorEvaluation
from headgate.core.knowledge import Knowledge
from headgate.models.queueing import Station
from headgate.policies.instances import instances_of, service_rate

NEEDS = ("operators.arrival_rate", "operators.service_time_s")
USES = ("operators.arrival_scv", "operators.service_scv")


@dataclass(frozen=True, slots=True, kw_only=True)
class KnownStation:
    """An operator of which enough is known."""

    operator: OperatorEvaluation
    station: Station
    instances: int
    batch_delay_s: float

    def response_s(self, instances: int | None = None) -> float:
        """Mean response with so many instances, or with the present ones."""
        return self.batch_delay_s + self.station.response_s(self.instances if instances is None else instances)

    @property
    def floor_s(self) -> float:
        """What no number of instances can be below."""
        return self.batch_delay_s + 1 / self.station.service_rate

    @property
    def figures(self) -> dict[str, Any]:
        response_s = self.response_s()
        return {
            "arrival_rate": self.station.arrival_rate,
            "service_rate": self.station.service_rate,
            "arrival_scv": self.station.arrival_scv,
            "service_scv": self.station.service_scv,
            "batch_delay_s": self.batch_delay_s,
            "instances": self.instances,
            "utilization": _finite(self.station.utilization(self.instances)),
            "response_s": _finite(response_s),
        }


def stations(evaluation: Evaluation, knowledge: Knowledge) -> Mapping[str, KnownStation]:
    """The operators of which enough is known, by name."""
    known = {}
    for operator in evaluation.operators:
        instances = instances_of(operator, knowledge)
        rate = service_rate(operator, instances)
        if operator.arrival_rate is None or not rate:
            continue
        known[operator.name] = KnownStation(
            operator=operator,
            station=Station(
                arrival_rate=operator.arrival_rate,
                service_rate=rate,
                arrival_scv=1.0 if operator.arrival_scv is None else operator.arrival_scv,
                service_scv=1.0 if operator.service_scv is None else operator.service_scv,
            ),
            instances=instances,
            batch_delay_s=operator.batch_delay_s or 0.0,
        )
    return known


def _finite(value: float) -> float | None:
    return value if math.isfinite(value) else None
