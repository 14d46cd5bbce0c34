"""The server answers everything in one form and lets go of its port."""

from __future__ import annotations

import http.client
import json
import socket
import threading
from collections.abc import Iterator

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from link_parts import FakeAgent, FakeControls

from headgate import codec
from headgate.errors import UserMistake
from headgate.link import AgentServer, ControlServer
from headgate.link.server import MAX_BODY_BYTES, JsonServer


@pytest.fixture(scope="module")
def server() -> Iterator[AgentServer]:
    with AgentServer(FakeAgent(), app="orders", token="t") as server:
        yield server


@pytest.fixture(scope="module")
def control_server() -> Iterator[ControlServer]:
    with ControlServer(FakeControls(), app="orders", token="t") as server:
        yield server


def ask(
    server: JsonServer, path: str, body: bytes = b"", *, method: str = "POST", **headers: str
) -> tuple[int, dict[str, object]]:
    host, _, port = server.address.rpartition(":")
    connection = http.client.HTTPConnection(host, int(port), timeout=10)
    try:
        connection.request(method, path, body, {"Authorization": "Bearer t"} | headers)
        response = connection.getresponse()
        text = response.read()
        assert response.getheader("Content-Type") == "application/json"
        return response.status, json.loads(text) or {}
    finally:
        connection.close()


def converse(server: JsonServer, raw: bytes) -> bytes:
    host, _, port = server.address.rpartition(":")
    with socket.create_connection((host, int(port)), timeout=10) as connection:
        connection.sendall(raw)
        connection.shutdown(socket.SHUT_WR)
        answer = b""
        try:
            while more := connection.recv(65536):
                answer += more
        except ConnectionResetError:
            pass  # it hung up on bytes that it did not want
        return answer


def test_an_unknown_call_is_named(server: AgentServer) -> None:
    status, told = ask(server, "/collects")
    assert status == 404
    assert told == {"error": "bad-request", "message": "there is no call 'collects'"}


@pytest.mark.parametrize("shown", ["", "t", "Bearer", "Bearer T", "Basic t", "Bearer t t", "Bearer \xfc"])
def test_nothing_is_told_without_the_token(server: AgentServer, shown: str) -> None:
    status, told = ask(server, "/describe", Authorization=shown)
    assert status == 401
    assert told["error"] == "refused"


@pytest.mark.parametrize("method", ["GET", "PUT", "DELETE", "PATCH"])
def test_other_methods_are_refused_in_the_same_form(server: AgentServer, method: str) -> None:
    status, told = ask(server, "/describe", method=method)
    assert status == 501
    assert told["error"] == "bad-request"


@pytest.mark.parametrize("length", ["-1", "many", "1.5", "٣"])
def test_a_request_must_tell_its_length(server: AgentServer, length: str) -> None:
    head = f"POST /describe HTTP/1.1\r\nAuthorization: Bearer t\r\nContent-Length: {length}\r\n\r\n"
    answer = converse(server, head.encode())
    assert answer.startswith(b"HTTP/1.1 411 ")
    assert b'"error": "bad-request"' in answer


@pytest.mark.parametrize("length", [MAX_BODY_BYTES + 1, 10**30])
def test_a_request_that_is_too_large_is_not_read(server: AgentServer, length: int) -> None:
    head = f"POST /apply HTTP/1.1\r\nAuthorization: Bearer t\r\nContent-Length: {length}\r\n\r\n"
    assert converse(server, head.encode()).startswith(b"HTTP/1.1 413 ")


def test_a_connection_serves_several_calls(server: AgentServer) -> None:
    call = b"POST /describe HTTP/1.1\r\nAuthorization: Bearer t\r\nContent-Length: 0\r\n\r\n"
    assert converse(server, call * 3).count(b"HTTP/1.1 200 OK") == 3


def test_an_order_that_is_none_is_explained(server: AgentServer) -> None:
    status, told = ask(server, "/apply", b'{"allocation": {"executors": -1}, "epoch": 1, "request_id": "a"}')
    assert status == 422
    assert told["error"] == "mistake"
    assert "-1 executors" in str(told["message"])


json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(),
    lambda inner: st.lists(inner) | st.dictionaries(st.text() | st.sampled_from(["executors", "epoch"]), inner),
    max_leaves=10,
)
bodies = st.binary(max_size=300) | json_values.map(lambda value: json.dumps(value).encode())


