"""What every policy promises; a policy added to the mapping is checked without a line here."""

from __future__ import annotations

import dataclasses
import json

import hostile
import pytest
from hypothesis import HealthCheck, given, settings

import headgate.policies
from headgate.codec import from_json, to_json
from headgate.core.allocation import Dimension
from headgate.core.decision import Proposal
from headgate.core.evaluation import Evaluation
from headgate.core.knowledge import Knowledge
from headgate.core.ports import Policy
from headgate.grammar import describe_options, parse_spec, spell
from headgate.policies import POLICIES
from headgate.testing import evaluation, executors, knowledge, operator

CALM = settings(max_examples=40, suppress_health_check=list(HealthCheck))

every_policy = pytest.mark.parametrize("name", list(POLICIES))


def check(proposal: Proposal, policy: Policy) -> None:
    assert proposal.allocation.executors >= 0
    assert proposal.reasons, "a decision says why, also when nothing changes"
    assert all(reason.by == policy.name and reason.code and reason.message for reason in proposal.reasons)
    assert json.loads(json.dumps(proposal.memory, allow_nan=False)) == proposal.memory
    assert from_json(Proposal, to_json(proposal), where="proposal") == proposal


@every_policy
def test_is_a_frozen_policy_under_its_own_name(name: str) -> None:
    policy = POLICIES[name]()
    assert isinstance(policy, Policy)
    assert policy.name == name
    assert type(policy).__name__ in headgate.policies.__all__
    field = dataclasses.fields(policy)[0].name  # type: ignore[arg-type]
    with pytest.raises(dataclasses.FrozenInstanceError):
        setattr(policy, field, None)
    assert policy.period_s > 0
    assert policy.window_s > 0


@every_policy
def test_explains_itself_and_every_option(name: str) -> None:
    cls = POLICIES[name]
    assert "Source" in (__import__(cls.__module__, fromlist=["x"]).__doc__ or "")
    rows = describe_options(cls)
    assert {"period_s", "window_s"} <= {row["option"] for row in rows}
    assert all(row["meaning"] for row in rows)


@every_policy
def test_is_made_again_from_how_it_is_spelled(name: str) -> None:
    policy = POLICIES[name]()
    assert spell(policy) == name
    assert parse_spec(spell(policy), POLICIES, kind="policy") == policy
    slower = dataclasses.replace(policy, period_s=policy.period_s * 2, window_s=7.5)  # type: ignore[type-var]
    assert parse_spec(spell(slower), POLICIES, kind="policy") == slower


@every_policy
@pytest.mark.parametrize(
    "seen",
    [
        Evaluation(time_s=0),
        evaluation(busy=None, operators=[operator()]),
        evaluation(executors=[]),
        evaluation(busy=1.0, count=1000),
        evaluation(executors=executors([None, 0.5], age_s=[None, 0.0], leaving=1)),
        evaluation(arrival_rate=1e300, input_rate=0.0, lag_records=1e300, true_processing_rate=0.0),
    ],
    ids=["empty", "unknown", "no-executors", "thousand", "leaving", "huge"],
)
@pytest.mark.parametrize("size", [0, 1, 1000])
def test_survives(name: str, seen: Evaluation, size: int) -> None:
    policy = POLICIES[name]()
    check(policy.decide(seen, knowledge(executors=size)), policy)


@every_policy
def test_holds_the_size_and_names_what_it_needs_when_nothing_is_known(name: str) -> None:
    policy = POLICIES[name]()
    proposal = policy.decide(Evaluation(time_s=0), knowledge(executors=5))
    assert proposal.allocation == knowledge(executors=5).current
    said = " ".join(reason.message for reason in proposal.reasons)
    assert not policy.needs or any(need in said for need in policy.needs)


@every_policy
@given(seen=hostile.evaluations, known=hostile.knowledges)
@CALM
def test_decides_purely_and_never_raises(name: str, seen: Evaluation, known: Knowledge) -> None:
    policy = POLICIES[name]()
    proposal = policy.decide(seen, known)
    check(proposal, policy)
    assert policy.decide(seen, known) == proposal
    if known.current.executors == proposal.allocation.executors and Dimension.PARALLELISM not in policy.scales:
        assert proposal.allocation == known.current
    assert all(
        count >= 1 for name, count in proposal.allocation.parallelism.items() if name not in known.current.parallelism
    )
    again = policy.decide(
        dataclasses.replace(seen, time_s=seen.time_s + policy.period_s),
        dataclasses.replace(known, memory=proposal.memory),
    )
    check(again, policy)
