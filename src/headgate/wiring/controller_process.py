"""The controller as a process of its own, which the app starts, watches and reaches."""

from __future__ import annotations

import contextlib
import json
import subprocess
import sys
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any, Self

from headgate.config import AppFile
from headgate.core.status import Status
from headgate.link import ControlClient, find

Say = Callable[[str], None]

_USERS_MISTAKE = 2
"""The exit code of a command that was told something impossible."""


class ControllerProcess:
    """The controller as a process of its own, started again when it dies; the stream does not notice."""

    def __init__(self, app: AppFile, *, journal: Path, say: Say, extra: dict[str, Any]) -> None:
        self._app = app
        self._journal = journal
        self._say = say
        self._extra = extra
        self._log = app.folder / "controller.log"
        self.refusal: str | None = None
        """Why it cannot work as it is told to; starting it again would not help."""
        self._stop = threading.Event()
        self._process: subprocess.Popen[bytes] | None = None
        self._thread = threading.Thread(target=self._supervise, name="headgate-controller", daemon=True)

    def __enter__(self) -> Self:
        self._process = self._spawn()
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._stop.set()
        self._thread.join()
        if self._process is not None:
            _let_go(self._process)
            try:
                self._process.wait(timeout=10)
            except subprocess.TimeoutExpired:
                self._process.kill()
                self._process.wait()

    def _spawn(self) -> subprocess.Popen[bytes]:
        table = self._app.controller
        command = [sys.executable, "-m", "headgate", "control", "--app", self._app.name, "--policy", table.policy]
        command += ["--journal", str(self._journal), "--sampling-interval", str(table.sampling_interval_s)]
        command += [word for guard in table.guards for word in ("--guard", guard)]
        command += ["--port", str(table.port)]
        command += ["--follow-stdin", "--extra", json.dumps(self._extra)]
        command += ["--dry-run"] if table.dry_run else []
        command += ["--retention", str(table.retention_s)] if table.retention_s is not None else []
        with self._log.open("ab") as log_file:
            # In a session of its own, because a Ctrl-C is this process's to answer: it lets go when it is time.
            return subprocess.Popen(
                command, stdin=subprocess.PIPE, stdout=log_file, stderr=log_file, start_new_session=True
            )

    def _supervise(self) -> None:
        while not self._stop.wait(1.0):
            if self._process is not None and self._process.poll() is not None:
                if self._process.returncode == _USERS_MISTAKE:
                    self.refusal = _last_line(self._log)
                    return
                self._say(
                    f"the controller process ended with code {self._process.returncode}; the stream goes on at its "
                    "size, and a new controller is started"
                )
                _let_go(self._process)
                self._process = self._spawn()

    def _reach(self) -> contextlib.closing[ControlClient]:
        """Anew each time: the controller that answered last may have died since."""
        entry = find("controller", self._app.name)
        return contextlib.closing(ControlClient(entry.address, entry.token))

    def status(self) -> Status:
        with self._reach() as controls:
            return controls.status()

    def pause(self) -> None:
        with self._reach() as controls:
            controls.pause()

    def resume(self) -> None:
        with self._reach() as controls:
            controls.resume()

    def pin(self, executors: int) -> None:
        with self._reach() as controls:
            controls.pin(executors)

    def unpin(self) -> None:
        with self._reach() as controls:
            controls.unpin()


def _last_line(path: Path) -> str:
    lines = path.read_text(encoding="utf-8", errors="replace").strip().splitlines()
    return lines[-1].removeprefix("headgate: ") if lines else f"the controller was refused; see {path}"


def _let_go(process: subprocess.Popen[bytes]) -> None:
    """Close its standard input, which it takes as the request to end."""
    if process.stdin is not None:
        process.stdin.close()
