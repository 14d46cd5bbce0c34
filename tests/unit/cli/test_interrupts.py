"""Ctrl-C on a run: exit code 130, also before there is anything to report."""

from __future__ import annotations

import os
import signal
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from headgate.cli import session
from headgate.spark.audit import Audit
from headgate.wiring.flow import Account


class FakeRun:
    """A started app in the place of a real one; meanwhile, PySpark has taken Ctrl-C for itself."""

    ends_at_s = None
    controls = None

    def __init__(self, folder: Path, *, signals: tuple[int, ...]) -> None:
        self.journal = folder / "x.db"
        self._signals = signals
        self._before = signal.getsignal(signal.SIGINT)

    def __enter__(self) -> FakeRun:
        signal.signal(signal.SIGINT, signal.default_int_handler)
        return self

    def __exit__(self, *_: object) -> None:
        signal.signal(signal.SIGINT, self._before)

    def wait(self, *, stop: threading.Event) -> None:
        for number in self._signals:
            os.kill(os.getpid(), number)
        assert stop.is_set() == bool(self._signals)

    def restarts(self) -> int:
        return 0

    def account(self) -> Account:
        return Account()

    def audits(self, *, complete: bool) -> dict[str, Audit]:
        assert complete != bool(self._signals)
        return {}


@pytest.mark.parametrize(
    ("signals", "code", "words"),
    [
        ((signal.SIGINT,), 130, "interrupted"),
        ((signal.SIGTERM,), 130, "interrupted"),
        ((signal.SIGINT, signal.SIGINT), 130, "interrupted"),
        ((), 2, "there is no journal"),
    ],
)
def test_a_run_that_is_interrupted_before_it_recorded_anything_says_so(
    headgate: Callable[..., Any],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    signals: tuple[int, ...],
    code: int,
    words: str,
) -> None:
    app = tmp_path / "app.toml"
    app.write_text("name = 'x'\n[stream]\nworkload = 'sine'")
    handlers = [signal.getsignal(number) for number in (signal.SIGINT, signal.SIGTERM)]
    monkeypatch.setattr(session, "_running_app", lambda app, output: FakeRun(tmp_path, signals=signals))
    answer = headgate("run", app, "--quiet")
    assert answer.code == code
    assert answer.out == ""
    assert words in answer.err
    assert "Traceback" not in answer.err
    assert [signal.getsignal(number) for number in (signal.SIGINT, signal.SIGTERM)] == handlers
