"""Which size Phoebe picks, and how it comes to know its profile and its workload."""

from __future__ import annotations

import dataclasses
import math
from pathlib import Path
from typing import Any

import pytest

from headgate import codec
from headgate.core.decision import Proposal
from headgate.core.evaluation import Evaluation, ExecutorEvaluation, OperatorEvaluation, Spread
from headgate.core.profile import FailurePoint, LoadPoint, Profile, ProfiledSize
from headgate.errors import UserMistake
from headgate.policies.phoebe import Candidate, Phoebe, pick, read_profile
from headgate.testing import knowledge
from headgate.wiring.specs import make_policy


def candidate(executors: int, *, recovery_s: float = 100.0, latency_s: float = 1.0, normal: bool = True) -> Candidate:
    return Candidate(
        executors=executors, capacity=100.0 * executors, recovery_s=recovery_s, latency_s=latency_s, normal=normal
    )


SLOW, LATE = {"recovery_s": 601.0}, {"latency_s": 50.0, "normal": False}


@pytest.mark.parametrize(
    ("given", "current", "growing", "expected", "why"),
    [
        pytest.param([SLOW, {}, {}, {}], 4, False, 4, "not-worth-a-restart", id="two fewer"),
        pytest.param([{}, {}, {}, {}], 4, False, 1, "fits", id="three fewer"),
        pytest.param([SLOW, LATE, {}, {}], 1, False, 3, "fits", id="the smallest that recovers in time and is normal"),
        pytest.param([SLOW, LATE, {}, {}], 3, False, 3, "fits-already", id="it is there already"),
        pytest.param([{}, {}, {}, {}], 4, True, 4, "fits-while-growing", id="not fewer while the load grows"),
        pytest.param([SLOW, SLOW, {}, {}], 2, True, 3, "fits", id="more when growing and not valid"),
        pytest.param([SLOW, SLOW, SLOW, SLOW], 2, False, 1, "nothing-fits", id="all recover alike, all answer alike"),
        pytest.param(
            [{"recovery_s": 900.0}, {"recovery_s": 700.0}, {"recovery_s": 690.0}, {"recovery_s": 900.0}],
            1,
            False,
            2,
            "nothing-fits",
            id="within 5 % of the fastest recovery",
        ),
        pytest.param(
            [{**SLOW, "latency_s": 9.0}, {**SLOW, "latency_s": 2.0}, {**SLOW, "latency_s": 1.0}, SLOW],
            1,
            False,
            3,
            "nothing-fits",
            id="the one that answers fastest, if larger",
        ),
        pytest.param(
            [{"recovery_s": math.inf, "latency_s": math.inf}] * 4, 1, False, 4, "nothing-fits", id="all without bound"
        ),
    ],
)
def test_pick(given: list[dict[str, Any]], current: int, growing: bool, expected: int, why: str) -> None:
    candidates = [candidate(number, **figures) for number, figures in enumerate(given, start=1)]
    found = pick(candidates, current=current, growing=growing, target_s=600.0, spared=2)
    assert (found.executors, found.why) == (expected, why)


def profiled(capacity: float = 1000.0, downtime_s: float = 30.0) -> Profile:
    return Profile(
        app="orders",
        sizes=tuple(
            ProfiledSize(
                executors=executors,
                capacity=capacity * executors,
                loads=tuple(
                    LoadPoint(rate=use * capacity * executors, latency_s=latency_s)
                    for use, latency_s in ((0.2, 1.0), (0.9, 1.5), (1.1, 60.0))
                ),
                failures=(FailurePoint(rate=500.0, downtime_s=downtime_s, recovery_s=90.0),),
            )
            for executors in (1, 4)
        ),
    )


def minute(index: int, *, rate: float = 2500.0, executors: int = 8) -> Evaluation:
    return Evaluation(
        time_s=60.0 * index,
        operators=(
            OperatorEvaluation(
                name="source",
                arrivals_per_s=(rate,) * 60,
                latency_s=Spread(mean=1.2, p50=1.0, p95=2.0, p99=2.0, max=2.0),
            ),
        ),
        executors=tuple(ExecutorEvaluation(id=str(number)) for number in range(executors)),
        window_s=60.0,
    )


def codes(proposal: Proposal) -> list[str]:
    return [reason.code for reason in proposal.reasons]


def known_profile(**memory: Any) -> dict[str, Any]:
    return {"profile": codec.to_plain(profiled()), **memory}


