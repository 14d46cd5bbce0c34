"""Response times wanted of single operators, and of whole paths."""

from __future__ import annotations

import dataclasses
import math
from typing import Any

import pytest

from headgate.core.allocation import Allocation
from headgate.core.decision import Proposal
from headgate.core.evaluation import OperatorEvaluation
from headgate.policies import QueueingFunction, QueueingPath
from headgate.policies.queueing_path import MOST_PATHS, paths_through
from headgate.testing import evaluation, knowledge, operator


def queue(name: str, *upstream: str, rate: float = 4.0, service_s: float = 0.5, **fields: Any) -> OperatorEvaluation:
    """Four records a second come, and one instance takes half a second for each."""
    return operator(name, upstream=upstream, scalable=True, arrival_rate=rate, service_time_s=service_s, **fields)


def decided(policy: Any, *operators: OperatorEvaluation, **present: int) -> Proposal:
    current = Allocation(executors=sum(present.values()), parallelism=present)
    found: Proposal = policy.decide(evaluation(operators=operators), knowledge(current=current, bounds=(1, 100)))
    return found


def codes(proposal: Proposal) -> list[str]:
    return [reason.code for reason in proposal.reasons]


class TestFunction:
    @pytest.mark.parametrize(("within_s", "instances"), [(1.0, 3), (0.52, 5), (0.55, 4)])
    def test_the_fewest_that_are_in_time(self, within_s: float, instances: int) -> None:
        """By hand, 0.5 s of work and a wait of 0.222, 0.044 and 0.011 s with 3, 4 and 5."""
        proposal = decided(QueueingFunction(response_s=within_s), queue("a"), a=1)
        assert proposal.allocation == Allocation(executors=instances, parallelism={"a": instances})

    def test_operators_are_sized_one_by_one(self) -> None:
        proposal = decided(QueueingFunction(), queue("a"), queue("b", "a", rate=0.5), a=1, b=4)
        assert proposal.allocation.parallelism == {"a": 3, "b": 1}

    def test_steadier_arrivals_and_service_need_fewer(self) -> None:
        steady = queue("a", rate=3.9, arrival_scv=0.0, service_scv=0.0)
        assert decided(QueueingFunction(response_s=0.55), steady, a=1).allocation.parallelism == {"a": 2}

    def test_a_rate_beyond_what_the_most_can_take_is_capped_and_said(self) -> None:
        proposal = decided(QueueingFunction(most_instances=6), queue("a", rate=100.0), a=1)
        assert proposal.allocation.parallelism == {"a": 6}
        assert codes(proposal) == ["capped", "response-per-operator"]

    def test_the_wait_for_a_batch_is_part_of_the_response(self) -> None:
        """0.4 s of it leave 0.6 s: four instances instead of three."""
        assert decided(QueueingFunction(), queue("a", batch_delay_s=0.4), a=1).allocation.parallelism == {"a": 4}

    def test_what_batching_alone_exceeds_is_said_and_not_chased(self) -> None:
        """The fewest that make records wait no longer than they are worked on: 0.5 + 0.222 s is with 3."""
        proposal = decided(QueueingFunction(), queue("a", batch_delay_s=2.0), a=9)
        assert proposal.allocation.parallelism == {"a": 3}
        assert codes(proposal)[0] == "out-of-reach"
        assert "2.5 s with any number of instances" in proposal.reasons[0].message

    def test_without_traffic_there_is_one_instance(self) -> None:
        assert decided(QueueingFunction(), queue("a", rate=0.0), a=7).allocation.parallelism == {"a": 1}


