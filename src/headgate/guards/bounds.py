"""Keeps the size between the least and the most that the user allows; always on.

Also keeps to what the cluster can give, where that is known, because Spark accepts requests beyond
it and ignores them; and keeps every operator's parallelism between 1 and its maximum.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import ClassVar

from headgate.core.decision import Reason, Ruling
from headgate.core.evaluation import Evaluation
from headgate.core.knowledge import Knowledge
from headgate.guards.step import resized


@dataclass(frozen=True, slots=True, kw_only=True)
class Bounds:
    """Clamps executors and parallelism."""

    name: ClassVar[str] = "bounds"

    @property
    def looks_back_s(self) -> float:
        return 0.0

    def review(self, ruling: Ruling, evaluation: Evaluation | None, knowledge: Knowledge) -> Ruling:
        return self._parallelism(self._executors(ruling, knowledge), evaluation, knowledge)

    def _executors(self, ruling: Ruling, knowledge: Knowledge) -> Ruling:
        wanted, bounds = ruling.allocation.executors, knowledge.bounds
        granted = bounds.clamp(wanted)
        inputs = {"wanted": wanted, "least": bounds.least, "most": bounds.most}
        if granted > wanted:
            message = f"{wanted} executors are wanted, but the lower bound is {bounds.least}"
            reason = Reason(by=self.name, code="raised-to-lower-bound", message=message, inputs=inputs)
            ruling = ruling.changed(resized(ruling, granted, knowledge), reason)
        elif granted < wanted:
            message = f"{wanted} executors are wanted, but the upper bound is {bounds.most}"
            reason = Reason(by=self.name, code="cut-to-upper-bound", message=message, inputs=inputs)
            ruling = ruling.changed(resized(ruling, granted, knowledge), reason)
        limit = knowledge.description.size_limit
        if limit is None or granted <= max(limit, bounds.least):
            return ruling
        message = f"{granted} executors are wanted, but the cluster can give {limit}; enlarge the cluster to go further"
        reason = Reason(
            by=self.name, code="cut-to-cluster-limit", message=message, inputs={"wanted": granted, "size_limit": limit}
        )
        return ruling.changed(resized(ruling, max(limit, bounds.least), knowledge), reason)

    def _parallelism(self, ruling: Ruling, evaluation: Evaluation | None, knowledge: Knowledge) -> Ruling:
        if not ruling.allocation.parallelism:
            return ruling
        limits = {} if evaluation is None else {one.name: one.max_parallelism for one in evaluation.operators}
        limits |= {one.name: one.max_parallelism for one in knowledge.description.graph if one.max_parallelism}
        for name, wanted in ruling.allocation.parallelism.items():
            most = limits.get(name)
            granted = max(1, wanted if most is None else min(wanted, most))
            if granted == wanted:
                continue
            allowed = "any number from 1 up" if most is None else f"1 to {most}"
            reason = Reason(
                by=self.name,
                code="parallelism-out-of-range",
                message=f"operator '{name}' is wanted {wanted} times, but may have {allowed}: {granted}",
                inputs={"operator": name, "wanted": wanted, "max_parallelism": most},
            )
            parallelism = {**ruling.allocation.parallelism, name: granted}
            ruling = ruling.changed(replace(ruling.allocation, parallelism=parallelism), reason)
        return ruling
