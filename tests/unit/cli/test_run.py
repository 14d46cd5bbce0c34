"""``headgate run``: which app is meant, what its options change, and what is told at the end."""

from __future__ import annotations

import io
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from rich.console import Console

import headgate.cli.run as command
from headgate.cli.output import Output
from headgate.cli.session import Ending, tell
from headgate.config import AppFile
from headgate.core.allocation import Bounds
from headgate.scoring import score
from headgate.sim import load_scenario
from headgate.spark.audit import Audit
from headgate.wiring.flow import Account
from headgate.wiring.simulation import simulate
from headgate.workloads import parse_workload


@pytest.fixture
def started(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> list[AppFile]:
    """The apps that would have been started."""
    apps: list[AppFile] = []
    monkeypatch.setattr(command, "run_app", lambda app, **_: apps.append(app) or 0)
    monkeypatch.chdir(tmp_path)
    return apps


def test_an_example_is_run_by_its_name_in_the_present_folder(
    headgate: Callable[..., Any], started: list[AppFile], tmp_path: Path
) -> None:
    assert headgate("run", "word-count").code == 0
    assert started[0].name == "word-count"
    assert started[0].folder == tmp_path / "out" / "word-count"


def test_options_change_duration_folder_and_controller(
    headgate: Callable[..., Any], started: list[AppFile], tmp_path: Path
) -> None:
    options = ("--duration", "15s", "--folder", "elsewhere", "--policy", "static", "--dry-run")
    assert headgate("run", "top-k", *options).code == 0
    app = started[0]
    assert [producer.duration_s for producer in app.producers] == [15]
    assert app.folder == tmp_path / "elsewhere"
    assert (app.controller.policy, app.controller.dry_run) == ("static", True)


def test_a_name_that_is_neither_a_file_nor_an_example_is_a_mistake(
    headgate: Callable[..., Any], started: list[AppFile]
) -> None:
    answer = headgate("run", "word-cuont")
    assert answer.code == 2
    assert "did you mean 'word-count'" in answer.err
    assert started == []


def exact(records: int, *, doubled: int = 0) -> Audit:
    return Audit(
        records=records + doubled,
        distinct=records,
        missing=0,
        doubled=doubled,
        first=0,
        last=records - 1,
        expected=records,
        checksum_ok=None,
    )


def ending(account: Account, audits: dict[str, Audit]) -> Ending:
    run = simulate(
        policy="static",
        workload=parse_workload("constant:rate=10", duration_s=60),
        scenario=load_scenario("spark"),
        bounds=Bounds(1, 2),
    )
    return Ending(
        result=score(run.journal, workload="w", scenario="s", seed=0, slo_latency_s=10.0),
        scale_outs=1,
        scale_ins=0,
        restarts=0,
        account=account,
        audits=audits,
        journal=Path("x.db"),
        page=Path("x.html"),
        interrupted=False,
    )


def test_the_end_says_what_was_produced_taken_in_and_found_in_each_sink() -> None:
    account = Account(produced={"lines": 90}, taken={"split": 90, "count": 1600}, left="operator 'count' stands still")
    told = ending(account, {"count": exact(90), "store": exact(90, doubled=2)})
    out = io.StringIO()
    tell(told, Output(as_json=False, quiet=True, seed=0, out=Console(file=out, width=200), err=Console(file=out)))
    assert "produced into 'lines': 90 records" in out.getvalue()
    assert "operator 'count' has taken in 1600 records" in out.getvalue()
    assert "ended before all was worked off: operator 'count' stands still" in out.getvalue()
    assert "store: the sink is not exact, of 90 records: 2 doubled" in out.getvalue()
    document = told.document()
    assert document["produced"] == {"lines": 90}
    assert document["operators"] == {"split": {"records": 90}, "count": {"records": 1600}}
    assert document["unfinished"] == "operator 'count' stands still"
    assert document["sink"]["exact"] is False


def test_an_app_without_sinks_to_audit_has_none_in_its_document() -> None:
    assert ending(Account(), {}).document()["sink"] is None
    assert ending(Account(), {"count": exact(5)}).document()["sink"] == {
        "exact": True,
        "summary": "all 5 records are in the sink exactly once",
    }
