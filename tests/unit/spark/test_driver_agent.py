"""The agent's promises, on a driver made by hand."""

from __future__ import annotations

import threading
from dataclasses import replace

import pytest
from fake_driver import FakeGateway, FakeQuery, HandClock, progress, records

from headgate.core.allocation import Allocation, Bounds
from headgate.core.graph import Graph, OperatorNode
from headgate.core.knowledge import AppDescription, Engine
from headgate.core.ports import Agent, Order
from headgate.core.sample import EventKind
from headgate.errors import NotReady, Permanent, StaleEpoch, Temporary
from headgate.spark.agent import DriverAgent
from headgate.spark.facts import QueryState

DESCRIPTION = AppDescription(
    app="orders",
    engine=Engine.MICRO_BATCH,
    bounds=Bounds(1, 4),
    graph=Graph.of(OperatorNode(name="orders")),
    cluster="standalone",
)


class Rig:
    def __init__(self, *, target: int | None = None, executors: int = 2, state_waits: str | None = None) -> None:
        self.clock = HandClock()
        self.gateway = FakeGateway()
        for index in range(executors):
            self.gateway.add(str(index), since_s=900.0 + index, tasks_done=1)
        self.query = FakeQuery(events=[progress(0, at_s=990, source=records(0, 100), rows=100)])
        self.agent = DriverAgent(
            self.gateway,
            [self.query],
            description=DESCRIPTION,
            target=target,
            now_s=self.clock,
            reconcile_every_s=0.01,
            state_waits=state_waits,
        )

    def step(self, seconds: float = 2.0) -> None:
        self.clock.time_s += seconds
        self.agent.reconcile()


def order(executors: int, *, epoch: int = 1, request_id: str = "a") -> Order:
    return Order(allocation=Allocation(executors=executors), epoch=epoch, request_id=request_id)


def test_it_describes_the_app_with_the_size_that_is_there() -> None:
    agent: Agent = Rig().agent
    assert agent.describe() == replace(DESCRIPTION, executors=2)


def test_it_describes_the_app_with_the_size_that_was_ordered() -> None:
    rig = Rig()
    rig.agent.apply(order(4))
    assert rig.agent.describe().executors == 4
    assert Rig(executors=0).agent.describe().executors is None


def test_without_an_order_it_only_watches_and_the_target_is_what_is_there() -> None:
    rig = Rig()
    rig.step()
    sample = rig.agent.collect()
    assert rig.gateway.calls == []
    assert sample.target_executors == 2
    assert sample.pending_executors == 0


def test_a_target_from_a_journal_is_restored_at_once() -> None:
    rig = Rig(target=4)
    assert rig.gateway.calls == [("total", 4)]
    sample = rig.agent.collect()
    assert sample.target_executors == 4
    assert sample.pending_executors == 2
    assert [event.kind for event in sample.events] == [EventKind.REQUESTED]


def test_that_state_stays_where_it_is_is_said_once_and_only_of_queries_with_state(
    caplog: pytest.LogCaptureFixture,
) -> None:
    rig = Rig(state_waits="3s")
    rig.agent.collect()
    assert not caplog.records
    event = progress(1, at_s=992, source=records(100, 200), rows=100)
    rig.query.events.append({**event, "stateOperators": [{"operatorName": "stateStoreSave"}]})
    for _ in range(2):
        rig.clock.time_s += 1
        rig.agent.collect()
    (said,) = [record.getMessage() for record in caplog.records]
    assert "'orders' has state" in said
    assert "spark.locality.wait=0s (it is 3s)" in said


def test_an_order_becomes_the_target_within_the_bounds() -> None:
    rig = Rig()
    rig.agent.apply(order(9))
    assert rig.agent.target == 4
    rig.agent.apply(order(0, request_id="b"))
    assert rig.agent.target == 1
    for _ in range(5):
        rig.step()
    assert [call for call in rig.gateway.calls if call[0] == "decommission"] == [("decommission", "1")]


