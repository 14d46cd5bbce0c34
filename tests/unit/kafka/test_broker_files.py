"""What a broker is told, where it writes, and what is removed of it."""

from __future__ import annotations

import socket
from collections.abc import Iterator
from pathlib import Path

import pytest

from headgate.errors import UserMistake
from headgate.kafka.broker import layout as layouts
from headgate.kafka.broker.layout import Layout, SaslUser, server_properties
from headgate.kafka.broker.local import LocalBroker
from headgate.kafka.broker.ports import check_free, choose_ports


def told(layout: Layout, number: int, user: SaslUser | None = None) -> dict[str, str]:
    lines = server_properties(layout, layout.node(number), user).splitlines()
    return dict(line.split("=", 1) for line in lines)


def planned(folder: Path, *, brokers: int = 1, secured: bool = False) -> Layout:
    return layouts.plan(folder=folder, ports=choose_ports(brokers), secured=secured, made_folder=True)


def test_one_broker_keeps_one_copy(tmp_path: Path) -> None:
    layout = planned(tmp_path)
    settings = told(layout, 1)
    assert settings["default.replication.factor"] == settings["min.insync.replicas"] == "1"
    assert settings["offsets.topic.replication.factor"] == "1"
    assert settings["listeners"].startswith(f"PLAINTEXT://127.0.0.1:{layout.nodes[0].port},")


def test_three_brokers_keep_three_copies_of_which_two_must_be_in_step(tmp_path: Path) -> None:
    layout = planned(tmp_path, brokers=3)
    for number in (1, 2, 3):
        settings = told(layout, number)
        assert settings["node.id"] == str(number)
        for internal in ("offsets.topic", "transaction.state.log", "default"):
            assert settings[f"{internal}.replication.factor"] == "3"
        assert settings["transaction.state.log.min.isr"] == settings["min.insync.replicas"] == "2"
        assert len(settings["controller.quorum.voters"].split(",")) == 3
    assert len({port for node in layout.nodes for port in (node.port, node.controller_port)}) == 6


def test_a_password_survives_both_ways_of_quoting(tmp_path: Path) -> None:
    settings = told(planned(tmp_path, secured=True), 1, SaslUser("alice", 'a"b\\cä'))
    login = settings["listener.name.secured.plain.sasl.jaas.config"]
    assert login.endswith('user_alice="a\\\\"b\\\\\\\\c\\u00e4";')


def test_files_with_secrets_are_for_their_owner_only(tmp_path: Path) -> None:
    layout = planned(tmp_path / "broker", secured=True)
    layouts.write(layout, SaslUser("alice", "secret"))
    assert layout.properties(layout.nodes[0]).stat().st_mode & 0o077 == 0
    assert "secret" not in repr(SaslUser("alice", "secret"))


def test_a_folder_tells_what_is_in_it(tmp_path: Path) -> None:
    layout = planned(tmp_path / "broker", brokers=3)
    layouts.write(layout, None)
    assert layouts.read(tmp_path / "broker") == layout
    assert layouts.read(tmp_path) is None
    (tmp_path / "broker" / "broker.json").write_text("{}")
    with pytest.raises(UserMistake, match="damaged"):
        layouts.read(tmp_path / "broker")


def test_only_what_was_written_for_the_broker_is_removed(tmp_path: Path) -> None:
    for name in ("mine", "shared"):
        layouts.write(planned(tmp_path / name), None)
    (tmp_path / "shared" / "letter.txt").write_text("dear")
    for name in ("mine", "shared"):
        layout = layouts.read(tmp_path / name)
        assert layout is not None
        layouts.remove(layout)
    assert not (tmp_path / "mine").exists()
    assert [path.name for path in (tmp_path / "shared").iterdir()] == ["letter.txt"]


@pytest.fixture
def taken_port() -> Iterator[int]:
    with socket.socket() as other:
        other.bind(("127.0.0.1", 0))
        other.listen()
        yield int(other.getsockname()[1])


def test_a_port_that_is_taken_is_named(taken_port: int) -> None:
    with pytest.raises(UserMistake, match=f"port {taken_port} .*--port"):
        check_free(taken_port)
    with pytest.raises(UserMistake, match="does not exist"):
        check_free(70_000)


def test_chosen_ports_are_free_and_different(taken_port: int) -> None:
    ports = choose_ports(20)
    assert len(set(ports)) == 20
    assert taken_port not in ports


def test_a_start_that_is_refused_leaves_nothing(
    tmp_path: Path, taken_port: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HEADGATE_HOME", str(tmp_path / "home"))
    with pytest.raises(UserMistake, match=str(taken_port)):
        LocalBroker(folder=tmp_path / "broker", ports=[taken_port]).up()
    assert not (tmp_path / "broker").exists()
    assert not list((tmp_path / "home").rglob("*.json"))


def test_a_folder_with_other_things_in_it_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HEADGATE_HOME", str(tmp_path / "home"))
    (tmp_path / "letter.txt").write_text("dear")
    with pytest.raises(UserMistake, match="other things"):
        LocalBroker(folder=tmp_path).up()
    assert (tmp_path / "letter.txt").exists()


def test_a_kept_folder_is_not_used_for_another_size_or_port(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HEADGATE_HOME", str(tmp_path / "home"))
    layouts.write(planned(tmp_path / "broker"), None)
    with pytest.raises(UserMistake, match="kept from 1 brokers"):
        LocalBroker(brokers=3, folder=tmp_path / "broker").up()
    with pytest.raises(UserMistake, match="has port"):
        LocalBroker(folder=tmp_path / "broker", ports=[1024]).up()
    assert layouts.read(tmp_path / "broker") is not None


def test_java_that_is_missing_is_said(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HEADGATE_HOME", str(tmp_path / "home"))
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.delenv("JAVA_HOME", raising=False)
    with pytest.raises(UserMistake, match="Kafka needs Java 17"):
        LocalBroker(folder=tmp_path / "broker").up()
    assert not (tmp_path / "broker").exists()


@pytest.mark.parametrize(("brokers", "ports"), [(2, None), (0, None), (3, [1, 2]), (3, [1, 2, 2])])
def test_an_impossible_set_is_refused(brokers: int, ports: list[int] | None) -> None:
    with pytest.raises(UserMistake, match="brokers"):
        LocalBroker(brokers=brokers, ports=ports)


def test_an_id_of_a_cluster_is_never_taken_for_an_option(tmp_path: Path) -> None:
    ids = {layouts.plan(folder=tmp_path, ports=(9092,), secured=False, made_folder=True).cluster_id for _ in range(400)}
    assert len(ids) == 400
    assert not any(each.startswith("-") for each in ids)
