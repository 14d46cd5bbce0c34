"""Policies of operators that decide on what will come instead of what comes."""

from __future__ import annotations

from typing import Any

import pytest

from headgate.control.evaluator import fields_for
from headgate.core.evaluation import Evaluation
from headgate.core.ports import Learner
from headgate.policies import Ds2, QueueingFunction, ThresholdBacklog
from headgate.testing import evaluation, knowledge, operator


def rising(by: float, **fields: Any) -> Evaluation:
    """100 records a second on average over half a minute, one operator of 30 an instance."""
    course = tuple(100.0 + by * (second - 14.5) for second in range(30))
    figures = {"arrival_rate": 100.0, "true_processing_rate": 30.0, "parallelism": 1, "scalable": True, **fields}
    return evaluation(operators=[operator("only", arrivals_per_s=course, **figures)])


def instances(policy: Any, seen: Evaluation, **known: Any) -> int:
    found: int = policy.decide(seen, knowledge(**known)).allocation.parallelism["only"]
    return found


def test_a_rate_that_rises_is_followed_to_the_end_of_the_time() -> None:
    """By 2 a second from 129 on: 189 after half a minute are seven instances of 30, those of now are four."""
    assert instances(Ds2(), rising(2.0)) == 4
    assert instances(Ds2(forecast_s=30, forecaster="line"), rising(2.0)) == 7


def test_that_it_will_fall_is_no_reason_to_have_less_than_now() -> None:
    assert instances(Ds2(forecast_s=30, forecaster="line"), rising(-2.0)) == 4


def test_what_cannot_be_taken_in_then_is_backlog() -> None:
    """Up to 189 a second come and 150 are taken in: 39 × 30 s more than the 100 that wait."""
    calm = rising(2.0, lag_records=100.0, true_processing_rate=150.0)
    assert instances(ThresholdBacklog(), calm) == 1
    proposal = ThresholdBacklog(forecast_s=30, forecaster="line").decide(calm, knowledge())
    assert proposal.allocation.parallelism == {"only": 2}
    assert proposal.reasons[-1].inputs["operators"]["only"]["backlog"] == pytest.approx(100 + 30 * 39, rel=0.01)


def test_the_window_is_only_looked_into_where_something_is_foreseen() -> None:
    assert "arrivals_per_s" not in fields_for(QueueingFunction())
    assert fields_for(QueueingFunction(forecast_s=60)) == {"arrivals_per_s", "arrival_scv", "service_scv"}
    assert QueueingFunction().looks_back_s == 0
    assert Ds2(forecast_s=60, forecaster="seasonal-naive", season_s=7200).looks_back_s == 14_400


def test_a_model_is_asked_for_and_trained_where_one_is_wanted() -> None:
    policy = Ds2(forecast_s=60, forecaster="arima", period_s=400, window_s=400)
    assert isinstance(policy, Learner)
    proposal = policy.decide(rising(0.0), knowledge())
    assert proposal.train
    assert proposal.memory["foresight"]["asked"]
    assert "there is no model yet" in proposal.reasons[0].message


def test_without_a_course_the_present_rate_is_what_there_is() -> None:
    seen = evaluation(operators=[operator("only", scalable=True, arrival_rate=100.0, true_processing_rate=30.0)])
    assert instances(Ds2(forecast_s=60), seen) == 4
