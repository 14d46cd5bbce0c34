"""One more above, one fewer below, operator by operator."""

from __future__ import annotations

from typing import Any

import pytest

from headgate.core.allocation import Allocation
from headgate.core.evaluation import BatchEvaluation
from headgate.errors import UserMistake
from headgate.policies import ThresholdBacklog
from headgate.testing import evaluation, knowledge, operator


def decided(policy: ThresholdBacklog | None = None, *, present: int = 4, **fields: Any) -> Any:
    seen = evaluation(operators=[operator("resize", scalable=True, max_parallelism=15, **fields)])
    current = Allocation(executors=present, parallelism={"resize": present})
    return (policy or ThresholdBacklog()).decide(seen, knowledge(current=current))


@pytest.mark.parametrize(("backlog", "instances"), [(0.0, 3), (50.0, 3), (51.0, 4), (150.0, 4), (151.0, 5), (1e9, 5)])
def test_the_three_intervals(backlog: float, instances: int) -> None:
    proposal = decided(lag_records=backlog)
    assert proposal.allocation == Allocation(executors=instances, parallelism={"resize": instances})


@pytest.mark.parametrize(("present", "backlog", "instances"), [(1, 0.0, 1), (15, 1e9, 15)])
def test_never_below_one_and_never_above_the_most(present: int, backlog: float, instances: int) -> None:
    assert decided(present=present, lag_records=backlog).allocation.parallelism == {"resize": instances}


def test_on_micro_batches_the_intake_of_one_is_no_backlog() -> None:
    batch = BatchEvaluation(count=10, duration_s=1.0, records=200.0, largest_records=300.0)
    assert decided(lag_records=340.0, batch=batch).allocation.parallelism == {"resize": 4}
    assert decided(lag_records=351.0, batch=batch).allocation.parallelism == {"resize": 5}
    assert decided(lag_records=180.0, batch=batch).allocation.parallelism == {"resize": 3}


def test_operators_are_judged_one_by_one_and_those_unknown_stay() -> None:
    operators = [
        operator("a", scalable=True, parallelism=2, lag_records=1000.0),
        operator("b", scalable=True, parallelism=2, lag_records=0.0),
        operator("c", scalable=True, parallelism=2),
    ]
    proposal = ThresholdBacklog().decide(evaluation(operators=operators), knowledge(executors=6))
    assert proposal.allocation.parallelism == {"a": 3, "b": 1}
    assert proposal.allocation.executors == 3 + 1 + 2
    assert [reason.code for reason in proposal.reasons] == ["missing-metrics", "backlog-thresholds"]
    assert "'a' 2 → 3, 'b' 2 → 1" in proposal.reasons[-1].message


def test_thresholds_the_wrong_way_round_are_refused() -> None:
    with pytest.raises(UserMistake, match="scale_in=200 is above scale_out=150; swap them"):
        ThresholdBacklog(scale_in=200)
