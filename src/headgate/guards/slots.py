"""Promises no parallelism without slots for it; always on.

A policy that sizes operators asks for executors for all their instances. Where it gets fewer, because of bounds, a
pace, or somebody's hand, its operators would wait for each other's slots while each counts on having its own. So what
there is no slot for is taken back, one instance at a time, from whoever has most.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import ClassVar

from headgate.core.decision import Reason, Ruling
from headgate.core.evaluation import Evaluation
from headgate.core.knowledge import Knowledge


@dataclass(frozen=True, slots=True, kw_only=True)
class Slots:
    """Cuts parallelism to what the granted executors have cores for."""

    name: ClassVar[str] = "slots"

    @property
    def looks_back_s(self) -> float:
        return 0.0

    def review(self, ruling: Ruling, evaluation: Evaluation | None, knowledge: Knowledge) -> Ruling:
        wanted = ruling.allocation.parallelism
        # What nobody decides now is as its owner set it, and more tasks than slots are no mistake.
        if not wanted or wanted == knowledge.current.parallelism:
            return ruling
        others = 0 if evaluation is None else sum(one.name not in wanted for one in evaluation.operators)
        slots = ruling.allocation.executors * max(1, knowledge.description.cores_per_executor)
        granted = {name: max(1, count) for name, count in wanted.items()}
        missing = sum(granted.values()) + others - slots
        while missing > 0 and max(granted.values()) > 1:
            largest = max(granted, key=lambda name: granted[name])
            granted[largest] -= 1
            missing -= 1
        if granted == wanted:
            return ruling
        cut = {name: [wanted[name], count] for name, count in granted.items() if count != wanted[name]}
        told = ", ".join(f"'{name}' {count} instead of {asked}" for name, (asked, count) in cut.items())
        reason = Reason(
            by=self.name,
            code="parallelism-cut-to-slots",
            message=f"{ruling.allocation.executors} executors have {slots} slots, so there are fewer instances: {told}",
            inputs={"slots": slots, "wanted": dict(wanted), "granted": granted},
        )
        return ruling.changed(replace(ruling.allocation, parallelism=granted), reason)