def test_a_stream_is_never_left_without_any_executor() -> None:
    rig = Rig()
    description = replace(DESCRIPTION, bounds=Bounds(0, 4))
    agent = DriverAgent(rig.gateway, [rig.query], description=description, now_s=rig.clock)
    agent.apply(order(0))
    assert agent.target == 1


def test_an_order_of_a_replaced_controller_is_refused() -> None:
    rig = Rig()
    rig.agent.apply(order(3, epoch=7))
    with pytest.raises(StaleEpoch):
        rig.agent.apply(order(1, epoch=6, request_id="b"))
    assert rig.agent.target == 3
    assert rig.agent.describe().newest_epoch == 7


def test_the_same_order_is_obeyed_once() -> None:
    rig = Rig()
    rig.agent.apply(order(3, request_id="a"))
    rig.agent.apply(order(2, request_id="b"))
    rig.agent.apply(order(3, request_id="a"))
    assert rig.agent.target == 2


def test_an_executor_that_comes_and_is_lost_between_two_steps_is_recorded() -> None:
    rig = Rig()
    rig.gateway.add("7", since_s=1000.5)
    rig.agent.collect()
    rig.gateway.lose("7")
    rig.step()
    assert [(event.kind, event.executor) for event in rig.agent.collect().events] == [(EventKind.LOST, "7")]


def test_events_are_told_once_and_survive_a_round_that_is_not_ready() -> None:
    rig = Rig()
    rig.agent.apply(order(3))
    rig.step()
    rig.gateway.fault = Temporary("no answer")
    with pytest.raises(Temporary):
        rig.agent.collect()
    rig.gateway.fault = None
    assert [event.kind for event in rig.agent.collect().events] == [EventKind.REQUESTED]
    assert rig.agent.collect().events == ()


def test_time_moves_on_even_if_the_clock_stands_still() -> None:
    rig = Rig()
    assert rig.agent.collect().time_s < rig.agent.collect().time_s


def test_a_query_that_has_done_nothing_yet_is_not_ready() -> None:
    rig = Rig()
    agent = DriverAgent(rig.gateway, [FakeQuery(name="fresh")], description=DESCRIPTION, now_s=rig.clock)
    with pytest.raises(NotReady):
        agent.collect()


def test_it_ends_with_its_query_and_knows_the_failure() -> None:
    rig = Rig()
    assert not rig.agent.ended
    rig.query.current = QueryState(active=False, failure="Task failed")
    assert rig.agent.ended
    assert rig.agent.failure == "query 'orders' failed: Task failed"
    assert [event.kind for event in rig.agent.collect().events] == [EventKind.QUERY_FAILED]


def test_a_query_that_its_owner_stopped_is_no_failure() -> None:
    rig = Rig()
    rig.query.current = QueryState(active=False)
    assert rig.agent.ended
    assert rig.agent.failure is None


def test_a_stopped_session_is_final() -> None:
    rig = Rig()
    rig.gateway.fault = Permanent("the Spark session has been stopped")
    with pytest.raises(Permanent):
        rig.agent.reconcile()
    rig.gateway.fault = None
    with pytest.raises(Permanent):
        rig.agent.collect()


def test_its_thread_carries_out_orders_survives_silence_and_ends_on_stop() -> None:
    rig = Rig()
    requested = threading.Event()
    silences = iter([Temporary("no answer"), RuntimeError("a fault of ours")])
    total = rig.gateway.request_total

    def request_total(executors: int) -> bool:
        fault = next(silences, None)
        if fault is not None:
            raise fault
        requested.set()
        return total(executors)

    rig.gateway.request_total = request_total  # type: ignore[method-assign]
    with rig.agent:
        rig.agent.apply(order(3))
        assert requested.wait(10)
    calls = list(rig.gateway.calls)
    assert calls == [("total", 3)]
    rig.agent.apply(order(4, request_id="b"))
    assert rig.gateway.calls == calls
