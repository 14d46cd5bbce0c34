"""No instance without a slot."""

from __future__ import annotations

import pytest

from headgate.core.allocation import Allocation
from headgate.core.decision import Ruling
from headgate.guards import Slots
from headgate.testing import evaluation, knowledge, operator


def reviewed(executors: int, cores: int = 1, **parallelism: int) -> Ruling:
    operators = [operator(name, scalable=True) for name in parallelism] + [operator("with-state")]
    ruling = Ruling(allocation=Allocation(executors=executors, parallelism=parallelism))
    current = Allocation(executors=3, parallelism=dict.fromkeys(parallelism, 1))
    return Slots().review(ruling, evaluation(operators=operators), knowledge(current=current, cores_per_executor=cores))


def test_what_has_slots_is_left_alone() -> None:
    """Five and one for the operator with state, which is counted but not told."""
    assert reviewed(6, a=2, b=3).reasons == ()
    assert reviewed(3, cores=2, a=2, b=3).allocation.parallelism == {"a": 2, "b": 3}


@pytest.mark.parametrize(
    ("executors", "granted"),
    [(5, {"a": 2, "b": 2}), (4, {"a": 1, "b": 2}), (3, {"a": 1, "b": 1}), (1, {"a": 1, "b": 1})],
)
def test_what_has_none_is_taken_from_whoever_has_most(executors: int, granted: dict[str, int]) -> None:
    ruling = reviewed(executors, a=2, b=3)
    assert ruling.allocation == Allocation(executors=executors, parallelism=granted)
    (reason,) = ruling.reasons
    assert reason.code == "parallelism-cut-to-slots"
    assert f"{executors} executors have {executors} slots" in reason.message


def test_what_nobody_decides_now_stays_as_its_owner_set_it() -> None:
    """More tasks than slots are no mistake."""
    current = Allocation(executors=4, parallelism={"a": 8})
    ruling = Ruling(allocation=Allocation(executors=2, parallelism={"a": 8}))
    assert Slots().review(ruling, evaluation(), knowledge(current=current)) == ruling
