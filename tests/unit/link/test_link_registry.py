"""Running parts are found, dead ones are swept away, and nobody else reads their tokens."""

from __future__ import annotations

import builtins
import json
import os
import stat
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import psutil
import pytest

from headgate.errors import UserMistake
from headgate.link import Role, find, processes, register, registry, registry_folder, running


@pytest.fixture(autouse=True)
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    home = tmp_path / "home"
    monkeypatch.setenv("HEADGATE_HOME", str(home))
    return home


def rewrite(path: Path, **changes: object) -> None:
    path.write_text(json.dumps(json.loads(path.read_text()) | changes))


def test_a_registered_part_is_found_until_it_is_removed() -> None:
    with register(app="orders", role="controller", address="127.0.0.1:1", token="secret") as registration:
        part = find("controller")
        assert part == registration.part
        assert (part.app, part.role, part.address, part.token, part.pid) == (
            "orders",
            Role.CONTROLLER,
            "127.0.0.1:1",
            "secret",
            os.getpid(),
        )
    registration.remove()
    with pytest.raises(UserMistake, match="no controller is running on this machine; start one with"):
        find("controller")


def test_nothing_is_found_where_there_is_no_folder(home: Path) -> None:
    assert running() == ()
    assert not home.exists()


def test_roles_are_told_apart() -> None:
    with (
        register(app="orders", role=Role.AGENT, address="127.0.0.1:1", token="a"),
        register(app="orders", role=Role.CONTROLLER, address="127.0.0.1:2", token="c"),
    ):
        assert find(Role.AGENT).address == "127.0.0.1:1"
        assert find(Role.CONTROLLER).address == "127.0.0.1:2"
        assert [part.role for part in running()] == ["agent", "controller"]


def test_several_apps_must_be_named_apart() -> None:
    with (
        register(app="orders", role="agent", address="127.0.0.1:1", token="a"),
        register(app="clicks", role="agent", address="127.0.0.1:2", token="b"),
    ):
        with pytest.raises(UserMistake, match="2 apps have their agent running here; name one of clicks, orders"):
            find("agent")
        assert find("agent", "clicks").address == "127.0.0.1:2"
        with pytest.raises(UserMistake, match=r"no agent of app 'click' is running .*did you mean 'clicks'"):
            find("agent", "click")


def test_the_newest_of_one_app_is_taken() -> None:
    with (
        register(app="orders", role="controller", address="127.0.0.1:1", token="a") as first,
        register(app="orders", role="controller", address="127.0.0.1:2", token="b"),
    ):
        rewrite(first.path, registered_s=1.0)
        assert find("controller").address == "127.0.0.1:2"


@pytest.mark.parametrize("app", ["../../etc/passwd", "a/b", "a b", "", "ünï", "x" * 500, ".", "con\x00trol"])
def test_any_name_of_an_app_makes_a_file_in_the_folder(app: str) -> None:
    with register(app=app, role="agent", address="127.0.0.1:1", token="t") as registration:
        assert registration.path.parent == registry_folder()
        assert find("agent", app).app == app


def test_names_that_look_alike_as_files_stay_apart() -> None:
    assert registry.file_name("a/b") != registry.file_name("a-b")


def test_nobody_else_may_read_the_token(home: Path) -> None:
    (home / "run").mkdir(parents=True, mode=0o755)
    with register(app="orders", role="agent", address="127.0.0.1:1", token="secret") as registration:
        assert stat.S_IMODE(registry_folder().stat().st_mode) == 0o700
        assert stat.S_IMODE(registration.path.stat().st_mode) == 0o600
        assert "secret" not in repr(registration.part)
        assert [path.name for path in registry_folder().iterdir()] == [registration.path.name]


def test_a_dead_process_is_swept_away() -> None:
    ended = subprocess.Popen([sys.executable, "-c", ""])
    ended.wait()
    registration = register(app="orders", role="agent", address="127.0.0.1:1", token="t")
    rewrite(registration.path, pid=ended.pid)
    assert running() == ()
    assert not registration.path.exists()


