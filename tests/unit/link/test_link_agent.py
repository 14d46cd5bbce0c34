"""A remote agent behaves as the agent behind it."""

from __future__ import annotations

import socket
import threading
from collections.abc import Iterator
from dataclasses import replace

import pytest
from link_parts import DESCRIPTION, SAMPLE, FakeAgent, order

from headgate.core.ports import Agent
from headgate.core.sample import AgentEvent, Batch, EventKind, OperatorSample
from headgate.errors import HeadgateError, NotReady, Permanent, StaleEpoch, Temporary, UserMistake
from headgate.link import AgentServer, RemoteAgent
from headgate.link import agent as agent_module
from headgate.link import server as server_module
from headgate.link.delivery import joined


@pytest.fixture
def agent() -> FakeAgent:
    return FakeAgent()


@pytest.fixture
def server(agent: FakeAgent) -> Iterator[AgentServer]:
    with AgentServer(agent, app="orders") as server:
        yield server


@pytest.fixture
def remote(server: AgentServer) -> Iterator[RemoteAgent]:
    remote = RemoteAgent(server.address, server.token)
    yield remote
    remote.close()


def lose(_: bytes) -> bytes:
    raise Temporary("the answer was lost")


def test_describes_collects_and_applies_across_the_wire(agent: FakeAgent, remote: RemoteAgent) -> None:
    as_port: Agent = remote
    assert as_port.describe() == DESCRIPTION
    assert as_port.collect() == SAMPLE
    as_port.apply(order())
    assert agent.orders == [order()]


@pytest.mark.parametrize(
    "fault",
    [
        NotReady("no batch has ended yet"),
        Temporary("the status store did not answer"),
        Permanent("the query has ended"),
        UserMistake("'ü' is not possible; give a number"),
    ],
)
def test_an_error_keeps_its_type_and_its_sentence(agent: FakeAgent, remote: RemoteAgent, fault: HeadgateError) -> None:
    agent.fault = fault
    with pytest.raises(HeadgateError) as told:
        remote.collect()
    assert type(told.value) is type(fault)
    assert str(told.value) == str(fault)


def test_an_error_of_no_kind_may_be_tried_again(agent: FakeAgent, remote: RemoteAgent) -> None:
    agent.fault = HeadgateError("something")
    with pytest.raises(Temporary, match="something"):
        remote.collect()


def test_a_stale_epoch_keeps_its_figures(agent: FakeAgent, remote: RemoteAgent) -> None:
    agent.fault = StaleEpoch(offered=4, newest=9)
    with pytest.raises(StaleEpoch) as told:
        remote.apply(order())
    assert (told.value.offered, told.value.newest) == (4, 9)


def test_a_fault_that_nobody_foresaw_is_temporary_and_shows_no_trace(agent: FakeAgent, remote: RemoteAgent) -> None:
    agent.fault = ZeroDivisionError("division by zero")
    with pytest.raises(Temporary, match=r"collect failed unexpectedly \(ZeroDivisionError: division by zero\)"):
        remote.collect()
    agent.fault = None
    assert remote.collect() == SAMPLE


def test_a_wrong_token_is_refused(agent: FakeAgent, server: AgentServer) -> None:
    for token in ("wrong", "", server.token + "x"):
        stranger = RemoteAgent(server.address, token)
        with pytest.raises(UserMistake, match="refused the token"):
            stranger.apply(order())
        stranger.close()
    assert agent.orders == []


@pytest.mark.parametrize("token", ["two\nlines", "übermut"])
def test_a_token_that_cannot_be_sent_is_refused_at_once(token: str) -> None:
    with pytest.raises(UserMistake, match="token"):
        RemoteAgent("127.0.0.1:4040", token)
    with pytest.raises(UserMistake, match="token"):
        AgentServer(FakeAgent(), app="orders", token=token)


