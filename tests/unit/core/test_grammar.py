"""The grammar in which policies, guards and workloads are named."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import pytest
from hypothesis import given
from hypothesis import strategies as st

from headgate.core.options import check_options, option
from headgate.errors import UserMistake
from headgate.grammar import build, describe_options, parse_spec, spell, split_spec


@dataclass(frozen=True, kw_only=True)
class Gate:
    name: ClassVar[str] = "gate"

    height: float = option(1.5, "how high it is", least=0, most=10)
    wait_s: float = option(60.0, "how long it waits", above=0)
    slots: int | None = option(None, "how many may pass", least=1)
    open: bool = option(False, "whether it is open")
    side: str = option("left", "where it hangs", choices=("left", "right"))

    def __post_init__(self) -> None:
        check_options(self.name, self)


def parse(text: str) -> Gate:
    return parse_spec(text, {"gate": Gate}, kind="thing")


def test_a_name_alone_takes_the_defaults() -> None:
    assert parse("gate") == Gate()


def test_options_are_read_by_their_types() -> None:
    read = parse("gate:height=2,wait=5m,slots=3,open=yes,side=right")
    assert read == Gate(height=2.0, wait_s=300.0, slots=3, open=True, side="right")


def test_none_can_be_written() -> None:
    assert parse("gate:slots=none").slots is None


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("", "no name"),
        ("gate:", "after the colon"),
        ("gate:height", "not option=value"),
        ("gate:height=", "not option=value"),
        ("gate:height=1,height=2", "given twice"),
        ("gait", "did you mean 'gate'"),
        ("gate:heigth=1", "did you mean 'height'"),
        ("gate:height=x", "not a number"),
        ("gate:height=11", "10 or less"),
        ("gate:height=-1", "0 or more"),
        ("gate:wait_s=0", "more than 0"),
        ("gate:slots=1.5", "whole number"),
        ("gate:open=maybe", "true or false"),
        ("gate:side=top", "left, right"),
    ],
)
def test_mistakes_name_the_place_and_the_remedy(text: str, words: str) -> None:
    with pytest.raises(UserMistake, match=words):
        parse(text)


@given(st.text())
def test_any_text_is_a_thing_or_a_users_mistake(text: str) -> None:
    for candidate in (text, f"gate:{text}", f"gate:height={text}"):
        try:
            parse(candidate)
        except UserMistake:
            pass


@given(
    st.builds(
        Gate,
        height=st.floats(0, 10),
        wait_s=st.floats(0.001, 1e6),
        slots=st.none() | st.integers(1, 1000),
        open=st.booleans(),
        side=st.sampled_from(["left", "right"]),
    )
)
def test_what_is_spelt_reads_back_the_same(gate: Gate) -> None:
    assert parse(spell(gate)) == gate


def test_defaults_are_not_spelt() -> None:
    assert spell(Gate()) == "gate"
    assert spell(Gate(height=2.0)) == "gate:height=2"


def test_values_of_a_table_are_taken_as_they_are() -> None:
    assert build(Gate, {"height": 2, "open": True}, kind="thing", name="gate") == Gate(height=2.0, open=True)
    with pytest.raises(UserMistake, match="right kind"):
        build(Gate, {"slots": [1]}, kind="thing", name="gate")


def test_an_option_without_default_must_be_given() -> None:
    @dataclass(frozen=True)
    class Needy:
        much: float

    with pytest.raises(UserMistake, match="needs the option 'much'"):
        build(Needy, {}, kind="thing", name="needy")


def test_options_describe_themselves() -> None:
    rows = {row["option"]: row for row in describe_options(Gate)}
    assert rows["wait_s"]["shown"] == "1m"
    assert rows["slots"]["type"] == "int"
    assert rows["side"]["meaning"] == "where it hangs"


def test_split_keeps_texts() -> None:
    assert split_spec(" a : b = 1 ", kind="thing") == ("a", {"b": "1"})


def test_a_value_that_is_not_finite_is_refused() -> None:
    with pytest.raises(UserMistake, match="finite"):
        Gate(height=float("nan"))
