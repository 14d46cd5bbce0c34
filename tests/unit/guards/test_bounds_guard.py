import pytest

from headgate.core.allocation import Allocation
from headgate.core.decision import Ruling
from headgate.core.graph import Graph, OperatorNode
from headgate.guards import Bounds
from headgate.testing import evaluation, knowledge, operator


@pytest.mark.parametrize(
    ("wanted", "granted", "codes"),
    [(30, 12, ["cut-to-upper-bound"]), (0, 2, ["raised-to-lower-bound"]), (2, 2, []), (12, 12, [])],
)
def test_the_size_stays_between_the_bounds(wanted: int, granted: int, codes: list[str]) -> None:
    ruling = Bounds().review(Ruling(allocation=Allocation(executors=wanted)), evaluation(), knowledge(bounds=(2, 12)))
    assert ruling.allocation.executors == granted
    assert [reason.code for reason in ruling.reasons] == codes


def test_what_was_wanted_is_said() -> None:
    ruling = Bounds().review(Ruling(allocation=Allocation(executors=30)), None, knowledge(bounds=(1, 12)))
    assert ruling.reasons[0].message == "30 executors are wanted, but the upper bound is 12"
    assert ruling.reasons[0].inputs == {"wanted": 30, "least": 1, "most": 12}


def test_no_more_is_asked_for_than_the_cluster_can_give() -> None:
    ruling = Bounds().review(Ruling(allocation=Allocation(executors=30)), None, knowledge(bounds=(1, 12), size_limit=6))
    assert ruling.allocation.executors == 6
    assert [reason.code for reason in ruling.reasons] == ["cut-to-upper-bound", "cut-to-cluster-limit"]


def test_the_lower_bound_wins_over_a_smaller_cluster() -> None:
    ruling = Bounds().review(Ruling(allocation=Allocation(executors=9)), None, knowledge(bounds=(4, 12), size_limit=2))
    assert ruling.allocation.executors == 4


def test_parallelism_stays_between_one_and_what_the_operator_bears() -> None:
    graph = Graph.of(OperatorNode(name="parse", max_parallelism=8), OperatorNode(name="join"))
    wanted = Allocation(executors=3, parallelism={"parse": 20, "join": 0, "other": 5, "seen": 9})
    seen = evaluation(operators=[operator("seen", max_parallelism=4), operator("parse", max_parallelism=15)])
    ruling = Bounds().review(Ruling(allocation=wanted), seen, knowledge(graph=graph))
    assert ruling.allocation == Allocation(executors=3, parallelism={"parse": 8, "join": 1, "other": 5, "seen": 4})
    assert {reason.inputs["operator"] for reason in ruling.reasons} == {"parse", "join", "seen"}


def test_named_nodes_are_kept_as_far_as_they_reach() -> None:
    wanted = Allocation(executors=3, nodes=("a", "b", "c"))
    ruling = Bounds().review(Ruling(allocation=wanted), None, knowledge(bounds=(1, 2)))
    assert ruling.allocation.nodes == ("a", "b")
