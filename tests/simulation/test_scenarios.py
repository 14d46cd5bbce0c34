"""Scenarios are read, checked and written; what is wrong with one is said in a sentence."""

from __future__ import annotations

from pathlib import Path

import pytest
import tomli_w
from hypothesis import given, settings
from hypothesis import strategies as st

from headgate.errors import UserMistake
from headgate.sim import SCENARIOS, Scenario, load_scenario, parse_scenario, scenario_schema, scenario_to_toml


@pytest.mark.parametrize("name", sorted(SCENARIOS))
def test_a_scenario_survives_the_way_through_toml(name: str) -> None:
    assert SCENARIOS[name].name == name
    assert parse_scenario(scenario_to_toml(SCENARIOS[name]), where="text") == SCENARIOS[name]


def test_the_catalogue_is_sorted_and_holds_what_is_promised() -> None:
    assert list(SCENARIOS) == sorted(SCENARIOS)
    assert {"chain", "continuous", "flink-like", "skewed", "spark"} <= set(SCENARIOS)


def test_a_scenario_comes_from_a_file(tmp_path: Path) -> None:
    path = tmp_path / "mine.toml"
    path.write_text('name = "mine"\ntrigger_s = 5\n[[operators]]\nname = "q"\ncapacity = 100\n')
    scenario = load_scenario(str(path))
    assert scenario.trigger_s == 5.0
    assert scenario.operators[0].capacity == 100


@pytest.mark.parametrize(
    ("text", "parts"),
    [
        ("triger_s = 1", ["triger_s", "'trigger_s'"]),
        ('[[operators]]\nname = "a"\ncapcity = 3', ["operators.0.capcity", "'capacity'"]),
        ("trigger_s = -1", ["trigger_s", "0 or more"]),
        ("noise = nan", ["noise", "finite"]),
        ("cores = 1.5", ["cores", "whole number"]),
        ('cores = "2"', ["cores", "whole number"]),
        ('engine = "flink"', ["engine", "'spark'"]),
        ('rescale = "restart"', ["rescale", "continuous"]),
        ("operators = []", ["operators"]),
        ("operators = 3", ["operators", "list"]),
        ("executors = 99999999999999999999999999", ["executors"]),
        ("noise = " + "9" * 400, ["noise"]),
        ("partitions = 2\nshares = [1, 2, 3]", ["shares", "3 numbers for 2"]),
        ("skew = 1\npartitions = 1\nshares = [1]", ["skew", "shares"]),
        ('[[operators]]\nname = "a"\nupstream = ["b"]', ["'a'", "'b'"]),
        ('[[operators]]\nname = "a"\n[[operators]]\nname = "a"', ["'a'", "twice"]),
        ('[[operators]]\nname = "a"\nupstream = ["a"]', ["circle"]),
        ('[[operators]]\nname = "a"\nstateful = true\nscalable = true', ["operators.0", "stateful"]),
        ('[[operators]]\nname = "a"\nparallelism = 5\nmax_parallelism = 4', ["operators.0.parallelism", "lower"]),
        ('[[nodes]]\nname = "a"\nlatency_s = {b = 1}', ["nodes.0.latency_s", "'b'"]),
        ('[[nodes]]\nname = "a"\n[[nodes]]\nname = "a"', ["nodes.0", "twice"]),
        ("name = ", ["TOML"]),
        ("x = " + "[" * 10_000, ["TOML"]),
    ],
)
def test_what_is_wrong_is_named_with_its_remedy(text: str, parts: list[str]) -> None:
    complete = text if "name = " in text.splitlines()[0] else f'name = "mine"\n{text}'
    with pytest.raises(UserMistake) as caught:
        parse_scenario(complete, where="scenario file 'mine.toml'")
    message = str(caught.value)
    assert message.startswith("scenario file 'mine.toml'")
    assert "\n" not in message
    for part in parts:
        assert part in message


def test_a_missing_name_is_named() -> None:
    with pytest.raises(UserMistake, match="name is missing; add it"):
        parse_scenario("trigger_s = 1", where="mine.toml")


def test_an_unknown_scenario_suggests_the_nearest() -> None:
    with pytest.raises(UserMistake, match="did you mean 'continuous'"):
        load_scenario("continous")


def test_an_unreadable_file_is_named(tmp_path: Path) -> None:
    with pytest.raises(UserMistake, match="cannot be read"):
        load_scenario(str(tmp_path / "missing.toml"))
    binary = tmp_path / "binary.toml"
    binary.write_bytes(b"\xff\xfe\x00")
    with pytest.raises(UserMistake, match="UTF-8"):
        load_scenario(str(binary))
    with pytest.raises(UserMistake, match="cannot be read"):
        load_scenario(str(tmp_path) + "/")


def test_a_changed_scenario_is_checked_again() -> None:
    assert SCENARIOS["spark"].changed(noise=0.0).noise == 0
    with pytest.raises(UserMistake, match="noise"):
        SCENARIOS["spark"].changed(noise=-1.0)


def test_the_schema_names_every_key() -> None:
    schema = scenario_schema()
    assert set(schema["properties"]) == set(Scenario.model_fields)
    assert schema["additionalProperties"] is False


scalars = st.one_of(
    st.integers(), st.floats(), st.booleans(), st.text(max_size=8), st.datetimes(), st.dates(), st.times(), st.none()
).filter(lambda value: value is not None)
values = st.recursive(
    scalars,
    lambda inner: st.one_of(st.lists(inner, max_size=3), st.dictionaries(st.text(max_size=6), inner, max_size=3)),
    max_leaves=6,
)
keys = st.one_of(st.sampled_from(sorted(Scenario.model_fields)), st.text(max_size=8))
operators = st.lists(
    st.dictionaries(
        st.one_of(st.sampled_from(["name", "upstream", "capacity", "selectivity", "share"]), st.text(max_size=4)),
        values,
        max_size=4,
    ),
    max_size=3,
)


def assert_read_or_refused(text: str) -> None:
    message = "fuzz"
    try:
        assert isinstance(parse_scenario(text, where="fuzz"), Scenario)
    except UserMistake as mistake:
        message = str(mistake)
    assert message.startswith("fuzz")
    assert "\n" not in message


@given(text=st.text())
@settings(max_examples=150)
def test_no_text_brings_anything_but_a_scenario_or_a_users_mistake(text: str) -> None:
    assert_read_or_refused(text)


@given(table=st.dictionaries(keys, values, max_size=5), steps=st.one_of(st.none(), operators))
@settings(max_examples=300)
def test_no_table_brings_anything_but_a_scenario_or_a_users_mistake(
    table: dict[str, object], steps: list[dict[str, object]] | None
) -> None:
    document = {"name": "fuzz"} | table | ({} if steps is None else {"operators": steps})
    try:
        text = tomli_w.dumps(document)
    except (ValueError, TypeError, UnicodeError):
        return
    assert_read_or_refused(text)