def test_a_given_token_is_used() -> None:
    with AgentServer(FakeAgent(), app="orders", token="given") as server:
        remote = RemoteAgent(f"http://{server.address}/", "given")
        assert remote.describe() == DESCRIPTION
        remote.close()


def test_two_clients_are_served_at_the_same_time(server: AgentServer) -> None:
    first, second = (RemoteAgent(server.address, server.token) for _ in range(2))
    assert [client.describe() for client in (first, second, first, second)] == [DESCRIPTION] * 4
    first.close()
    second.close()


def test_calls_reach_the_agent_one_at_a_time(agent: FakeAgent, server: AgentServer) -> None:
    inside = 0
    most = 0

    def count() -> None:
        nonlocal inside, most
        inside += 1
        most = max(most, inside)
        threading.Event().wait(0.001)
        inside -= 1

    agent.before_collecting = count
    remotes = [RemoteAgent(server.address, server.token) for _ in range(2)]
    threads = [threading.Thread(target=remote.collect) for remote in remotes * 5]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    for remote in remotes:
        remote.close()
    assert most == 1


def test_a_call_does_not_wait_for_ever_for_the_one_before_it(
    agent: FakeAgent, server: AgentServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(agent_module, "TURN_S", 0.0)
    entered, leave = threading.Event(), threading.Event()

    def hang() -> None:
        entered.set()
        leave.wait(10)

    agent.before_collecting = hang
    slow, quick = (RemoteAgent(server.address, server.token) for _ in range(2))
    thread = threading.Thread(target=slow.collect)
    thread.start()
    entered.wait(10)
    with pytest.raises(Temporary, match="still busy with an earlier call"):
        quick.describe()
    leave.set()
    thread.join()
    slow.close()
    quick.close()


def test_an_agent_that_does_not_answer_in_time_is_a_temporary_fault(agent: FakeAgent, server: AgentServer) -> None:
    leave = threading.Event()
    agent.before_collecting = lambda: leave.wait(10)
    remote = RemoteAgent(server.address, server.token, timeout_s=0.05)
    with pytest.raises(Temporary, match=r"did not answer in 0\.05 s"):
        remote.collect()
    leave.set()
    patient = RemoteAgent(server.address, server.token)
    assert patient.collect() == SAMPLE
    patient.close()
    remote.close()


def test_what_was_collected_in_vain_comes_with_the_next_sample(server: AgentServer) -> None:
    remote = RemoteAgent(server.address, server.token)
    remote.collect()
    # The answer is thrown away where the network would lose it.
    call = remote._peer.call
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(remote._peer, "call", lambda *arguments: lose(call(*arguments)))
        with pytest.raises(Temporary, match="lost"):
            remote.collect()
    assert remote.collect() == joined(SAMPLE, SAMPLE)
    assert remote.collect() == SAMPLE
    remote.close()


def test_a_new_collector_is_not_told_what_its_predecessor_got(server: AgentServer) -> None:
    first, second = (RemoteAgent(server.address, server.token) for _ in range(2))
    assert first.collect() == SAMPLE
    assert second.collect() == SAMPLE
    first.close()
    second.close()


def test_joined_samples_tell_all_that_happened_and_how_it_is_now() -> None:
    batch, event = Batch(2, 12.0, 13.0, 50.0, 60.0), AgentEvent(time_s=13.0, kind=EventKind.LOST, message="gone")
    parse = replace(SAMPLE.operators[0], batches=(batch,), done_records=60.0)
    newer = replace(SAMPLE, time_s=13.5, operators=(parse, OperatorSample(name="new")), executors=(), events=(event,))
    both = joined(replace(SAMPLE, events=(event,)), newer)
    assert both.time_s == 13.5
    assert both.executors == ()
    assert both.events == (event, event)
    assert both.operators[0].batches == (*SAMPLE.operators[0].batches, batch)
    assert both.operators[0].arrivals == SAMPLE.operators[0].arrivals * 2
    assert both.operators[0].done_records == 60.0
    assert both.operators[1] == OperatorSample(name="new")


def test_nobody_at_the_address_is_a_temporary_fault() -> None:
    with socket.socket() as held:
        held.bind(("127.0.0.1", 0))
        port = held.getsockname()[1]
        remote = RemoteAgent(f"127.0.0.1:{port}", "token")
        with pytest.raises(Temporary, match=r"the agent at 127\.0\.0\.1:\d+ cannot be reached \(Connection refused\)"):
            remote.collect()


def test_a_name_that_cannot_be_a_host_is_a_temporary_fault() -> None:
    with pytest.raises(Temporary, match="cannot be reached"):
        RemoteAgent("a..b:4040", "token").describe()


@pytest.mark.parametrize("address", ["", "localhost", "127.0.0.1:", ":80", "h:0", "h:70000", "https://h:1", "a b:1"])
def test_an_address_that_is_none_is_refused(address: str) -> None:
    with pytest.raises(UserMistake, match="write HOST:PORT"):
        RemoteAgent(address, "token")


def test_a_client_finds_its_agent_again_after_the_agent_was_restarted(agent: FakeAgent) -> None:
    with AgentServer(agent, app="orders", token="same") as server:
        port = int(server.address.rpartition(":")[2])
        remote = RemoteAgent(server.address, "same")
        assert remote.describe() == DESCRIPTION
    with pytest.raises(Temporary):
        remote.describe()
    with AgentServer(agent, app="orders", token="same", port=port):
        assert remote.describe() == DESCRIPTION
    with AgentServer(agent, app="orders", token="same", port=port):
        assert remote.describe() == DESCRIPTION
    remote.close()


def test_a_stop_does_not_wait_for_a_call_that_hangs(agent: FakeAgent, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(server_module, "STOP_PATIENCE_S", 0.01)
    entered, leave = threading.Event(), threading.Event()

    def hang() -> None:
        entered.set()
        leave.wait(10)

    agent.before_collecting = hang
    faults: list[Exception] = []

    def collect(remote: RemoteAgent) -> None:
        try:
            remote.collect()
        except Temporary as error:
            faults.append(error)

    with AgentServer(agent, app="orders") as server:
        remote = RemoteAgent(server.address, server.token)
        thread = threading.Thread(target=collect, args=(remote,))
        thread.start()
        entered.wait(10)
    thread.join()
    leave.set()
    remote.close()
    assert len(faults) == 1


@pytest.mark.parametrize(
    ("answer", "words"),
    [
        (b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\n{}", "same version of Headgate"),
        (b"HTTP/1.1 200 OK\r\nContent-Length: 3\r\n\r\nhi!", "same version of Headgate"),
        (b"HTTP/1.1 404 Nope\r\nContent-Length: 9\r\n\r\n<html>404", "not Headgate's; check the address"),
        (b"HTTP/1.1 409 X\r\nContent-Length: 36\r\n\r\n" + b'{"error":"stale-epoch","message":""}', "not Headgate's"),
        (b"HTTP/1.1 400 X\r\nContent-Length: 31\r\n\r\n" + b'{"error":"other","message":"x"}', "did not understand"),
        (b"SSH-2.0-OpenSSH\r\n", "cannot be reached"),
        (b"HTTP/1.1 200 OK\r\nContent-Length: 99\r\n\r\n{}", "cannot be reached"),
        (b"", "cannot be reached"),
    ],
)
def test_a_stranger_at_the_address_is_told_from_an_agent(answer: bytes, words: str) -> None:
    with socket.create_server(("127.0.0.1", 0)) as listening:

        def serve() -> None:
            connection, _ = listening.accept()
            with connection:
                connection.recv(65536)
                connection.sendall(answer)

        thread = threading.Thread(target=serve)
        thread.start()
        remote = RemoteAgent(f"127.0.0.1:{listening.getsockname()[1]}", "token")
        with pytest.raises((Permanent, Temporary), match=words):
            remote.describe()
        thread.join()
        remote.close()
