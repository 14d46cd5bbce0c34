"""DS2 against its authors' cases, and what it makes of what they leave open."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from headgate.core.allocation import Allocation
from headgate.policies import Ds2
from headgate.testing import evaluation, knowledge, operator

VECTORS = Path(__file__).parents[4] / "shared" / "vectors" / "vectors.json"
EDGES = [["Source", "Op1"], ["Op1", "Op2"]]
PUBLISHED: list[dict[str, Any]] = [
    {
        "edges": EDGES,
        "rates": {"Source": [0, 100, 0, 90], "Op1": [50, 400, 45, 380], "Op2": [100, 200, 100, 200]},
        "expect": {"Op1": 2, "Op2": 8, "Source": 1},
    },
    {
        "edges": EDGES,
        "rates": {"Source": [0, 200, 0, 90], "Op1": [40, 700, 15, 380], "Op2": [99, 200, 100, 200]},
        "expect": {"Op1": 5, "Op2": 36, "Source": 1},
    },
]
"""Two of the cases of its published controller: true processing, true output, observed processing, observed output."""


def cases() -> list[dict[str, Any]]:
    if not VECTORS.is_file():
        return PUBLISHED
    found: list[dict[str, Any]] = json.loads(VECTORS.read_text())["ds2"]["cases"]
    return found


@pytest.mark.parametrize("case", cases())
def test_the_published_cases(case: dict[str, Any]) -> None:
    """What its sources put out is what arrives at the operators behind them here."""
    rates, expected = case["rates"], dict(case["expect"])
    sources = {before for before, _ in case["edges"]} - {after for _, after in case["edges"]}
    operators = []
    for name in rates.keys() - sources:
        processing, output, *_ = rates[name]
        upstream = [before for before, after in case["edges"] if after == name]
        operators.append(
            operator(
                name,
                upstream=tuple(each for each in upstream if each not in sources),
                scalable=True,
                parallelism=1,
                arrival_rate=float(sum(rates[each][1] for each in upstream if each in sources)),
                true_processing_rate=float(processing),
                selectivity=output / processing,
            )
        )
    current = Allocation(executors=len(operators), parallelism={each.name: 1 for each in operators})
    proposal = Ds2(most_instances=100).decide(evaluation(operators=operators), knowledge(current=current))
    assert proposal.allocation.parallelism == {name: n for name, n in expected.items() if name not in sources}
    assert proposal.allocation.executors == sum(proposal.allocation.parallelism.values())


def chain(*rates: float, arrival: float = 100.0, selectivity: float | None = 2.0, **fields: Any) -> list[Any]:
    """Operators in a row; the rates are those of one instance each."""
    return [
        operator(
            f"op{index}",
            upstream=(f"op{index - 1}",) if index else (),
            scalable=True,
            parallelism=1,
            arrival_rate=arrival if not index else None,
            true_processing_rate=rate,
            selectivity=selectivity,
            **fields,
        )
        for index, rate in enumerate(rates)
    ]


def decided(operators: list[Any], policy: Ds2 | None = None, **known: Any) -> Any:
    return (policy or Ds2()).decide(evaluation(operators=operators), knowledge(**known))


def test_what_flows_on_is_what_was_meant_to_come_and_not_what_rounded_up_instances_could_take() -> None:
    """100 ÷ 60 is two instances, which could take 120; the next still gets 200 and not 240: four of 60."""
    assert decided(chain(60.0, 60.0)).allocation.parallelism == {"op0": 2, "op1": 4}


def test_a_diamond_gets_what_both_its_sides_put_out() -> None:
    """100 to each side, ½ and 1½ of it further on: 200 at the end, at 50 an instance."""
    operators = [
        operator("a", scalable=True, parallelism=1, arrival_rate=100.0, true_processing_rate=100.0, selectivity=1.0),
        operator("b", upstream=("a",), scalable=True, parallelism=1, true_processing_rate=50.0, selectivity=0.5),
        operator("c", upstream=("a",), scalable=True, parallelism=1, true_processing_rate=25.0, selectivity=1.5),
        operator("d", upstream=("b", "c"), scalable=True, parallelism=1, true_processing_rate=50.0),
    ]
    assert decided(operators).allocation.parallelism == {"a": 1, "b": 2, "c": 4, "d": 4}


def test_the_rate_of_one_instance_follows_from_that_of_all() -> None:
    operators = chain(180.0, arrival=240.0)
    current = Allocation(executors=3, parallelism={"op0": 3})
    assert decided(operators, current=current).allocation.parallelism == {"op0": 4}


def test_an_operator_of_which_nothing_is_known_stays_and_those_behind_it_go_by_what_arrives() -> None:
    operators = [
        operator("a", scalable=True, parallelism=1, arrival_rate=100.0, true_processing_rate=25.0),
        operator("b", upstream=("a",), scalable=True, parallelism=2, arrival_rate=90.0),
        operator("c", upstream=("a",), scalable=True, parallelism=1, arrival_rate=90.0, true_processing_rate=30.0),
    ]
    proposal = decided(operators)
    assert proposal.allocation.parallelism == {"a": 4, "c": 3}
    assert "operators.true_processing_rate is unknown of b" in proposal.reasons[0].message
    assert proposal.allocation.executors == 4 + 2 + 3


def test_without_traffic_there_is_one_instance_and_the_most_is_the_most() -> None:
    idle = chain(60.0, 60.0, arrival=0.0)
    assert decided(idle).allocation.parallelism == {"op0": 1, "op1": 1}
    flood = chain(60.0, arrival=1e9, max_parallelism=7)
    assert decided(flood).allocation.parallelism == {"op0": 7}


def test_operators_with_state_are_not_told_but_counted() -> None:
    state = operator("state", upstream=("op0",), parallelism=8, service_time_s=1 / 50)
    proposal = decided([*chain(50.0), state], executors=4, cores_per_executor=2)
    # A slot of it makes 50 a second, so 200 take four; with two for the other, three executors of two cores.
    assert proposal.allocation.parallelism == {"op0": 2}
    assert proposal.reasons[0].inputs["operators"]["state"]["needed"] == pytest.approx(4.0)
    assert proposal.allocation.executors == 3


def test_activation_waits_for_several_windows_that_ask_for_a_change() -> None:
    policy = Ds2(activation=3, combine="median")
    memory: Any = {}
    found = []
    for arrival in (100.0, 200.0, 150.0):
        proposal = policy.decide(evaluation(operators=chain(50.0, arrival=arrival)), knowledge(memory=memory))
        memory = proposal.memory
        found.append(proposal.allocation.parallelism["op0"])
    assert found == [1, 1, 3]
    assert memory == {"asked": []}
    calm = policy.decide(evaluation(operators=chain(50.0, arrival=40.0)), knowledge(memory={"asked": [{"op0": 2}]}))
    assert calm.allocation.parallelism == {"op0": 1}


def test_headroom_leaves_time_free() -> None:
    assert decided(chain(50.0), Ds2(headroom=0.2)).allocation.parallelism == {"op0": 3}
