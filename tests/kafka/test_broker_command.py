"""``headgate broker`` as a person uses it, with a real Kafka."""

from __future__ import annotations

import json
import socket
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import psutil
import pytest
from written_records import write

from headgate.cli import run_cli
from headgate.kafka import broker
from headgate.kafka.broker.ports import choose_ports
from headgate.kafka.offsets import end_offsets
from headgate.kafka.settings import KafkaSettings
from headgate.kafka.topics import Topic, ensure_topics

Headgate = Callable[..., tuple[int, Any, str]]


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """A state folder of its own, with no broker left in it at the end."""
    monkeypatch.setenv("HEADGATE_HOME", str(tmp_path / "home"))
    yield tmp_path / "home"
    broker.down()


@pytest.fixture
def headgate(capsys: pytest.CaptureFixture[str]) -> Headgate:
    def run(*args: object) -> tuple[int, Any, str]:
        code = run_cli(["broker", *(str(arg) for arg in args)])
        said = capsys.readouterr()
        return code, json.loads(said.out) if "--json" in args and said.out else said.out, said.err

    return run


def test_a_broker_from_up_to_down(headgate: Headgate, home: Path, topic: str) -> None:
    [port] = choose_ports(1)
    assert headgate("status", "--json")[:2] == (1, {"running": False})
    code, document, _ = headgate("up", "--port", port, "--json")
    assert code == 0
    assert (document["bootstrap"], document["started"], document["answering"]) == (f"127.0.0.1:{port}", True, 1)
    settings = KafkaSettings(document["bootstrap"])
    ensure_topics(settings, [Topic(topic, 1)])
    write(settings, topic, 5)
    code, said, _ = headgate("up")
    assert code == 0
    assert f"running already at 127.0.0.1:{port}" in said
    code, said, _ = headgate("status")
    assert (code, f"127.0.0.1:{port} (1 of 1 brokers answer)" in said) == (0, True)
    assert "Kafka Server started" in Path(document["logs"][0]).read_text()

    code, said, _ = headgate("down", "--keep")
    assert code == 0
    # Lines are broken where a terminal would end.
    assert document["folder"] in "".join(said.split())
    assert not any(psutil.pid_exists(pid) for pid in document["pids"])
    code, kept, _ = headgate("status", "--json")
    assert (code, kept["running"], kept["folder"]) == (1, False, document["folder"])

    code, again, _ = headgate("up", "--json")
    assert (code, again["bootstrap"]) == (0, document["bootstrap"])
    assert list(end_offsets(settings, [topic]).values()) == [5]
    assert headgate("down", "--json")[:2] == (0, {"stopped": True, "kept": None})
    assert not any(psutil.pid_exists(pid) for pid in again["pids"])
    assert [path.name for path in home.rglob("*") if path.is_file()] == ["remembered.lock"]
    assert headgate("down")[:2] == (0, "no broker was running\n")


def test_a_port_that_is_taken_is_one_sentence(headgate: Headgate, home: Path) -> None:
    with socket.socket() as other:
        other.bind(("127.0.0.1", 0))
        other.listen()
        port = other.getsockname()[1]
        code, said, complaint = headgate("up", "--port", port)
    assert (code, said) == (2, "")
    assert len(complaint.strip().splitlines()) == 1
    assert f"port {port}" in complaint
    assert "--port" in complaint
    assert headgate("status")[0] == 1


@pytest.mark.parametrize("command", [(), ("up",), ("down",), ("status",)])
def test_help_has_an_example(headgate: Headgate, command: tuple[str, ...]) -> None:
    code, said, _ = headgate(*command, "--help")
    assert code == 0
    assert f"Example: headgate broker {' '.join(command)}".rstrip() in said


def test_java_that_is_missing_is_one_sentence(
    headgate: Headgate, home: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.delenv("JAVA_HOME", raising=False)
    code, _, complaint = headgate("up")
    assert code == 2
    assert "Kafka needs Java 17" in complaint
