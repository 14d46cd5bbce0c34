"""Brokers on record: cleared up after killed owners, and nobody else's process touched."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import psutil
import pytest

from headgate.errors import UserMistake
from headgate.kafka.broker import layout as layouts
from headgate.kafka.broker import remembered, state
from headgate.kafka.broker.daemon import mark
from headgate.kafka.broker.layout import Layout
from headgate.processes import ProcessRecord

DEAD_OWNER = ProcessRecord(pid=2**22 - 1, started_s=1.0, role="owner")


@pytest.fixture
def layout(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Layout:
    monkeypatch.setenv("HEADGATE_HOME", str(tmp_path / "home"))
    made = layouts.plan(folder=tmp_path / "broker", ports=[20_001], secured=False, made_folder=True)
    layouts.write(made, None)
    return made


@pytest.fixture
def sleeper(layout: Layout) -> Iterator[subprocess.Popen[bytes]]:
    """A process that bears the broker's token and waits for its pipe to close."""
    command = [sys.executable, "-c", "import sys; sys.stdin.read()", mark(layout.token)]
    with subprocess.Popen(command, stdin=subprocess.PIPE) as process:
        yield process
        process.kill()


def on_record(layout: Layout, process: subprocess.Popen[bytes], *, owned: bool = True) -> state.BrokerRecord:
    record = state.with_process(state.new_record(layout, owned=owned), 1, process.pid)
    state.write_record(record)
    return record


def test_what_a_killed_owner_left_is_ended_and_removed(layout: Layout, sleeper: subprocess.Popen[bytes]) -> None:
    record = replace(on_record(layout, sleeper), owner=DEAD_OWNER)
    state.write_record(record)
    assert state.reclaim() == 1
    assert not psutil.pid_exists(sleeper.pid)
    assert not Path(layout.folder).exists()
    assert not state.record_path(record).exists()


def test_a_broker_whose_owner_lives_is_left_alone(layout: Layout, sleeper: subprocess.Popen[bytes]) -> None:
    record = on_record(layout, sleeper)
    assert state.reclaim() == 0
    assert sleeper.poll() is None
    assert record.alive == (1,)


def test_a_process_without_the_token_is_never_ended(layout: Layout, sleeper: subprocess.Popen[bytes]) -> None:
    other = replace(layout, token="f" * 32)
    record = replace(on_record(other, sleeper), owner=DEAD_OWNER)
    state.write_record(record)
    assert record.alive == ()
    assert state.reclaim() == 0
    assert sleeper.poll() is None


def test_a_later_process_with_the_same_id_is_not_the_broker(layout: Layout, sleeper: subprocess.Popen[bytes]) -> None:
    record = on_record(layout, sleeper)
    [process] = record.processes
    earlier = replace(process, started_s=process.started_s - 60)
    assert replace(record, processes=(earlier,)).alive == ()


def test_the_users_own_broker_is_nobodys_leftover(layout: Layout, sleeper: subprocess.Popen[bytes]) -> None:
    on_record(layout, sleeper, owned=False)
    assert state.reclaim() == 0
    assert sleeper.poll() is None
    found = state.remembered()
    assert found is not None
    assert found.layout == layout


def test_taking_it_down_ends_it_and_removes_what_it_wrote(layout: Layout, sleeper: subprocess.Popen[bytes]) -> None:
    on_record(layout, sleeper, owned=False)
    was = remembered.down()
    assert was is not None
    assert was.pids == (sleeper.pid,)
    assert not psutil.pid_exists(sleeper.pid)
    assert not Path(layout.folder).exists()
    assert remembered.status() is None
    assert remembered.down() is None


def test_what_is_kept_is_remembered_and_can_be_removed_later(layout: Layout, sleeper: subprocess.Popen[bytes]) -> None:
    on_record(layout, sleeper, owned=False)
    remembered.down(keep=True)
    found = remembered.status()
    assert found is not None
    assert (found.running, found.folder, found.answering) == (False, Path(layout.folder), 0)
    assert layouts.read(Path(layout.folder)) is not None
    remembered.down()
    assert not Path(layout.folder).exists()


def test_only_one_broker_is_remembered(layout: Layout, sleeper: subprocess.Popen[bytes], tmp_path: Path) -> None:
    on_record(layout, sleeper, owned=False)
    with pytest.raises(UserMistake, match="running already with --port 20001, not 9000"):
        remembered.up(port=9000)
    with pytest.raises(UserMistake, match="running already with --brokers 1, not 3"):
        remembered.up(brokers=3)
    remembered.down(keep=True)
    with pytest.raises(UserMistake, match="a broker is kept in"):
        remembered.up(folder=tmp_path / "other")


def test_a_broker_of_another_machine_is_not_touched(layout: Layout, sleeper: subprocess.Popen[bytes]) -> None:
    record = replace(on_record(layout, sleeper, owned=False), machine="elsewhere boot namespace")
    state.write_record(record)
    for touch in (remembered.up, remembered.down):
        with pytest.raises(UserMistake, match="belongs to elsewhere"):
            touch()
    assert sleeper.poll() is None


def test_a_damaged_record_is_no_record(layout: Layout, sleeper: subprocess.Popen[bytes]) -> None:
    record = on_record(layout, sleeper, owned=False)
    state.record_path(record).write_text('{"layout": 3}')
    assert state.remembered() is None
    assert state.reclaim() == 0
