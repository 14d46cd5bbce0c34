"""A controller process that dies is started again; one that was told something impossible is not."""

from __future__ import annotations

import subprocess
import sys
import threading
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from headgate.config import parse_app
from headgate.errors import UserMistake
from headgate.wiring.app import RunningApp
from headgate.wiring.controller_process import ControllerProcess

DIES = "import os, signal; os.kill(os.getpid(), signal.SIGKILL)"
REFUSES = "import sys; sys.stderr.write('chatter\\nheadgate: port 99 is in use; give another one\\n'); sys.exit(2)"
LIVES = "import sys; sys.stdin.read()"


class Impatient(threading.Event):
    """Does not wait a second between two looks."""

    def wait(self, timeout: float | None = None) -> bool:
        return super().wait(0.01)


class Scripted(ControllerProcess):
    def __init__(self, folder: Path, *scripts: str) -> None:
        app = parse_app("name = 'x'\n[stream]\nworkload = 'sine'", where="here").model_copy(update={"folder": folder})
        self.said: list[str] = []
        super().__init__(app, journal=folder / "x.db", say=self.said.append, extra={})
        self._stop = Impatient()
        self._scripts = list(scripts)
        self.all_started = threading.Event()

    def _spawn(self) -> subprocess.Popen[bytes]:
        script = self._scripts.pop(0)
        if not self._scripts:
            self.all_started.set()
        with self._log.open("ab") as log:
            return subprocess.Popen([sys.executable, "-c", script], stdin=subprocess.PIPE, stderr=log)


def test_a_controller_that_dies_is_replaced_and_it_is_said(tmp_path: Path) -> None:
    with Scripted(tmp_path, DIES, LIVES) as controller:
        assert controller.all_started.wait(60)
    assert len(controller.said) == 1
    assert "code -9" in controller.said[0]
    assert controller.refusal is None


def test_a_controller_that_cannot_work_as_told_ends_the_run_with_its_sentence(tmp_path: Path) -> None:
    running = RunningApp(parse_app("name = 'x'\n[stream]\nworkload = 'sine'", where="here"), say=print)
    query: Any = SimpleNamespace(isActive=True, exception=lambda: None)
    running.flow.queries = [query]
    with Scripted(tmp_path, REFUSES) as controller:
        running._controller = controller
        with pytest.raises(UserMistake, match=r"^port 99 is in use; give another one$"):
            running.wait(stop=Impatient())
    assert controller.said == []