def test_another_process_with_the_same_number_is_not_taken_for_it() -> None:
    registration = register(app="orders", role="agent", address="127.0.0.1:1", token="t")
    rewrite(registration.path, process_start="ticks 1")
    assert running() == ()
    assert not registration.path.exists()


def test_parts_of_another_machine_are_neither_found_nor_removed() -> None:
    with register(app="orders", role="agent", address="127.0.0.1:1", token="t") as registration:
        rewrite(registration.path, host="elsewhere", pid=-1)
        assert running() == ()
        assert registration.path.exists()


@pytest.mark.parametrize("content", [b"", b"{", b"[]", b"\xff\xfe", b'{"app": 1}'])
def test_a_file_that_is_none_of_ours_is_passed_over(home: Path, content: bytes) -> None:
    strange = home / "run" / "strange.json"
    strange.parent.mkdir(parents=True)
    strange.write_bytes(content)
    with register(app="orders", role="agent", address="127.0.0.1:1", token="t"):
        assert find("agent").app == "orders"
    assert strange.exists()


def test_a_folder_that_cannot_be_used_is_named_with_a_remedy(home: Path) -> None:
    home.write_text("a file, where a folder should be")
    with pytest.raises(UserMistake, match=r"cannot be used \(.*\); set HEADGATE_HOME"):
        register(app="orders", role="agent", address="127.0.0.1:1", token="t")


def test_a_draft_that_could_not_be_finished_is_removed(monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(*_: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(Path, "replace", fail)
    with pytest.raises(UserMistake, match="No space left"):
        register(app="orders", role="agent", address="127.0.0.1:1", token="t")
    assert list(registry_folder().iterdir()) == []


def test_the_folder_is_the_users_unless_told_otherwise(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("HEADGATE_HOME")
    assert registry_folder().parts[-2:] == ("headgate", "run")


class TestProcesses:
    def test_a_process_starts_only_once(self) -> None:
        start = processes.start_of(os.getpid())
        assert start is not None
        assert start == processes.start_of(os.getpid())
        assert processes.lives(os.getpid(), start)

    @pytest.mark.parametrize("pid", [0, -1, 2**22 + 5, 2**80])
    def test_a_number_that_nobody_has_is_dead(self, pid: int) -> None:
        assert processes.start_of(pid) is None
        assert not processes.lives(pid, "unknown")

    @pytest.fixture
    def zombie(self) -> Iterator[int]:
        ended = subprocess.Popen([sys.executable, "-c", ""])
        os.waitid(os.P_PID, ended.pid, os.WEXITED | os.WNOWAIT)
        yield ended.pid
        ended.wait()

    def test_a_process_that_nobody_waited_for_is_dead(self, zombie: int) -> None:
        assert processes.start_of(zombie) is None

    def test_where_there_is_no_proc_another_way_is_found(self, zombie: int) -> None:
        start = processes._start_without_proc(os.getpid())
        assert start is not None
        assert start.startswith("seconds ")
        assert processes._start_without_proc(zombie) is None
        assert processes._start_without_proc(2**22 + 5) is None

    def test_a_process_of_somebody_else_is_alive(self, monkeypatch: pytest.MonkeyPatch) -> None:
        def refuse(*_: object) -> None:
            raise PermissionError

        monkeypatch.setattr(os, "kill", refuse)
        assert processes._start_without_proc(os.getpid()) is not None

    def test_a_process_that_may_not_be_looked_at_is_believed(self, monkeypatch: pytest.MonkeyPatch) -> None:
        def refuse(pid: int) -> None:
            raise psutil.AccessDenied(pid)

        monkeypatch.setattr(psutil, "Process", refuse)
        assert processes._start_without_proc(os.getpid()) == processes.UNKNOWN

    def test_without_any_way_a_live_process_is_believed(self, monkeypatch: pytest.MonkeyPatch) -> None:
        imported = builtins.__import__

        def without_psutil(name: str, *args: object, **more: object) -> object:
            if name == "psutil":
                raise ImportError(name)
            return imported(name, *args, **more)  # type: ignore[arg-type]

        monkeypatch.setattr(builtins, "__import__", without_psutil)
        assert processes._start_without_proc(os.getpid()) == processes.UNKNOWN
        assert processes.lives(os.getpid(), processes.UNKNOWN)
