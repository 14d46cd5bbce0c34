"""``headgate pack`` as people and machines use it."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from headgate.cli import run_cli

RATES = "step,partition,bytes_per_second\n0,a,4\n0,b,8\n0,c,1\n1,a,6\n1,b,3\n1,c,1\n"


@pytest.fixture
def rates(tmp_path: Path) -> Path:
    path = tmp_path / "rates.csv"
    path.write_text(RATES)
    return path


def document(capsys: pytest.CaptureFixture[str], *args: object) -> dict[str, Any]:
    assert run_cli(["pack", *map(str, args), "--json"]) == 0
    found: dict[str, Any] = json.loads(capsys.readouterr().out)
    return found


def test_each_step_starts_from_what_the_one_before_has_assigned(
    rates: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """First 4 and 8 + 1; then all of them fit on one: consumer 2, with 7 of 10, is emptied into 1."""
    found = document(capsys, rates, "--capacity", 10, "--algorithm", "mbf")
    assert found == {
        "steps": [
            {"step": 0, "bins": 2, "rscore": 0.0, "assignment": {"b": "1", "a": "2", "c": "1"}},
            {"step": 1, "bins": 1, "rscore": 0.4, "assignment": {"a": "2", "c": "2", "b": "2"}},
        ],
        "mean_bins": 1.5,
        "mean_rscore": 0.2,
    }


@pytest.mark.parametrize("text", ['{"a": "3", "b": 1}', "partition,consumer\na,3\nb,1\n"])
def test_the_present_assignment_is_read_from_json_or_csv(
    text: str, rates: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    current = tmp_path / "now"
    current.write_text(text)
    found = document(capsys, rates, "-c", "10", "-a", "mwf", "--current", current)
    assert found["steps"][0]["assignment"] == {"b": "1", "a": "3", "c": "3"}


def test_a_person_sees_a_table(rates: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run_cli(["pack", str(rates), "--capacity", "10"]) == 0
    out = capsys.readouterr().out
    assert "consumers" in out
    assert "mbf: 1.5 consumers" in out


@pytest.mark.parametrize(
    ("content", "args", "words"),
    [
        ("", ["-c", "1"], ["has no rows", "step,partition,bytes_per_second"]),
        ("0,a\n", ["-c", "1"], ["line 1", "2 columns"]),
        ("0,a,x\n", ["-c", "1"], ["line 1", "no numbers"]),
        ("0,a,-3\n", ["-c", "1"], ["line 1", "negative"]),
        ("0,,3\n", ["-c", "1"], ["line 1", "no name"]),
        ("0,a,1\n0,a,2\n", ["-c", "1"], ["line 2", "twice in step 0"]),
        ("0,a,1\n", ["-c", "0"], ["--capacity", "above zero"]),
        ("0,a,1\n", ["-c", "1", "-a", "best"], ["no packing algorithm 'best'"]),
        ("0,a,1\n", ["-c", "1", "--current", "nowhere.json"], ["nowhere.json", "cannot be read"]),
    ],
)
def test_mistakes_are_one_sentence(
    content: str, args: list[str], words: list[str], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "rates.csv"
    path.write_text(content)
    assert run_cli(["pack", str(path), *args]) == 2
    captured = capsys.readouterr()
    assert captured.out == ""
    assert captured.err.count("\n") == 1
    for word in words:
        assert word in captured.err


@pytest.mark.parametrize("text", ['{"a": "x"}', '{"a": 0}', "{", "a,b\n"])
def test_an_assignment_that_is_none_is_said(
    text: str, rates: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    current = tmp_path / "now.json"
    current.write_text(text)
    assert run_cli(["pack", str(rates), "-c", "10", "--current", str(current)]) == 2
    assert "now.json" in capsys.readouterr().err