class TestPath:
    def test_a_slow_path_gets_one_more_of_its_slowest(self) -> None:
        """T is 0.722 and 0.544 s: 1.27 s together."""
        proposal = decided(QueueingPath(response_s=1.2), queue("a"), queue("b", "a"), a=3, b=4)
        assert proposal.allocation.parallelism == {"a": 4, "b": 4}

    def test_an_operator_that_cannot_keep_up_is_the_slowest(self) -> None:
        proposal = decided(QueueingPath(response_s=5.0), queue("a"), queue("b", "a"), a=9, b=2)
        assert proposal.allocation.parallelism == {"a": 9, "b": 3}
        assert proposal.reasons[-1].inputs["operators"]["b"]["response_s"] is None

    def test_between_the_limits_nothing_changes(self) -> None:
        proposal = decided(QueueingPath(response_s=1.3), queue("a"), queue("b", "a"), a=3, b=4)
        assert proposal.allocation.parallelism == {"a": 3, "b": 4}
        assert codes(proposal) == ["response-per-path-already"]

    def test_a_fast_path_gives_up_one_of_its_fastest_with_several(self) -> None:
        quick = queue("b", "a", rate=4.0, service_s=0.1)
        proposal = decided(QueueingPath(response_s=3.0), queue("a"), quick, a=4, b=3)
        assert proposal.allocation.parallelism == {"a": 4, "b": 2}
        only_one = decided(QueueingPath(response_s=3.0), queue("a"), quick, a=4, b=1)
        assert only_one.allocation.parallelism == {"a": 3, "b": 1}

    def test_one_that_could_then_not_keep_up_is_not_given_up(self) -> None:
        """α R_max is 2.5 s, but with two instances of 'a' records would wait for ever."""
        proposal = decided(QueueingPath(response_s=5.0), queue("a"), a=3)
        assert proposal.allocation.parallelism == {"a": 3}

    def test_an_operator_on_two_paths_is_not_given_up_by_one_while_the_other_needs_it(self) -> None:
        """'a' is shared; the path over 'slow' is too slow, that over 'quick' much too fast."""
        shared = queue("a", rate=4.0, service_s=0.01)
        operators = (shared, queue("quick", "a", service_s=0.01), queue("slow", "a", service_s=0.9))
        proposal = decided(QueueingPath(), *operators, a=2, quick=2, slow=4)
        assert proposal.allocation.parallelism == {"a": 2, "quick": 1, "slow": 5}

    def test_one_that_two_paths_ask_for_gets_one_more_and_not_two(self) -> None:
        operators = (queue("a"), queue("b", "a", service_s=0.01), queue("c", "a", service_s=0.01))
        assert decided(QueueingPath(response_s=0.6), *operators, a=3, b=1, c=1).allocation.parallelism["a"] == 4

    def test_where_the_slowest_has_all_it_may_have_the_next_one_grows(self) -> None:
        full = queue("a", max_parallelism=3)
        proposal = decided(QueueingPath(response_s=1.2), full, queue("b", "a"), a=3, b=4)
        assert proposal.allocation.parallelism == {"a": 3, "b": 5}

    def test_what_no_number_of_instances_can_reach_is_said_and_not_chased(self) -> None:
        proposal = decided(QueueingPath(), queue("a"), queue("b", "a", batch_delay_s=3.0), a=3, b=3)
        assert proposal.allocation.parallelism == {"a": 3, "b": 3}
        assert "1 of 1 paths, as a → b, are beyond 1 s" in proposal.reasons[0].message
        waiting = decided(QueueingPath(), queue("a", rate=5.8, batch_delay_s=3.0), a=3)
        assert waiting.allocation.parallelism == {"a": 4}

    def test_an_operator_with_state_is_counted_with_what_it_needs_and_not_with_all_slots(self) -> None:
        """4 a second of half a second each keep two slots busy, three with some room, whatever its partitions."""
        with_state = dataclasses.replace(queue("b", "a"), scalable=False, parallelism=60)
        for executors in (6, 40):
            current = Allocation(executors=executors, parallelism={"a": 3})
            seen = evaluation(operators=[queue("a"), with_state])
            proposal = QueueingPath(response_s=2.0).decide(seen, knowledge(current=current, bounds=(1, 100)))
            assert proposal.allocation == Allocation(executors=6, parallelism={"a": 3})

    def test_an_operator_of_which_nothing_is_known_is_left_out_of_its_paths(self) -> None:
        unknown = operator("b", upstream=("a",), scalable=True, parallelism=2)
        proposal = decided(QueueingPath(response_s=0.6), queue("a"), unknown, a=3, b=2)
        assert proposal.allocation.parallelism == {"a": 4, "b": 2}
        assert "is unknown of b" in proposal.reasons[0].message


def test_paths_are_counted_and_cut_off_where_they_are_too_many() -> None:
    layers = [[f"{layer}-{number}" for number in range(4)] for layer in range(8)]
    edges = tuple(
        (name, tuple(layers[index - 1]) if index else ()) for index, layer in enumerate(layers) for name in layer
    )
    assert math.prod([4] * 8) > MOST_PATHS
    found = paths_through(edges)
    assert {name for path in found for name in path} == {name for layer in layers for name in layer}
    assert all(len(path) == 8 for path in found)
    assert len(found) <= 32
    assert len(paths_through(edges[:16])) == 4**4
    # A circle is no path, and no endless one either.
    assert paths_through((("a", ("b",)), ("b", ("a",)))) == ()
