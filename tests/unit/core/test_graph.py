"""The DAG of operators."""

import pytest

from headgate.core.graph import Graph, OperatorNode
from headgate.errors import UserMistake


def diamond() -> Graph:
    return Graph.of(
        OperatorNode(name="join", upstream=("left", "right")),
        OperatorNode(name="left", upstream=("read",)),
        OperatorNode(name="right", upstream=("read",)),
        OperatorNode(name="read"),
    )


def test_operators_come_after_those_they_read_from() -> None:
    names = [operator.name for operator in diamond()]
    assert names[0] == "read"
    assert names[-1] == "join"


def test_paths_lead_from_every_source_to_every_sink() -> None:
    assert diamond().paths() == (("read", "left", "join"), ("read", "right", "join"))


def test_sources_and_sinks_are_found() -> None:
    assert diamond().sources() == ("read",)
    assert diamond().sinks() == ("join",)


def test_an_operator_is_found_by_name() -> None:
    assert diamond()["left"].upstream == ("read",)
    with pytest.raises(KeyError):
        diamond()["nobody"]


def test_a_circle_is_refused() -> None:
    with pytest.raises(UserMistake, match="circle"):
        Graph.of(OperatorNode(name="a", upstream=("b",)), OperatorNode(name="b", upstream=("a",)))


def test_an_unknown_upstream_is_refused() -> None:
    with pytest.raises(UserMistake, match="'a' reads from 'x'"):
        Graph.of(OperatorNode(name="a", upstream=("x",)))


def test_two_operators_of_one_name_are_refused() -> None:
    with pytest.raises(UserMistake, match="twice"):
        Graph.of(OperatorNode(name="a"), OperatorNode(name="a"))
