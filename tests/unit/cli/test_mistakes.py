"""Wrong input: one sentence on stderr, exit code 2, never a stack trace."""

from __future__ import annotations

import socket
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from headgate.link import register

SIMULATE = ("simulate", "-w", "constant", "--duration", "60s")


def assert_one_sentence(answer: Any, *words: str) -> None:
    assert answer.code == 2, answer
    assert answer.out == ""
    assert "Traceback" not in answer.err
    assert answer.err.startswith("headgate: ")
    assert len(answer.err.strip().splitlines()) == 1
    for word in words:
        assert word in answer.err


@pytest.mark.parametrize(
    ("args", "words"),
    [
        ((*SIMULATE, "-p", "hpaa"), ("policy 'hpaa' is unknown", "did you mean 'hpa'")),
        ((*SIMULATE, "-p", "hpa:traget=0.5"), ("no option 'traget'", "did you mean 'target'")),
        ((*SIMULATE, "-p", "hpa:target=x"), ("'x' is not a number",)),
        ((*SIMULATE, "-p", "phoebe"), ("policy 'phoebe'", "headgate profile", "profile=FILE")),
        ((*SIMULATE, "-p", "phoebe:profile=none.json"), ("none.json does not exist", "headgate profile")),
        ((*SIMULATE, "-p", "hpa", "-e", "-3..4"), ("negative",)),
        ((*SIMULATE, "-p", "hpa", "-e", "5..2"), ("above the upper",)),
        ((*SIMULATE, "-p", "hpa", "-e", "many"), ("not a range",)),
        ((*SIMULATE, "-p", "hpa", "-s", "sprak"), ("spark",)),
        ((*SIMULATE, "-p", "hpa", "-g", "cooldwn"), ("did you mean 'cooldown'",)),
        ((*SIMULATE, "-p", "hpa", "--peak", "-1"), ("--peak", "positive")),
        ((*SIMULATE, "-p", "hpa", "--duration", "soon"), ("not a duration",)),
        ((*SIMULATE, "-p", "hpa", "-o", "no/such/folder/x.html"), ("folder does not exist",)),
        (("simulate", "-w", "sin", "-p", "hpa"), ("sine",)),
        (("simulate", "-p", "hpa"), ("--workload",)),
        (("simualte",), ("did you mean 'simulate'",)),
        (("simulate", "--polcy", "x"), ("--polcy",)),
        (("schema", "evalation"), ("did you mean 'evaluation'",)),
        (("policies", "hp"), ("policy 'hp' is unknown",)),
        (("decide", "--from", "missing.json", "-p", "hpa"), ("cannot be read",)),
        (("run", "missing.toml"), ("cannot be read",)),
        (("report", "missing.db", "-o", "x.html"), ("missing.db",)),
        (("replay", "missing.db"), ("missing.db",)),
        (("calibrate", "missing.db"), ("missing.db",)),
    ],
)
def test_a_mistake_is_one_sentence_with_a_remedy(
    headgate: Callable[..., Any], args: tuple[str, ...], words: tuple[str, ...]
) -> None:
    assert_one_sentence(headgate(*args), *words)


@pytest.mark.parametrize(
    ("content", "words"),
    [
        ("", ("load.csv",)),
        ("seconds,records_per_second\n", ("load.csv",)),
        ("seconds,records_per_second\n0,1\nx,2\n", ("load.csv", "line 3")),
        ("seconds,records_per_second\n0,1\n1,nan\n", ("line 3",)),
        ("seconds,records_per_second\n0,1\n5,2\n3,2\n", ("line 4",)),
        ("seconds,records_per_second\n0,-1\n", ("line 2",)),
        ("seconds,records_per_second\n0\n", ("line 2",)),
    ],
)
def test_a_bad_trace_is_named_with_its_line(
    headgate: Callable[..., Any], tmp_path: Path, content: str, words: tuple[str, ...]
) -> None:
    trace = tmp_path / "load.csv"
    trace.write_text(content)
    assert_one_sentence(headgate("simulate", "-p", "hpa", "-w", trace), *words)


