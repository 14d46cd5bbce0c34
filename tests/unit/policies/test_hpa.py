"""Pinned to Kubernetes' own replica calculator and to its documented behaviour."""

import json
from pathlib import Path
from typing import Any

import pytest

from headgate.core.decision import Proposal
from headgate.errors import UserMistake
from headgate.policies import Hpa
from headgate.testing import evaluation, executors, knowledge

VECTORS = Path(__file__).resolve().parents[4] / "shared" / "vectors" / "vectors.json"
KNOWN_ROWS = [[3, [300, 500, 700], 30, 5]]
UNDAMPED = {"down_stabilization_s": 0, "up_rules": "1000/15s"}


def vector_rows() -> list[Any]:
    if not VECTORS.exists():
        return KNOWN_ROWS
    rows: list[Any] = json.loads(VECTORS.read_text())["hpa_replica_calculator"][
        "rows_[current,cpu_milli_of_1000,target_pct,expected]"
    ]
    return rows


def desired(policy: Hpa, busy: list[float | None], *, current: int | None = None, **more: Any) -> Proposal:
    size = len(busy) if current is None else current
    return policy.decide(evaluation(busy=busy, **more), knowledge(executors=size))


def codes(proposal: Proposal) -> list[str]:
    return [reason.code for reason in proposal.reasons]


@pytest.mark.parametrize(("current", "cpu_milli", "target_percent", "expected"), vector_rows())
def test_kubernetes_own_rows_come_out(current: int, cpu_milli: list[int], target_percent: int, expected: int) -> None:
    policy = Hpa(target=target_percent / 100, **UNDAMPED)
    proposal = desired(policy, [milli / 1000 for milli in cpu_milli], current=current)
    assert proposal.allocation.executors == expected


@pytest.mark.parametrize(
    ("busy", "size", "code"),
    [
        (0.80, 10, "within-tolerance"),
        (0.88, 10, "within-tolerance"),  # 1.10 is still within
        (0.89, 12, "utilisation-off-target"),  # 89/80 × 10 = 11.1
        (0.72, 10, "within-tolerance"),  # 0.90 is still within
        (0.71, 9, "utilisation-off-target"),  # 71/80 × 10 = 8.9
        (0.40, 5, "utilisation-off-target"),
        (0.00, 0, "utilisation-off-target"),
        (1.00, 13, "utilisation-off-target"),  # 12.5
    ],
)
def test_the_ratio_decides_outside_the_tolerance(busy: float, size: int, code: str) -> None:
    proposal = desired(Hpa(target=0.8, **UNDAMPED), [busy] * 10)
    assert (proposal.allocation.executors, codes(proposal)[0]) == (size, code)


def test_utilisation_is_reckoned_in_whole_percent_and_cut_off() -> None:
    proposal = desired(Hpa(target=0.8, **UNDAMPED), [0.889, 0.889])  # 88 %: within; 88.9 % would not be
    assert codes(proposal) == ["within-tolerance"]


def test_cores_weigh_an_executors_share() -> None:
    mixed = (*executors(1.0, count=1, cores=3), *executors(0.2, count=1, cores=1))
    proposal = Hpa(target=0.4, **UNDAMPED).decide(evaluation(executors=mixed), knowledge(executors=2))
    assert proposal.reasons[0].inputs["utilisation"] == 0.8
    assert proposal.allocation.executors == 4


