"""Core values to JSON and back."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from headgate.cli.decide import parse_evaluations
from headgate.codec import from_json, from_plain, schema, to_json, to_plain
from headgate.core.allocation import Allocation
from headgate.core.evaluation import Evaluation, ExecutorEvaluation, OperatorEvaluation
from headgate.errors import UserMistake

KEYS = st.sampled_from(["time_s", "operators", "executors", "name", "id", "busy"])
JSON = st.recursive(
    st.none() | st.booleans() | st.floats() | st.integers() | st.text(max_size=8),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(
            st.sampled_from(["time_s", "operators", "executors", "name", "id", "busy"]), inner, max_size=4
        )
    ),
    max_leaves=12,
)


def test_an_evaluation_survives_the_round_trip() -> None:
    evaluation = Evaluation(
        time_s=5,
        operators=(OperatorEvaluation(name="op", busy=0.5, upstream=("in",)),),
        executors=(ExecutorEvaluation(id="1", busy=None),),
    )
    assert from_json(Evaluation, to_json(evaluation), where="here") == evaluation
    assert from_plain(Evaluation, to_plain(evaluation), where="here") == evaluation


@given(JSON)
def test_any_json_is_an_evaluation_or_a_users_mistake(data: object) -> None:
    try:
        from_plain(Evaluation, data, where="here")
    except UserMistake as mistake:
        assert str(mistake).startswith("here: ")


@given(st.text())
def test_any_text_holds_evaluations_or_a_users_mistake(text: str) -> None:
    try:
        list(parse_evaluations(text, where="here"))
    except UserMistake as mistake:
        assert str(mistake).startswith("here")


@given(st.binary())
def test_any_bytes_are_an_allocation_or_a_users_mistake(data: bytes) -> None:
    try:
        from_json(Allocation, data, where="here")
    except UserMistake:
        pass


def test_a_value_that_core_refuses_is_a_users_mistake() -> None:
    with pytest.raises(UserMistake, match="-1 executors"):
        from_json(Allocation, b'{"executors": -1}', where="here")


def test_a_schema_names_every_field() -> None:
    text = str(schema(Evaluation))
    for word in ("true_processing_rate", "lag_records", "pending_executors"):
        assert word in text
