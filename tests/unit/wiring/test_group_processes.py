"""Parts of a consumer group that end with whoever started them, and are started again while that one lives."""

from __future__ import annotations

import json
import subprocess
import sys
import threading
import time
from dataclasses import asdict
from pathlib import Path

import pytest

from headgate.processes import describe
from headgate.wiring.consumer_group import OWNER_VARIABLE, Supervised, follow_owner, owner_environment

LIVES = "import time; time.sleep(600)"


class Part:
    def __init__(self) -> None:
        self.stopped = threading.Event()

    def run(self) -> None: ...

    def stop(self) -> None:
        self.stopped.set()


def test_a_part_stops_when_its_owner_was_killed(monkeypatch: pytest.MonkeyPatch) -> None:
    with subprocess.Popen([sys.executable, "-c", LIVES]) as owner:
        monkeypatch.setenv(OWNER_VARIABLE, json.dumps(asdict(describe(owner.pid, role="owner"))))
        part = Part()
        follow_owner(part)
        assert not part.stopped.wait(0.2)
        owner.kill()
        owner.wait()
        assert part.stopped.wait(30)


def test_one_without_an_owner_lives_on_its_own(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv(OWNER_VARIABLE, raising=False)
    part = Part()
    follow_owner(part)
    assert not part.stopped.is_set()
    assert json.loads(owner_environment()[OWNER_VARIABLE])["role"] == "owner"


def test_a_part_that_dies_is_started_again_and_ends_with_the_block(tmp_path: Path) -> None:
    said: list[str] = []
    with Supervised("monitor", [sys.executable, "-c", LIVES], log=tmp_path / "log", say=said.append) as part:
        first = part.pid
        assert first is not None
        assert part._process is not None
        part._process.kill()
        deadline_s = time.monotonic() + 30
        while part.pid == first:
            assert time.monotonic() < deadline_s
            time.sleep(0.05)
        last = part._process
    assert last.poll() is not None
    assert "monitor ended with code -9" in said[0]


def test_one_that_cannot_work_as_told_is_not_started_again(tmp_path: Path) -> None:
    script = "import sys; sys.stderr.write('headgate: there is no topic; make it\\n'); sys.exit(2)"
    with Supervised("monitor", [sys.executable, "-c", script], log=tmp_path / "log", say=lambda _: None) as part:
        deadline_s = time.monotonic() + 30
        while part.refusal is None:
            assert time.monotonic() < deadline_s
            time.sleep(0.05)
    assert part.refusal == "there is no topic; make it"
