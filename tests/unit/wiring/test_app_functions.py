"""Functions of operators are found by their names, and their mistakes are told before anything is started."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import pytest
from pyspark import cloudpickle

from headgate.config import OperatorTable, SinkTable
from headgate.errors import UserMistake
from headgate.wiring.functions import operator_function

STEPS = """
LIMIT = 3

def keep(records, limit=LIMIT, note=None):
    return [each for each in records if each < limit], note

def fails(records):
    raise KeyError("no such column\\nsecond line")
"""


@pytest.fixture(autouse=True)
def apart(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "path", sys.path.copy())
    monkeypatch.setattr(sys, "modules", sys.modules.copy())
    monkeypatch.setattr(cloudpickle.cloudpickle, "_PICKLE_BY_VALUE_MODULES", set())


def made(folder: Path, function: str, *, file: Path | None = None, **options: Any) -> Any:
    table = OperatorTable(name="step", function=function, file=file, options=options, reads=("t",), sink=SinkTable())
    return operator_function(table, folder=folder)


@pytest.fixture
def steps(tmp_path: Path) -> Path:
    file = tmp_path / "steps.py"
    file.write_text(STEPS)
    return file


def test_a_function_of_a_file_gets_its_options_with_the_folder_filled_in(tmp_path: Path, steps: Path) -> None:
    keep = made(tmp_path, "keep", file=steps, limit=2, note="{folder}/x")
    assert keep([1, 2, 3]) == ([1], f"{tmp_path}/x")


def test_a_function_of_a_module_is_imported(tmp_path: Path, steps: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.syspath_prepend(str(tmp_path))
    assert made(tmp_path, "steps:keep")([1, 5]) == ([1], None)


@pytest.mark.parametrize(
    ("function", "options", "words"),
    [
        ("steps:kep", {}, ("no function 'kep'", "did you mean 'keep'")),
        ("steps:LIMIT", {}, ("no function 'LIMIT'",)),
        ("stebs:keep", {}, ("no module 'stebs'",)),
        ("steps.more:keep", {}, ("no module 'steps.more'",)),
        ("steps:keep", {"limt": 3}, ("options do not fit keep", "limt")),
        ("needy:keep", {}, ("needy needs the library no_such_library",)),
    ],
)
def test_what_does_not_exist_or_fit_is_one_sentence(
    tmp_path: Path,
    steps: Path,
    monkeypatch: pytest.MonkeyPatch,
    function: str,
    options: dict[str, Any],
    words: tuple[str, ...],
) -> None:
    (tmp_path / "needy.py").write_text("import no_such_library")
    monkeypatch.syspath_prepend(str(tmp_path))
    with pytest.raises(UserMistake) as caught:
        made(tmp_path, function, **options)
    assert str(caught.value).startswith("operator 'step': ")
    for word in words:
        assert word in str(caught.value)


def test_what_a_function_raises_is_the_users_to_see_in_a_sentence(tmp_path: Path, steps: Path) -> None:
    with pytest.raises(UserMistake) as caught:
        made(tmp_path, "fails", file=steps)([])
    assert "operator 'step': fails failed with KeyError" in str(caught.value)
    assert "\n" not in str(caught.value)
