"""What the commands answer, to people and to machines."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from headgate.cli import _COMMANDS, run_cli

LOAD = ("-w", "sine:period=20m,low=0.1", "--peak", "20k", "--duration", "20m")


@pytest.mark.parametrize("command", sorted(_COMMANDS))
def test_every_command_has_help_with_an_example(headgate: Callable[..., Any], command: str) -> None:
    answer = headgate(command, "--help")
    assert answer.code == 0
    assert f"Example: headgate {command}" in answer.out
    if command not in ("broker", "consumers"):
        # Groups: their commands have these options.
        assert "--json" in answer.out


def test_help_lists_every_command(headgate: Callable[..., Any]) -> None:
    answer = headgate("--help")
    assert answer.code == 0
    for command in _COMMANDS:
        assert command in answer.out


def test_simulate_gives_the_published_document(headgate: Callable[..., Any]) -> None:
    document = headgate("simulate", "-p", "hpa", *LOAD, "--json").document
    assert set(document) == {
        "policy",
        "workload",
        "scenario",
        "seed",
        "duration_s",
        "records",
        "executors",
        "executor_seconds",
        "rescalings",
        "latency_s",
        "lag_records",
        "throughput_degradation",
        "executors_saved",
        "elasticity",
        "slo",
    }
    assert document["policy"] == "hpa"
    assert document["duration_s"] == 1200
    assert document["records"]["in"] >= document["records"]["out"] > 0
    assert document["rescalings"] > 0


def test_a_simulation_repeats_bit_for_bit(headgate: Callable[..., Any]) -> None:
    command = ("simulate", "-p", "hpa", *LOAD, "--arrivals", "poisson", "--json")
    first, again, other = headgate(*command), headgate(*command), headgate(*command, "--seed", 7)
    assert first.out == again.out
    assert first.out != other.out


def test_simulate_writes_journal_and_report(headgate: Callable[..., Any], tmp_path: Path) -> None:
    journal, page = tmp_path / "run.db", tmp_path / "run.html"
    answer = headgate("simulate", "-p", "threshold-busy", *LOAD, "--journal", journal, "-o", page)
    assert answer.code == 0
    assert page.stat().st_size > 10_000
    replayed = headgate("replay", journal, "--json")
    assert replayed.code == 0
    (row,) = replayed.document["rows"]
    assert row["same"] == row["ticks"] > 0
    again = headgate("simulate", "-p", "hpa", *LOAD, "--journal", journal)
    assert again.code == 2
    assert "exists already" in again.err


def test_replay_with_another_policy_and_simulator(headgate: Callable[..., Any], tmp_path: Path) -> None:
    journal = tmp_path / "run.db"
    headgate("simulate", "-p", "hpa", *LOAD, "--journal", journal)
    answer = headgate("replay", journal, "-p", "static:executors=5", "--simulate", "--json")
    assert answer.code == 0
    assert answer.document["rows"][0]["decisions"][0]["wanted"]["executors"] == 5
    assert answer.document["simulated"][0]["policy"] == "static:executors=5"
    assert "decisions as recorded" in headgate("replay", journal, "-p", "threshold-busy").out


def test_compare_runs_every_pair_in_order(headgate: Callable[..., Any], tmp_path: Path) -> None:
    page = tmp_path / "compare.html"
    answer = headgate(
        *("compare", "-p", "static:executors=6", "-p", "hpa", "-w", "sine:period=10m", "-w", "constant"),
        *("--peak", "20k", "--duration", "10m", "-o", page, "--json"),
    )
    assert answer.code == 0
    rows = [(row["policy"], row["workload"]) for row in answer.document["rows"]]
    assert rows == [
        ("static:executors=6", "sine:period=10m"),
        ("hpa", "sine:period=10m"),
        ("static:executors=6", "constant"),
        ("hpa", "constant"),
    ]
    assert page.exists()


def test_report_overlays_journals(headgate: Callable[..., Any], tmp_path: Path) -> None:
    for policy in ("hpa", "threshold-busy"):
        headgate("simulate", "-p", policy, *LOAD, "--journal", tmp_path / f"{policy}.db")
    answer = headgate(
        "report", tmp_path / "hpa.db", tmp_path / "threshold-busy.db", "-o", tmp_path / "both.html", "--json"
    )
    assert [row["policy"] for row in answer.document["rows"]] == ["hpa", "threshold-busy"]
    assert "threshold-busy" in (tmp_path / "both.html").read_text()


def test_calibrate_writes_a_scenario_that_simulates(headgate: Callable[..., Any], tmp_path: Path) -> None:
    journal, scenario = tmp_path / "run.db", tmp_path / "scenario.toml"
    headgate("simulate", "-p", "hpa", *LOAD, "--journal", journal)
    assert headgate("calibrate", journal, "-o", scenario).code == 0
    answer = headgate("simulate", "-p", "hpa", *LOAD, "-s", scenario, "--json")
    assert answer.document["records"]["out"] > 0
    assert "capacity" in headgate("calibrate", journal).out


def evaluation(time_s: float, *busy: float) -> str:
    executors = [{"id": str(n), "busy": share, "age_s": 600} for n, share in enumerate(busy)]
    return json.dumps({"time_s": time_s, "executors": executors})


def test_decide_answers_for_one_evaluation(headgate: Callable[..., Any], tmp_path: Path) -> None:
    source = tmp_path / "one.json"
    source.write_text(evaluation(0, 0.3, 0.5, 0.7))
    document = headgate("decide", "--from", source, "-p", "hpa:target=0.3", "--json").document
    assert document["granted"]["executors"] == 5
    assert document["reasons"]


def test_decide_feeds_lines_in_order(headgate: Callable[..., Any], tmp_path: Path) -> None:
    source = tmp_path / "many.jsonl"
    source.write_text("\n".join(evaluation(60 * n, 0.95, 0.95) for n in range(3)))
    document = headgate("decide", "--from", source, "-p", "threshold-busy", "--all", "--json").document
    assert [decision["granted"]["executors"] for decision in document] == [3, 3, 3]
    shown = headgate("decide", "--from", source, "-p", "threshold-busy")
    assert "2 → 3 executors" in shown.out


def test_policies_lists_and_explains(headgate: Callable[..., Any]) -> None:
    names = [row["name"] for row in headgate("policies", "--json").document]
    assert names == sorted(names)
    assert {"hpa", "static", "threshold-busy"} <= set(names)
    one = headgate("policies", "hpa", "--json").document
    assert {"target", "tolerance"} <= {option["option"] for option in one["options"]}
    assert "target" in headgate("policies", "hpa").out
    assert "cooldown" in headgate("policies", "--guards").out


def test_a_policy_explains_itself_in_whole_paragraphs_and_with_its_formula(
    headgate: Callable[..., Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", "2000")
    shown = [line.rstrip() for line in headgate("policies", "ds2").out.splitlines()]
    assert "    instances = ⌈target input ÷ (true processing rate ÷ present instances)⌉" in shown
    assert any(line.startswith("Source: Kalavri") and line.endswith("which count useful time only:") for line in shown)


@pytest.mark.parametrize("name", ["app", "decision", "evaluation", "result", "sample", "scenario"])
def test_schemas_are_json_schemas(headgate: Callable[..., Any], name: str) -> None:
    document = headgate("schema", name).document
    assert document["type"] == "object" or "$ref" in document or "properties" in document


def test_the_version_is_told(headgate: Callable[..., Any]) -> None:
    assert headgate("--version").out.startswith("headgate ")


def test_an_error_of_our_own_is_a_sentence_too(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr("headgate.cli.cli.main", lambda **_: 1 / 0)
    monkeypatch.delenv("HEADGATE_DEBUG", raising=False)
    assert run_cli(["policies"]) == 1
    assert "ZeroDivisionError" in capsys.readouterr().err
    monkeypatch.setenv("HEADGATE_DEBUG", "1")
    with pytest.raises(ZeroDivisionError):
        run_cli(["policies"])


def test_an_interrupt_is_130(monkeypatch: pytest.MonkeyPatch) -> None:
    def interrupted(**_: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr("headgate.cli.cli.main", interrupted)
    assert run_cli(["policies"]) == 130