@pytest.mark.parametrize(
    ("content", "words"),
    [
        ("nme = 'x'", ("nme is not a known key", "did you mean 'name'")),
        ("name = 'x'\n[stream]\nworklod = 'sine'", ("stream.worklod", "did you mean 'workload'")),
        ("name = 'x'", ("[stream]", "[pipeline]")),
        ("name = 'x'\n[stream]\nworkload = 'sine'\n[controller]\nexecutors = [4, 1]", ("above the upper",)),
        ("name = 'x'\n[stream]\nworkload = 'sine'\n[controller]\nexecutors = [-4, 1]", ("negative",)),
        ("name = 'x'\n[stream]\nworkload = 'sine'\n[controller]\nexecutors = [1, 40]", ("cluster.nodes",)),
        ("name = 'x'\n[stream]\nworkload = 'sine'\ntrigger_s = 'soon'", ("stream.trigger_s", "not a duration")),
        ("name = 'x'\n[stream]\nworkload = 'sine'\n[controller]\npolicy = 'hpaa'", ("did you mean 'hpa'",)),
        ("name = 'x'\n[stream]\nworkload = 'sin'", ("sine",)),
        ("name = 'x'\n[pipeline]\nfile = 'gone.py'", ("gone.py does not exist",)),
        ("name = 'x'\n[stream]\nworkload = 'sine'\n[controller]\nport = 70000", ("controller.port", "65535")),
        ("name = [", ("not valid TOML",)),
    ],
)
def test_a_bad_app_file_is_named_with_its_key(
    headgate: Callable[..., Any], tmp_path: Path, content: str, words: tuple[str, ...]
) -> None:
    app = tmp_path / "app.toml"
    app.write_text(content)
    assert_one_sentence(headgate("run", app), *words)


@pytest.mark.parametrize("content", [b"", b"not a database at all, only text that is long enough to be one"])
def test_an_unreadable_journal_is_named(headgate: Callable[..., Any], tmp_path: Path, content: bytes) -> None:
    journal = tmp_path / "broken.db"
    journal.write_bytes(content)
    for command in (("replay", journal), ("report", journal, "-o", tmp_path / "x.html"), ("calibrate", journal)):
        assert_one_sentence(headgate(*command), "broken.db")


@pytest.mark.parametrize(
    ("content", "words"),
    [
        ("", ("no evaluation",)),
        ("{", ("line 1", "not JSON")),
        ("[]", ("no evaluation",)),
        ('{"time_s": "x"}', ("time_s",)),
        ('{"time_s": NaN}', ("time_s",)),
        ('{"time_s": 1, "operatrs": []}', ("operatrs",)),
        ('{"time_s": 1}\n{"time_s": 2, "executors": [{}]}', ("line 2", "executors.0.id")),
    ],
)
def test_a_bad_evaluation_is_named_with_its_place(
    headgate: Callable[..., Any], tmp_path: Path, content: str, words: tuple[str, ...]
) -> None:
    source = tmp_path / "evaluations.json"
    source.write_text(content)
    assert_one_sentence(headgate("decide", "--from", source, "-p", "hpa"), *words)