@given(path=st.sampled_from(["/apply", "/pin", "/collect", "/nothing"]), body=bodies)
@settings(max_examples=150)
def test_no_body_brings_the_server_out_of_its_form(
    server: AgentServer, control_server: ControlServer, path: str, body: bytes
) -> None:
    status, told = ask(control_server if path == "/pin" else server, path, body)
    assert status in (200, 404, 422)
    if status != 200:
        assert set(told) == {"error", "message"}
        assert "Traceback" not in str(told["message"])
        assert "unexpectedly" not in str(told["message"])


def test_a_body_nested_beyond_reason_is_refused(control_server: ControlServer) -> None:
    status, told = ask(control_server, "/pin", b"[" * 100_000)
    assert status == 422
    assert told["error"] == "mistake"


@given(
    raw=st.binary(min_size=1, max_size=200) | st.binary(max_size=100).map(lambda rest: b"POST " + rest + b"\r\n\r\n")
)
@settings(max_examples=100)
def test_no_bytes_at_all_bring_a_trace(server: AgentServer, raw: bytes) -> None:
    answer = converse(server, raw)
    assert b"Traceback" not in answer
    assert b" 500 " not in answer


def test_nothing_is_written_to_the_terminal(server: AgentServer, capfd: pytest.CaptureFixture[str]) -> None:
    ask(server, "/describe")
    ask(server, "/nothing")
    converse(server, b"\x00\x01garbage\r\n\r\n")
    converse(server, b"POST /apply HTTP/1.1\r\nAuthorization: Bearer t\r\nContent-Length: 50\r\n\r\n{")
    assert capfd.readouterr() == ("", "")


def test_a_port_in_use_is_named_with_a_remedy(server: AgentServer) -> None:
    port = int(server.address.rpartition(":")[2])
    with pytest.raises(UserMistake, match=rf"port {port} for the agent of 'clicks' is in use; give another"):
        AgentServer(FakeAgent(), app="clicks", port=port)


@pytest.mark.parametrize("port", [-1, 65536])
def test_a_port_that_does_not_exist_is_refused(port: int) -> None:
    with pytest.raises(UserMistake, match="does not exist; give one from 1 to 65535"):
        AgentServer(FakeAgent(), app="orders", port=port)


@pytest.mark.parametrize("host", ["192.0.2.1", "a..b"])
def test_an_address_of_another_machine_is_refused(host: str) -> None:
    with pytest.raises(UserMistake, match="give an address of this machine"):
        AgentServer(FakeAgent(), app="orders", host=host)


def test_a_reserved_port_is_told_from_a_taken_one(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_: object) -> None:
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr(socket.socket, "bind", refuse)
    with pytest.raises(UserMistake, match=r"port 80 .*reserved for the administrator"):
        AgentServer(FakeAgent(), app="orders", port=80)


def test_the_loopback_address_of_the_new_protocol_can_be_chosen() -> None:
    try:
        socket.create_server(("::1", 0), family=socket.AF_INET6).close()
    except OSError:
        with pytest.raises(UserMistake):
            AgentServer(FakeAgent(), app="orders", host="::1")
        return
    with AgentServer(FakeAgent(), app="orders", host="::1") as server:
        assert server.address.startswith("[::1]:")


def test_a_stop_frees_the_port_and_ends_the_threads_though_a_client_is_connected() -> None:
    before = set(threading.enumerate())
    server = AgentServer(FakeAgent(), app="orders", token="t").start()
    port = int(server.address.rpartition(":")[2])
    with socket.create_connection(("127.0.0.1", port)) as idle:
        ask(server, "/describe")
        server.stop()
        server.stop()
        assert idle.recv(1) == b""
        assert set(threading.enumerate()) <= before
        AgentServer(FakeAgent(), app="orders", port=port).stop()


def test_a_server_that_was_never_started_frees_its_port() -> None:
    server = AgentServer(FakeAgent(), app="orders")
    port = int(server.address.rpartition(":")[2])
    server.stop()
    AgentServer(FakeAgent(), app="orders", port=port).stop()


def test_every_server_makes_a_token_of_its_own() -> None:
    first, second = (ControlServer(FakeControls(), app="orders") for _ in range(2))
    first.stop()
    second.stop()
    assert first.token != second.token
    assert len(first.token) > 30
    assert codec.to_json(first.token).decode() == f'"{first.token}"'