class TestMissingFigures:
    def test_count_as_idle_when_growing(self) -> None:
        # Measured alone: 95/50 × 2 = 3.8; with one idle: (0.95 + 0.95 + 0) ÷ 3 = 63 %, 63/50 × 3 = 3.8
        proposal = desired(Hpa(target=0.5, **UNDAMPED), [0.95, 0.95, None])
        assert proposal.allocation.executors == 4
        assert proposal.reasons[0].inputs["assumed_utilisation"] == 0.63

    def test_stop_growth_that_they_would_make_unnecessary(self) -> None:
        proposal = desired(Hpa(target=0.5, **UNDAMPED), [0.7, None])
        assert proposal.allocation.executors == 2
        assert codes(proposal) == ["direction-unsure"]

    def test_count_as_fully_busy_when_shrinking(self) -> None:
        # (0.2 + 0.2 + 1.0) ÷ 3 = 46 %, 46/80 × 3 = 1.7
        proposal = desired(Hpa(target=0.8, **UNDAMPED), [0.2, 0.2, None])
        assert proposal.allocation.executors == 2
        assert proposal.reasons[0].inputs["assumed_utilisation"] == 0.46

    def test_stop_shrinking_that_they_could_forbid(self) -> None:
        proposal = desired(Hpa(target=0.5, **UNDAMPED), [0.3, None])
        assert proposal.allocation.executors == 2
        assert codes(proposal) == ["direction-unsure"]

    def test_bring_the_ratio_within_tolerance(self) -> None:
        proposal = desired(Hpa(target=0.5, **UNDAMPED), [0.8, 0.8, None])  # 53 % assumed
        assert proposal.allocation.executors == 3
        assert codes(proposal) == ["within-tolerance"]

    def test_at_exactly_the_target_change_nothing(self) -> None:
        proposal = desired(Hpa(target=0.5, **UNDAMPED), [0.5, None])
        assert proposal.allocation.executors == 2

    def test_of_all_executors_hold_the_size_and_are_named(self) -> None:
        proposal = desired(Hpa(), [None, None], current=6)
        assert proposal.allocation.executors == 6
        assert codes(proposal) == ["missing-metrics"]
        assert "executors.busy" in proposal.reasons[0].message

    def test_never_shrink_a_size_that_is_to_grow(self) -> None:
        # Two measured of a target of eight: ratio 1.9 asks for 4, fewer than the current 8.
        proposal = desired(Hpa(target=0.5, **UNDAMPED), [0.95, 0.95, None], current=8)
        assert proposal.allocation.executors == 8
        assert codes(proposal) == ["direction-unsure"]


class TestExecutorsThatAreNotReady:
    def test_are_idle_when_growing(self) -> None:
        seen = evaluation(executors=executors([1.0, 1.0, 0.1], age_s=[100, 100, 5]))
        proposal = Hpa(target=0.5, **UNDAMPED).decide(seen, knowledge(executors=3))
        assert proposal.reasons[0].inputs["not_ready"] == 1
        assert proposal.allocation.executors == 4  # 66 % of three, not 100 % of two plus one

    def test_are_left_out_when_shrinking(self) -> None:
        seen = evaluation(executors=executors([0.2, 0.2, 1.0], age_s=[100, 100, 5]))
        proposal = Hpa(target=0.8, **UNDAMPED).decide(seen, knowledge(executors=3))
        assert proposal.allocation.executors == 1

    def test_include_those_that_were_asked_for_and_have_not_come(self) -> None:
        proposal = desired(Hpa(target=0.8, **UNDAMPED), [1.0, 1.0], current=4, pending_executors=2)
        assert proposal.allocation.executors == 4  # (1 + 1 + 0 + 0) ÷ 4 = 50 %: no second request
        assert codes(proposal) == ["direction-unsure"]

    def test_become_ready_at_the_set_age(self) -> None:
        seen = evaluation(executors=executors([1.0, 1.0], age_s=[100, 30]))
        assert Hpa(initialization_s=30).decide(seen, knowledge(executors=2)).reasons[0].inputs["not_ready"] == 0
        assert Hpa(initialization_s=31).decide(seen, knowledge(executors=2)).reasons[0].inputs["not_ready"] == 1


def test_leaving_executors_are_left_out() -> None:
    seen = evaluation(executors=executors([0.8, 0.8, 0.0], leaving=1))
    proposal = Hpa().decide(seen, knowledge(executors=2))
    assert codes(proposal) == ["within-tolerance"]


def run(policy: Hpa, loads: list[float], *, executors_at_start: int, every_s: float = 15) -> list[int]:
    """Sizes after each tick, when everything wanted is granted and load is in executors' worth of work."""
    size, memory, sizes = executors_at_start, {}, []
    for number, load in enumerate(loads):
        seen = evaluation(time_s=number * every_s, busy=min(1.0, load / size), count=size)
        proposal = policy.decide(seen, knowledge(executors=size, memory=memory))
        size, memory = proposal.allocation.executors, json.loads(json.dumps(proposal.memory))
        sizes.append(size)
    return sizes