def test_no_controller_running_is_said(
    headgate: Callable[..., Any], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HEADGATE_HOME", str(tmp_path))
    for command in (("status",), ("pause",), ("resume",), ("pin", "3"), ("unpin",)):
        assert_one_sentence(headgate(*command), "no controller")


@pytest.mark.parametrize(
    ("java", "words"),
    [(None, ("Java",)), ("#!/bin/sh\necho 'openjdk version \"11.0.2\" 2019-01-15' >&2\n", ("Java", "11", "17"))],
)
def test_no_java_or_the_wrong_one_is_said(
    headgate: Callable[..., Any],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    java: str | None,
    words: tuple[str, ...],
) -> None:
    folder = tmp_path / "bin"
    folder.mkdir()
    if java is not None:
        (folder / "java").write_text(java)
        (folder / "java").chmod(0o755)
    monkeypatch.setenv("PATH", f"{folder}:/bin" if java else str(folder))
    monkeypatch.delenv("JAVA_HOME", raising=False)
    monkeypatch.setenv("HEADGATE_HOME", str(tmp_path))
    assert_one_sentence(headgate("demo", "--quiet", "--folder", tmp_path / "demo"), *words)


def test_a_folder_that_is_no_demos_is_left_alone(headgate: Callable[..., Any], tmp_path: Path) -> None:
    (tmp_path / "precious.txt").write_text("mine")
    assert_one_sentence(headgate("demo", "--folder", tmp_path), "not an earlier demo")
    assert (tmp_path / "precious.txt").exists()


@pytest.fixture
def taken_port() -> Iterator[int]:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        yield taken.getsockname()[1]


@pytest.mark.parametrize("process", ["thread", "separate"])
def test_a_port_in_use_is_said_before_a_cluster_is_started(
    headgate: Callable[..., Any], tmp_path: Path, monkeypatch: pytest.MonkeyPatch, taken_port: int, process: str
) -> None:
    monkeypatch.setenv("HEADGATE_HOME", str(tmp_path / "home"))
    app = tmp_path / "app.toml"
    app.write_text(
        "name = 'x'\nfolder = 'x'\n[stream]\nworkload = 'sine'\n"
        f"[controller]\nport = {taken_port}\nprocess = '{process}'"
    )
    assert_one_sentence(headgate("run", app), f"port {taken_port} for the controller of 'x' is in use")
    assert [path.name for path in tmp_path.iterdir()] == ["app.toml"]


def test_a_port_in_use_is_said_by_a_controller_of_its_own(
    headgate: Callable[..., Any], tmp_path: Path, monkeypatch: pytest.MonkeyPatch, taken_port: int
) -> None:
    monkeypatch.setenv("HEADGATE_HOME", str(tmp_path))
    control = ("control", "--journal", tmp_path / "x.db", "--port")
    with register(role="agent", app="x", address="127.0.0.1:9", token="t"):
        assert_one_sentence(headgate(*control, taken_port), f"port {taken_port}", "is in use")
        assert_one_sentence(headgate(*control, 70000), "port 70000", "does not exist")
    assert not (tmp_path / "x.db").exists()


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("--journal", "there.db"), ("2 apps", "name one of")),
        (("--app", "a", "--app", "c", "--journal", "folder"), ("app 'c'",)),
        (("--app", "a", "--app", "b", "--journal", "there.db"), ("is a file", "folder")),
        (("--app", "a", "--app", "b", "--journal", "no/folder"), ("does not exist",)),
        (("--app", "a", "--app", "b", "--journal", "folder", "--port", "9999"), ("for one app",)),
        (("--app", "a", "--journal", "x.db", "--policy", "c=hpa"), ("app 'c'", "not controlled")),
        (("--app", "a", "--journal", "x.db", "--policy", "a=hpa", "--policy", "a=ds2"), ("two policies",)),
        (("--app", "a", "--journal", "x.db", "--policy", "hpa", "--policy", "ds2"), ("APP=ds2",)),
        (("--app", "a", "--app", "b", "--journal", "folder", "--policy", "a=hpa"), ("app 'b'", "b=POLICY")),
    ],
)
def test_mistakes_about_several_apps_are_said_before_anything_is_controlled(
    headgate: Callable[..., Any],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    words: tuple[str, ...],
    said: tuple[str, ...],
) -> None:
    monkeypatch.setenv("HEADGATE_HOME", str(tmp_path / "home"))
    monkeypatch.chdir(tmp_path)
    (tmp_path / "there.db").touch()
    with (
        register(role="agent", app="a", address="127.0.0.1:9", token="t"),
        register(role="agent", app="b", address="127.0.0.1:9", token="t"),
    ):
        assert_one_sentence(headgate("control", *words), *said)
    assert {path.name for path in tmp_path.iterdir()} == {"home", "there.db"}


def test_what_is_only_simulated_is_not_promised_to_be_real(headgate: Callable[..., Any]) -> None:
    assert_one_sentence(headgate("reproduce", "daedalus", "--real"), "--real", "elastic-functions")
    assert_one_sentence(headgate("reproduce", "elastic-functions", "--folder", "x"), "--folder", "--real")
