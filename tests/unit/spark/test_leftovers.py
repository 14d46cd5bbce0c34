"""Clearing up after killed parents, with small real processes."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import asdict, replace
from pathlib import Path

import psutil
import pytest

from headgate.spark.leftovers import (
    ClusterRecord,
    ClusterState,
    ProcessRecord,
    describe,
    reclaim,
    state_folder,
    this_machine,
)

TOKEN = "0123456789abcdef"
DEAD_OWNER = ProcessRecord(pid=2**22 - 1, started_s=1.0, role="owner")


@pytest.fixture
def sleeper() -> Iterator[subprocess.Popen[bytes]]:
    """A process that bears the token and waits for its pipe to close."""
    command = [sys.executable, "-c", "import sys; sys.stdin.read()", f"-Dheadgate.cluster={TOKEN}"]
    with subprocess.Popen(command, stdin=subprocess.PIPE) as process:
        yield process
        process.kill()


def leave_record(home: Path, record: ClusterRecord) -> Path:
    path = state_folder(home) / f"{record.token}.json"
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps(asdict(record)))
    return path


def record_of(process: subprocess.Popen[bytes], folder: Path) -> ClusterRecord:
    return ClusterRecord(
        token=TOKEN,
        machine=this_machine(),
        owner=DEAD_OWNER,
        folder=str(folder),
        processes=(describe(process.pid, role="master"),),
    )


def test_what_a_dead_owner_left_is_ended_and_removed(tmp_path: Path, sleeper: subprocess.Popen[bytes]) -> None:
    folder = tmp_path / f"headgate-{TOKEN}"
    folder.mkdir()
    path = leave_record(tmp_path, record_of(sleeper, folder))
    found = reclaim(tmp_path)
    assert (found.clusters, found.processes) == (1, 1)
    assert "ended 1 processes" in found.summary
    assert not psutil.pid_exists(sleeper.pid)
    assert not folder.exists()
    assert not path.exists()
    assert reclaim(tmp_path).clusters == 0


def test_a_process_that_got_the_id_later_is_spared(tmp_path: Path, sleeper: subprocess.Popen[bytes]) -> None:
    record = record_of(sleeper, tmp_path / "gone")
    older = replace(record.processes[0], started_s=record.processes[0].started_s - 60)
    leave_record(tmp_path, replace(record, processes=(older,)))
    assert reclaim(tmp_path).processes == 0
    assert sleeper.poll() is None


def test_a_process_without_the_token_is_spared(tmp_path: Path, sleeper: subprocess.Popen[bytes]) -> None:
    leave_record(tmp_path, replace(record_of(sleeper, tmp_path / "gone"), token="another"))
    assert reclaim(tmp_path).processes == 0
    assert sleeper.poll() is None


def test_a_living_owner_keeps_its_cluster(tmp_path: Path, sleeper: subprocess.Popen[bytes]) -> None:
    owner = describe(psutil.Process().pid, role="owner")
    path = leave_record(tmp_path, replace(record_of(sleeper, tmp_path / "folder"), owner=owner))
    assert reclaim(tmp_path).clusters == 0
    assert path.exists()
    assert sleeper.poll() is None


def test_a_locked_record_is_left_alone_whatever_it_says(tmp_path: Path, sleeper: subprocess.Popen[bytes]) -> None:
    state = ClusterState(token=TOKEN, folder=tmp_path / "folder", home=tmp_path)
    leave_record(tmp_path, record_of(sleeper, tmp_path / "folder"))
    assert reclaim(tmp_path).clusters == 0
    assert sleeper.poll() is None
    state.close()
    assert list(state_folder(tmp_path).iterdir()) == []


def test_another_machines_record_is_left_alone(tmp_path: Path, sleeper: subprocess.Popen[bytes]) -> None:
    path = leave_record(tmp_path, replace(record_of(sleeper, tmp_path / "folder"), machine="elsewhere boot-1"))
    assert reclaim(tmp_path).clusters == 0
    assert path.exists()


def test_a_record_from_before_a_reboot_is_removed_without_ending_anything(
    tmp_path: Path, sleeper: subprocess.Popen[bytes]
) -> None:
    folder = tmp_path / f"headgate-{TOKEN}"
    folder.mkdir()
    host = this_machine().split()[0]
    path = leave_record(tmp_path, replace(record_of(sleeper, folder), machine=f"{host} an-earlier-boot"))
    assert reclaim(tmp_path).processes == 0
    assert not path.exists()
    assert not folder.exists()
    assert sleeper.poll() is None


def test_a_folder_that_does_not_bear_the_token_is_never_removed(
    tmp_path: Path, sleeper: subprocess.Popen[bytes]
) -> None:
    precious = tmp_path / "precious"
    precious.mkdir()
    leave_record(tmp_path, record_of(sleeper, precious))
    assert reclaim(tmp_path).clusters == 1
    assert precious.exists()


@pytest.mark.parametrize("text", ["", "{}", "not json", '{"owner": 3}'])
def test_a_damaged_record_is_left_alone(tmp_path: Path, text: str) -> None:
    path = state_folder(tmp_path) / "x.json"
    path.parent.mkdir(parents=True)
    path.write_text(text)
    assert reclaim(tmp_path).clusters == 0
    assert path.exists()


def test_the_state_remembers_what_was_started(tmp_path: Path, sleeper: subprocess.Popen[bytes]) -> None:
    state = ClusterState(token=TOKEN, folder=tmp_path / "folder", home=tmp_path)
    state.add(sleeper.pid, role="node-1")
    state.remember_groups(tmp_path / "groups")
    written = json.loads((state_folder(tmp_path) / f"{TOKEN}.json").read_text())
    assert [process["pid"] for process in written["processes"]] == [sleeper.pid]
    assert written["groups"] == str(tmp_path / "groups")
    state.close()


def test_the_environment_moves_the_records(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("HEADGATE_HOME", str(tmp_path))
    assert state_folder() == tmp_path / "clusters"
