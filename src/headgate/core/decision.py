"""A decision and everything needed to explain it.

A policy makes a ``Proposal``; guards turn it, one after the other, into what is granted, and each
leaves its reason. A ``Tick`` is one turn of the loop as it is kept in the journal.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from enum import StrEnum
from typing import Any

from headgate.core.allocation import Allocation
from headgate.core.evaluation import Evaluation


@dataclass(frozen=True, slots=True, kw_only=True)
class Reason:
    """Why something was, or was not, decided: a code for machines, a sentence for people."""

    by: str
    """The policy, guard or part that says it."""
    code: str
    message: str
    inputs: Mapping[str, Any] = field(default_factory=dict)
    """The figures that led to it (JSON values)."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Proposal:
    """What a policy wants, why, and what it wants to remember until the next tick."""

    allocation: Allocation
    reasons: tuple[Reason, ...] = ()
    memory: Mapping[str, Any] = field(default_factory=dict)
    """JSON values; given back in the next tick's knowledge, also after a restart."""
    train: bool = False
    """Whether the policy's ``train`` should be called in the background, with what it decided on."""
    checkpoint: bool = False
    """Whether an engine that must restart should save its state right before, so that nothing is worked off twice."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Ruling:
    """A proposal on its way through the guards."""

    allocation: Allocation
    reasons: tuple[Reason, ...] = ()

    def changed(self, allocation: Allocation, reason: Reason) -> Ruling:
        return replace(self, allocation=allocation, reasons=(*self.reasons, reason))

    def noted(self, reason: Reason) -> Ruling:
        return replace(self, reasons=(*self.reasons, reason))


@dataclass(frozen=True, slots=True, kw_only=True)
class Decision:
    """Allocation wanted, allocation after guards, and the reasons for both."""

    time_s: float
    current: Allocation
    """The target before this decision."""
    wanted: Allocation
    granted: Allocation
    reasons: tuple[Reason, ...] = ()

    @property
    def changes(self) -> bool:
        return self.granted != self.current


class Outcome(StrEnum):
    """What came of a tick."""

    APPLIED = "applied"
    UNCHANGED = "unchanged"
    DRY_RUN = "dry-run"
    NOT_READY = "not-ready"
    FAILED = "failed"
    REFUSED = "refused"


@dataclass(frozen=True, slots=True, kw_only=True)
class Levers:
    """What a person has set by hand."""

    paused: bool = False
    pinned: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Tick:
    """One decision with its evaluation: what the journal keeps of one turn of the loop."""

    index: int
    time_s: float
    epoch: int
    outcome: Outcome
    evaluation: Evaluation | None
    decision: Decision
    observed: Allocation | None = None
    """What was there when it was decided; ``None`` if nothing could be collected."""
    memory: Mapping[str, Any] = field(default_factory=dict)
    delivered: Mapping[str, Any] | None = None
    """What a training had brought in before it was decided."""
    levers: Levers = field(default_factory=Levers)
    problem: str | None = None
    """Why it was not ready, failed or was refused."""
    took_s: float = 0.0
    run_started_s: float = 0.0
    """When the controller that made it had started."""
