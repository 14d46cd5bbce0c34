"""What dies is survived: an executor, the controller, the driver. The sink stays exact."""

from __future__ import annotations

import contextlib
import os
import signal
from pathlib import Path

import pytest
from app_process import eventually, executor_pids, finished, sizes, started, ticks, write_app

from headgate.core.sample import EventKind
from headgate.journal import read_journal
from headgate.link import ControlClient, find

pytestmark = [pytest.mark.spark, pytest.mark.timeout(400)]


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("HEADGATE_HOME", str(tmp_path / "home"))
    return tmp_path / "home"


def test_a_killed_executor_and_a_killed_controller_are_replaced_and_nothing_is_lost_or_doubled(
    tmp_path: Path, home: Path
) -> None:
    app = write_app(tmp_path, duration_s=50, process="separate")
    journal = tmp_path / "tested" / "tested.db"
    with started(app, home) as process:
        eventually(lambda: sizes(journal)[-1:] == [2], what="two executors")
        os.kill(executor_pids(home)[-1], signal.SIGKILL)
        eventually(lambda: EventKind.LOST in events(journal), what="the loss in the journal")
        first = find("controller", "tested")
        os.kill(first.pid, signal.SIGKILL)
        second = eventually(
            lambda: next((part for part in [find("controller", "tested")] if part.pid != first.pid), None),
            what="a new controller",
        )
        with contextlib.closing(ControlClient(second.address, second.token)) as controls:
            status = eventually(controls.status, what="its status")
        assert status.epoch == 2
        assert status.target is not None
        assert status.target.executors == 2
        document = finished(process)
    assert document["sink"]["exact"], document["sink"]
    assert document["query_restarts"] == 0
    assert {tick.epoch for tick in ticks(journal)} == {1, 2}
    told = events(journal)
    assert EventKind.JOINED in told[told.index(EventKind.LOST) :]
    assert sizes(journal)[-1] == 2


def events(journal: Path) -> list[EventKind]:
    with read_journal(journal) as reader:
        return [event.kind for sample in reader.samples() for event in sample.events]


def test_a_killed_driver_comes_back_at_its_size_with_an_exact_sink(tmp_path: Path, home: Path) -> None:
    app = write_app(tmp_path, duration_s=55)
    journal = tmp_path / "tested" / "tested.db"
    with started(app, home) as process:
        eventually(lambda: sizes(journal)[-1:] == [2], what="two executors")
        process.kill()
        process.wait()
    before = len(ticks(journal))
    held = write_app(tmp_path, duration_s=55, policy="static:period_s=2")
    with started(held, home) as process:
        document = finished(process)
    after = ticks(journal)
    assert len(after) > before > 0
    assert after[before].epoch == 2
    # The second policy holds what it finds, so two executors can only come from the journal.
    assert {tick.decision.current.executors for tick in after[before:]} == {2}
    assert sizes(journal)[-1] == 2
    assert document["sink"]["exact"], document["sink"]
