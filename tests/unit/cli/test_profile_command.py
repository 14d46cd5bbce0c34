"""``headgate profile``: what it writes, and what it refuses."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from headgate.core.profile import Profile
from headgate.policies.phoebe import read_profile


def test_a_scenario_is_profiled_into_a_file_a_page_and_a_document(headgate, tmp_path: Path) -> None:
    file, page = tmp_path / "p.json", tmp_path / "p.html"
    answer = headgate(
        "profile",
        "-s",
        "flink-like",
        "-e",
        "1,3",
        "--loads",
        "0.5",
        "--failures",
        "0.5",
        "-o",
        file,
        "--page",
        page,
        "--json",
    )
    assert answer.code == 0
    document = json.loads(answer.out)
    assert [size["executors"] for size in document["sizes"]] == [1, 3]
    found = read_profile(str(file))
    assert isinstance(found, Profile)
    assert found.sizes[1].capacity == document["sizes"][1]["capacity"]
    text = page.read_text()
    assert "Capacity by size" in text
    assert "Profiling has cost" in text


def test_shorter_backlogs_cost_less(headgate) -> None:
    words = ("profile", "-s", "flink-like", "-e", "2", "--loads", "none", "--failures", "none", "--json")
    usual, shorter = (headgate(*words, *more) for more in ((), ("--drain", "10s")))
    assert json.loads(shorter.out)["executor_seconds"] < 0.5 * json.loads(usual.out)["executor_seconds"]


def test_a_table_for_people(headgate) -> None:
    answer = headgate("profile", "-s", "flink-like", "-e", "2", "--loads", "0.5", "--failures", "none", "--quiet")
    assert answer.code == 0
    assert "what profiling runs have shown" in answer.out
    assert answer.err == ""


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ((), "needs an app file"),
        (("word-count", "-s", "spark"), "one of them only"),
        (("-s", "nothing"), "nothing"),
        (("-s", "spark", "--loads", "much"), "not shares of the capacity"),
        (("-s", "spark", "--failures", "3"), "not shares of the capacity"),
        (("-s", "spark", "-e", "0"), "not a list of sizes"),
        (("no-such-app",), "no-such-app"),
    ],
)
def test_mistakes(headgate, arguments: tuple[str, ...], words: str) -> None:
    answer = headgate("profile", *arguments)
    assert answer.code == 2
    assert words in answer.err
    assert answer.out == ""
    assert len(answer.err.strip().splitlines()) == 1
