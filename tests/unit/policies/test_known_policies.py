from importlib import metadata

import pytest

import headgate.policies
from headgate.errors import UserMistake
from headgate.policies import ENTRY_POINT_GROUP, POLICIES, Static, known_policies


class Renamed(Static):
    name = "renamed"


@pytest.fixture
def installed(monkeypatch: pytest.MonkeyPatch) -> list[metadata.EntryPoint]:
    entries: list[metadata.EntryPoint] = []
    monkeypatch.setattr(metadata, "entry_points", lambda *, group: entries if group == ENTRY_POINT_GROUP else [])
    return entries


def entry(name: str, value: str) -> metadata.EntryPoint:
    return metadata.EntryPoint(name=name, value=value, group=ENTRY_POINT_GROUP)


def test_the_mapping_and_the_exports_are_sorted() -> None:
    assert list(POLICIES) == sorted(POLICIES)
    assert headgate.policies.__all__ == sorted(headgate.policies.__all__, key=_ruffs_order)


def _ruffs_order(name: str) -> tuple[int, str]:
    return (0 if name.isupper() else 1 if name[0].isupper() else 2, name)


def test_a_package_of_somebody_else_adds_its_policy(
    installed: list[metadata.EntryPoint], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(metadata.EntryPoint, "load", lambda _: Renamed)
    installed.append(entry("renamed", "somebody:Renamed"))
    assert known_policies() == dict(sorted({**POLICIES, "renamed": Renamed}.items()))


@pytest.mark.parametrize(
    ("name", "value", "sentence"),
    [
        ("static", "somebody:Static", r"already taken; rename it or uninstall it"),
        ("mine", "no_such_module_anywhere:Mine", r"cannot be loaded \(ModuleNotFoundError"),
        ("mine", "headgate.policies:NoSuchClass", r"cannot be loaded \(AttributeError"),
        ("mine", "math:pi", r"is not a class"),
        ("mine", "fractions:Fraction", r"lacks name, scales, needs, period_s, window_s, decide"),
        ("mine", "headgate.policies.static:Static", r"calls itself 'static'"),
    ],
)
def test_what_is_wrong_with_a_plug_in_is_said_in_a_sentence(
    installed: list[metadata.EntryPoint], name: str, value: str, sentence: str
) -> None:
    installed.append(entry(name, value))
    with pytest.raises(UserMistake, match=sentence):
        known_policies()
