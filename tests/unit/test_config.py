"""The app file."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from headgate.config import parse_app
from headgate.errors import UserMistake

KEYS = st.sampled_from(
    ["name", "folder", "cluster", "stream", "controller", "workload", "peak", "executors", "policy", "quota", "x"]
)
VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=20),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(KEYS, inner, max_size=4),
    max_leaves=10,
)


def test_a_small_file_takes_the_defaults() -> None:
    app = parse_app('name = "orders"\n[stream]\nworkload = "sine"\nduration_s = "5m"', where="app.toml")
    assert app.stream is not None
    assert app.stream.duration_s == 300
    assert app.controller.policy == "hpa"
    assert app.controller.bounds.most == 4


@given(st.text())
def test_any_text_is_an_app_or_a_users_mistake(text: str) -> None:
    try:
        parse_app(text, where="app.toml")
    except UserMistake as mistake:
        assert len(str(mistake).splitlines()) >= 1


@given(st.dictionaries(KEYS, VALUES, max_size=6))
def test_any_table_is_an_app_or_a_users_mistake(data: dict[str, object]) -> None:
    import tomli_w

    def without_none(value: object) -> object:
        if isinstance(value, dict):
            return {key: without_none(each) for key, each in value.items() if each is not None}
        if isinstance(value, list):
            return [without_none(each) for each in value if each is not None]
        return value

    try:
        text = tomli_w.dumps(without_none(data))  # type: ignore[arg-type]
    except ValueError:
        return
    try:
        parse_app(text, where="app.toml")
    except UserMistake:
        pass


@pytest.mark.parametrize("name", ["", "a b", "../x", "x" * 101])
def test_names_that_could_be_paths_are_refused(name: str) -> None:
    with pytest.raises(UserMistake, match="name"):
        parse_app(f'name = "{name}"\n[stream]\nworkload = "sine"', where="app.toml")
