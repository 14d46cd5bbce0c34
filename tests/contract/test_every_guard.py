"""What every guard promises; a guard added to the mapping is checked without a line here."""

from __future__ import annotations

import dataclasses

import hostile
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import headgate.guards
from headgate.codec import from_json, to_json
from headgate.core.allocation import Allocation
from headgate.core.decision import Ruling
from headgate.core.evaluation import Evaluation
from headgate.core.knowledge import Knowledge
from headgate.core.ports import Guard
from headgate.grammar import describe_options, parse_spec, spell
from headgate.guards import GUARDS, ORDER, in_order
from headgate.testing import evaluation, knowledge, tick

CALM = settings(max_examples=40, suppress_health_check=list(HealthCheck))

every_guard = pytest.mark.parametrize("name", list(GUARDS))

BUSY_SPECS = {
    "schedule": "schedule:min=00:00-24:00=4,no_up=00:00-12:00,no_down=mon-fri 12:00-24:00,timezone=+02:00",
    "stale-metrics": "stale-metrics:after_s=1,fallback=7",
    "ineffective-scaling": "ineffective-scaling:settle_s=0,block_s=1e12",
    "revert": "revert:settle_s=0,window_s=1e12,latency_least_s=0,lag_least_s=0,hold_s=1e12",
}
"""Options that make a guard act more often than its defaults do."""


def guards_named(name: str) -> list[Guard]:
    return [GUARDS[name](), parse_spec(BUSY_SPECS.get(name, name), GUARDS, kind="guard")]


@every_guard
def test_is_a_frozen_guard_under_its_own_name(name: str) -> None:
    guard = GUARDS[name]()
    assert isinstance(guard, Guard)
    assert guard.name == name
    assert type(guard).__name__ in headgate.guards.__all__
    assert guard.looks_back_s >= 0
    assert type(guard).__dataclass_params__.frozen  # type: ignore[attr-defined]


@every_guard
def test_explains_itself_and_every_option(name: str) -> None:
    cls = GUARDS[name]
    assert cls.__doc__
    assert all(row["meaning"] for row in describe_options(cls))


@every_guard
def test_is_made_again_from_how_it_is_spelled(name: str) -> None:
    for guard in guards_named(name):
        assert parse_spec(spell(guard), GUARDS, kind="guard") == guard


@every_guard
def test_has_nothing_to_say_about_a_calm_app(name: str) -> None:
    ruling = Ruling(allocation=Allocation(executors=3))
    calm = knowledge(executors=3, history=[tick(time_s=900, current=3, evaluation=evaluation(time_s=900))])
    assert GUARDS[name]().review(ruling, evaluation(), calm) == ruling
    assert GUARDS[name]().review(ruling, None, calm) == ruling


@every_guard
@given(ruling=hostile.rulings, seen=st.none() | hostile.evaluations, known=hostile.knowledges)
@CALM
def test_reviews_purely_and_never_raises(name: str, ruling: Ruling, seen: Evaluation | None, known: Knowledge) -> None:
    for guard in guards_named(name):
        result = guard.review(ruling, seen, known)
        assert guard.review(ruling, seen, known) == result
        assert result.allocation.executors >= 0
        assert result.reasons[: len(ruling.reasons)] == ruling.reasons
        added = result.reasons[len(ruling.reasons) :]
        assert all(reason.by == name and reason.code and reason.message for reason in added)
        if result.allocation != ruling.allocation:
            assert added, "a guard that changes something says why"
            assert str(ruling.allocation.executors) in added[0].message or name == "bounds"
        assert from_json(Ruling, to_json(result), where="ruling") == result


@every_guard
@given(ruling=hostile.rulings, seen=st.none() | hostile.evaluations, known=hostile.knowledges)
@CALM
def test_keeps_the_dimensions_it_does_not_decide(
    name: str, ruling: Ruling, seen: Evaluation | None, known: Knowledge
) -> None:
    for guard in guards_named(name):
        result = guard.review(ruling, seen, known)
        assert result.allocation.assignment == ruling.allocation.assignment
        if name not in ("bounds", "levers", "slots"):
            assert result.allocation.parallelism == ruling.allocation.parallelism


@given(ruling=hostile.rulings, seen=st.none() | hostile.evaluations, known=hostile.knowledges)
@CALM
def test_all_together_stay_within_bounds(ruling: Ruling, seen: Evaluation | None, known: Knowledge) -> None:
    for guard in in_order(guard for name in GUARDS for guard in guards_named(name)):
        ruling = guard.review(ruling, seen, known)
    assert ruling.allocation.executors in known.bounds


def test_every_guard_has_its_place_and_the_mapping_is_sorted() -> None:
    assert sorted(ORDER) == list(GUARDS) == sorted(GUARDS)
    assert [guard.name for guard in in_order(cls() for cls in GUARDS.values())] == list(ORDER)


def test_a_guard_of_somebody_else_comes_before_what_people_have_said() -> None:
    @dataclasses.dataclass(frozen=True)
    class Mine:
        name = "mine"
        looks_back_s = 0.0

        def review(self, ruling: Ruling, evaluation: Evaluation | None, knowledge: Knowledge) -> Ruling:
            return ruling

    mine: Guard = Mine()  # type: ignore[assignment]
    ordered = in_order([*(cls() for cls in GUARDS.values()), mine])
    assert [guard.name for guard in ordered][-5:] == ["mine", "schedule", "levers", "bounds", "slots"]
