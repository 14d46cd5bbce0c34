"""What an app has started ends with it, however it ends."""

from __future__ import annotations

import contextlib
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from headgate.config import parse_app
from headgate.errors import Permanent
from headgate.spark.audit import Audit
from headgate.wiring.app import RunningApp
from headgate.wiring.flow import Account


class FakeFlow:
    """Has something to end, and queries that may fail to start."""

    attached: tuple[Any, ...] = ()
    ends_at_s = None

    def __init__(self) -> None:
        self.connectors: dict[str, bool] = {}
        self.conf: dict[str, str] = {}
        self.queries: list[Any] = []
        self.events: list[str] = []

    def prepare(self, stack: contextlib.ExitStack) -> None:
        stack.callback(self.events.append, "broker ended")

    def start(self, session: Any) -> None:
        self.queries.append(SimpleNamespace(stop=lambda: self.events.append("query stopped")))
        raise Permanent("the second operator cannot start")

    def begin(self, stack: contextlib.ExitStack) -> None:
        raise AssertionError("records must not come before there is somebody to take them")

    def finished(self) -> bool:
        return True

    def account(self) -> Account:
        return Account()

    def audits(self, *, complete: bool) -> dict[str, Audit]:
        return {}

    def extra(self) -> dict[str, Any]:
        return {}


def test_an_app_that_fails_while_it_starts_ends_what_it_had_started(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    app = parse_app('name = "x"\n[stream]\nworkload = "sine"', where="here").model_copy(update={"folder": tmp_path})
    running = RunningApp(app, say=print)
    flow = FakeFlow()
    running.flow = flow
    monkeypatch.setattr(running, "_session", lambda: None)
    with pytest.raises(Permanent, match="second operator"), running:
        raise AssertionError("it must not have started")
    assert flow.events == ["query stopped", "broker ended"]
