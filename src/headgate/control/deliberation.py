"""From an evaluation and knowledge to a decision: policy, then guards, then the diagnosis.

Pure, and the only way to a decision: the running loop, a replay and ``headgate decide`` all call it,
so that they cannot differ.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from headgate.control.diagnosis import diagnose
from headgate.core.decision import Decision, Proposal, Reason, Ruling
from headgate.core.evaluation import Evaluation
from headgate.core.knowledge import Knowledge
from headgate.core.ports import Guard, Learner, Policy


@dataclass(frozen=True, slots=True, kw_only=True)
class Deliberation:
    """A decision, and what the policy wants to remember."""

    decision: Decision
    memory: Mapping[str, Any]
    train: bool = False
    """Whether the policy wants to be trained on it."""
    checkpoint: bool = False
    """Whether it wants the state to be saved before the change."""


def deliberate(
    *,
    evaluation: Evaluation | None,
    knowledge: Knowledge,
    policy: Policy,
    guards: Sequence[Guard],
    problem: str | None = None,
) -> Deliberation:
    """Decide. Without an evaluation the size is held, unless a guard knows better."""
    proposal = _propose(evaluation, knowledge, policy, problem)
    ruling = Ruling(allocation=proposal.allocation, reasons=proposal.reasons)
    for guard in guards:
        ruling = _review(guard, ruling, evaluation, knowledge)
    if evaluation is not None:
        for finding in diagnose(evaluation, knowledge, proposal.allocation):
            ruling = ruling.noted(finding)
    decision = Decision(
        time_s=_moment(evaluation, knowledge),
        current=knowledge.current,
        wanted=proposal.allocation,
        granted=ruling.allocation,
        reasons=ruling.reasons,
    )
    return Deliberation(decision=decision, memory=proposal.memory, train=proposal.train, checkpoint=proposal.checkpoint)


def looked_back_s(policy: Policy, guards: Sequence[Guard]) -> float:
    """How much history a decision by these needs."""
    own_s = policy.looks_back_s if isinstance(policy, Learner) else 0.0
    return max([own_s, *(guard.looks_back_s for guard in guards)])


def _moment(evaluation: Evaluation | None, knowledge: Knowledge) -> float:
    if knowledge.now_s is not None:
        return knowledge.now_s
    return evaluation.time_s if evaluation is not None else knowledge.started_s


def _propose(evaluation: Evaluation | None, knowledge: Knowledge, policy: Policy, problem: str | None) -> Proposal:
    if evaluation is None:
        reason = Reason(by="loop", code="not-ready", message=problem or "there is nothing to evaluate yet")
        return Proposal(allocation=knowledge.current, reasons=(reason,), memory=knowledge.memory)
    try:
        return policy.decide(evaluation, knowledge)
    except Exception as error:
        # A policy may be anyone's code; its mistake must not take the loop, and with it the stream's care, down.
        reason = Reason(
            by="loop",
            code="policy-failed",
            message=f"policy {policy.name} failed with {type(error).__name__}: {error}; the size is held",
        )
        return Proposal(allocation=knowledge.current, reasons=(reason,), memory=knowledge.memory)


def _review(guard: Guard, ruling: Ruling, evaluation: Evaluation | None, knowledge: Knowledge) -> Ruling:
    try:
        return guard.review(ruling, evaluation, knowledge)
    except Exception as error:
        reason = Reason(
            by="loop",
            code="guard-failed",
            message=f"guard {guard.name} failed with {type(error).__name__}: {error}; the size is held",
        )
        return ruling.changed(knowledge.current, reason)