def test_the_profile_is_asked_for_once_adopted_and_then_decided_on_every_ten_minutes(tmp_path: Path) -> None:
    file = tmp_path / "profile.json"
    file.write_bytes(codec.to_json(profiled()))
    policy = Phoebe(profile=str(file))
    first = policy.decide(minute(1), knowledge(executors=8))
    assert (codes(first), first.train) == (["profile-unread"], True)
    second = policy.decide(minute(2), knowledge(executors=8, memory=first.memory))
    assert (codes(second), second.train) == (["profile-unread"], False)

    delivered = policy.train(policy.lesson(minute(2), knowledge(executors=8, memory=second.memory)))
    known = dataclasses.replace(knowledge(executors=8, memory=second.memory), delivered=delivered)
    third = policy.decide(minute(3), known)
    assert codes(third) == ["profile-read", "forecast-line", "between-decisions"]

    memory, decided = third.memory, []
    for index in range(4, 25):
        proposal = policy.decide(minute(index), knowledge(executors=8, memory=memory))
        memory = proposal.memory
        if codes(proposal)[-1] != "between-decisions":
            decided.append((index, proposal.allocation.executors, codes(proposal)[-1], proposal.checkpoint))
    assert decided == [(10, 3, "fits", True), (20, 3, "fits", True)]


def test_recovery_is_that_of_a_failure() -> None:
    """30 s down and 10 s again are 100 000 records of 2500/s; three have 500/s to spare: 30 + 200 s."""
    policy = Phoebe(profile="known.json")
    proposal = policy.decide(minute(10), knowledge(executors=8, memory=known_profile()))
    figures = proposal.reasons[-1].inputs
    assert (figures["chosen"], figures["foreseen"]) == (3, pytest.approx(2500.0))
    assert figures["recovery_s"] == pytest.approx(30.0 + (30.0 + 10.0) * 2500.0 / 500.0)
    # Three are used by 83 %, between 1 s at a fifth and 1.5 s at nine tenths.
    assert figures["latency_s"] == pytest.approx(1.0 + 0.5 * (2500 / 3000 - 0.2) / 0.7, rel=1e-3)
    quick = Phoebe(profile="known.json", recovery_target_s=150.0)
    assert quick.decide(minute(10), knowledge(executors=8, memory=known_profile())).allocation.executors == 4


def test_sizes_whose_latency_would_not_be_normal_are_left_out() -> None:
    """2500 of 2600 records/s: 96 %, nearer to the 60 s of an overload than to the 1.5 s of a full load."""
    tight = {"profile": codec.to_plain(profiled(capacity=2600.0 / 3))}
    policy = Phoebe(profile="known.json", recovery_target_s=6000.0)
    proposal = policy.decide(minute(10), knowledge(executors=8, memory=tight))
    assert proposal.allocation.executors == 4


def test_what_is_seen_while_it_runs_is_remembered_and_bounded() -> None:
    policy, memory = Phoebe(profile="known.json"), known_profile()
    for index in range(1, 80):
        memory = dict(policy.decide(minute(10 * index), knowledge(executors=8, memory=memory)).memory)
    assert len(memory["seen"]) == 50
    assert memory["seen"][-1] == [8, 2500.0, 1.2]


def test_without_a_profile_or_with_an_unreadable_one_the_size_stays_and_it_says_why() -> None:
    none = Phoebe().decide(minute(10), knowledge(executors=5))
    assert (codes(none), none.allocation.executors, none.train) == (["profile-missing"], 5, False)
    known = dataclasses.replace(knowledge(executors=5), delivered={"problem": "UserMistake: profile x is gone"})
    broken = Phoebe(profile="x").decide(minute(10), known)
    assert codes(broken) == ["profile-unreadable"]
    assert "profile x is gone" in broken.reasons[0].message
    later = Phoebe(profile="x").decide(minute(11), knowledge(executors=5, memory=broken.memory))
    assert (codes(later), later.train) == (["profile-unreadable"], False)


def test_a_profile_is_checked_when_the_policy_is_made(tmp_path: Path) -> None:
    with pytest.raises(UserMistake, match=r"profile .*nowhere.json does not exist; make it with headgate profile"):
        make_policy(f"phoebe:profile={tmp_path / 'nowhere.json'}")
    wrong = tmp_path / "wrong.json"
    wrong.write_text('{"app": "a"}')
    with pytest.raises(UserMistake, match=r"policy 'phoebe': profile .*wrong.json: sizes"):
        make_policy(f"phoebe:profile={wrong}")
    with pytest.raises(UserMistake, match="cannot be read"):
        read_profile(str(tmp_path))