class TestStabilisation:
    def test_nothing_shrinks_at_the_first_tick(self) -> None:
        proposal = desired(Hpa(), [0.1] * 8)
        assert proposal.allocation.executors == 8
        assert codes(proposal) == ["utilisation-off-target", "stabilised"]
        assert proposal.reasons[1].inputs["desired"] == 1

    def test_shrinking_waits_five_minutes_and_then_goes_to_the_greatest_of_them(self) -> None:
        sizes = run(Hpa(target=0.8), [0.8] * 10 + [1.6] + [0.8] * 20, executors_at_start=8)
        assert sizes[:20] == [8] * 20  # 19 × 15 s = 285 s
        assert sizes[20:30] == [2] * 10  # the start is forgotten; 1.6 executors' worth at 150 s asked for two
        assert sizes[30] == 1  # forgotten too, 300 s later

    def test_growth_is_at_once(self) -> None:
        assert run(Hpa(target=0.8), [2.0], executors_at_start=2) == [3]

    def test_growth_waits_for_its_window_when_asked(self) -> None:
        sizes = run(Hpa(target=0.8, up_stabilization_s=60), [2.0] * 6, executors_at_start=2)
        assert sizes == [2, 2, 2, 2, 3, 3]


class TestScalingRules:
    def test_defaults_add_four_or_double_every_fifteen_seconds(self) -> None:
        assert run(Hpa(target=0.1), [50.0] * 4, executors_at_start=1) == [5, 10, 20, 40]

    def test_a_limited_wish_is_still_told(self) -> None:
        proposal = desired(Hpa(target=0.1), [1.0])
        assert codes(proposal) == ["utilisation-off-target", "rate-limited"]
        assert proposal.reasons[1].inputs["desired"] == 10
        assert proposal.allocation.executors == 5

    def test_changes_of_the_past_count_within_a_rules_period(self) -> None:
        policy = Hpa(target=0.1, up_rules="4/1m")
        assert run(policy, [50.0] * 6, executors_at_start=1) == [5, 5, 5, 5, 9, 9]

    def test_one_fewer_a_minute(self) -> None:
        policy = Hpa(down_stabilization_s=0, down_rules="1/1m")
        assert run(policy, [0.1] * 9, executors_at_start=5) == [4, 4, 4, 4, 3, 3, 3, 3, 2]

    def test_a_disabled_direction_holds(self) -> None:
        assert run(Hpa(down_stabilization_s=0, down_select="disabled"), [0.1] * 3, executors_at_start=5) == [5] * 3
        assert run(Hpa(up_select="disabled"), [9.0] * 3, executors_at_start=5) == [5] * 3

    def test_a_change_made_by_somebody_else_counts_too(self) -> None:
        policy = Hpa(target=0.1, up_rules="4/1m")
        first = policy.decide(evaluation(time_s=0, busy=0.1, count=1), knowledge(executors=1))
        pinned = policy.decide(evaluation(time_s=15, busy=1.0, count=4), knowledge(executors=4, memory=first.memory))
        assert pinned.allocation.executors == 5


def test_a_memory_of_other_origin_is_no_obstacle() -> None:
    strange = {"recommendations": [1, ["a", 2], [1.0, 2, 3]], "changes": {"x": 1}, "executors": 3, "time_s": 1.0}
    proposal = Hpa().decide(evaluation(busy=0.8), knowledge(memory=strange))
    assert proposal.allocation.executors == 3


def test_what_is_remembered_does_not_grow_without_end() -> None:
    memory: Any = {}
    for number in range(500):
        seen = evaluation(time_s=number * 15.0, busy=0.8 if number % 2 else 0.2)
        memory = Hpa().decide(seen, knowledge(executors=3 + number % 2, memory=memory)).memory
    assert len(memory["recommendations"]) == 20
    assert len(memory["changes"]) == 119  # half an hour, the longest period of a rule


@pytest.mark.parametrize("options", [{"target": 0}, {"tolerance": -1}, {"up_select": "most"}, {"down_rules": "?"}])
def test_wrong_options_are_refused(options: dict[str, Any]) -> None:
    with pytest.raises(UserMistake, match="policy 'hpa'"):
        Hpa(**options)
