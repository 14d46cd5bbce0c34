import pytest

from headgate.errors import UserMistake
from headgate.grammar import parse_spec
from headgate.policies import POLICIES, Static
from headgate.testing import evaluation, knowledge


def test_a_fixed_size_is_wanted_whatever_the_load() -> None:
    policy = parse_spec("static:executors=12", POLICIES, kind="policy")
    for busy in (0.0, 1.0, None):
        proposal = policy.decide(evaluation(busy=busy), knowledge(executors=3))
        assert proposal.allocation.executors == 12
        assert proposal.reasons[0].code == "fixed-size"


def test_without_a_size_the_one_that_is_found_stays() -> None:
    proposal = Static().decide(evaluation(busy=1.0), knowledge(executors=7))
    assert proposal.allocation.executors == 7
    assert [(reason.by, reason.code) for reason in proposal.reasons] == [("static", "holds-what-it-found")]


def test_a_negative_size_is_refused_in_a_sentence() -> None:
    with pytest.raises(UserMistake, match=r"executors=-1 is too small; give 0 or more"):
        Static(executors=-1)
