"""Executors: requested, starting, active, leaving, gone; and what may go wrong with them."""

from __future__ import annotations

import pytest
from simulated_runs import exact, start

from headgate.core.allocation import Allocation
from headgate.core.sample import EventKind, ExecutorState
from headgate.errors import UserMistake


def test_an_executor_passes_through_all_its_states() -> None:
    run = start(exact(), rate=100, executors=1)
    run.go(10)
    run.order(2)
    sample = run.go(12)
    assert [executor.state for executor in sample.executors] == [ExecutorState.ACTIVE]
    assert sample.pending_executors == 1
    assert sample.target_executors == 2
    sample = run.go(20)
    assert [executor.state for executor in sample.executors] == [ExecutorState.ACTIVE] * 2
    assert sample.executors[1].age_s == 0
    run.order(1)
    sample = run.go(22)
    assert [executor.state for executor in sample.executors] == [ExecutorState.ACTIVE, ExecutorState.LEAVING]
    sample = run.go(30)
    assert len(sample.executors) == 1
    kinds = [event.kind for sample in run.samples for event in sample.events]
    assert kinds == [EventKind.REQUESTED, EventKind.JOINED, EventKind.WARM, EventKind.LEAVING, EventKind.REMOVED]


def test_an_executor_that_has_not_started_is_called_off_first() -> None:
    run = start(exact(), rate=100, executors=2)
    run.go(10)
    run.order(4)
    run.go(12)
    run.order(2)
    sample = run.go(13)
    assert [executor.id for executor in sample.executors] == ["0", "1"]
    assert run.events(EventKind.LEAVING) == []


def test_a_cluster_without_room_says_so() -> None:
    run = start(exact(size_limit=3), rate=100, executors=2)
    run.go(10)
    run.order(5)
    sample = run.go(60)
    (short,) = run.events(EventKind.SHORT)
    assert short.figures == {"asked": 5.0, "available": 3.0}
    assert len(sample.executors) == 3
    assert sample.target_executors == 5
    assert sample.pending_executors == 2


def test_executors_that_fail_are_replaced_and_no_record_is_lost() -> None:
    run = start(exact(failure_interval_s=120.0, noise=0.1), rate=1000, executors=4, duration_s=3000)
    run.go(3000)
    sample = run.go(3100)
    lost = run.events(EventKind.LOST)
    # 4 executors x 3000 s / (120 s + 10 s of start-up): about 92, give or take three deviations.
    assert 60 < len(lost) < 125
    assert sample.operators[0].done_records == pytest.approx(3000 * 1000)
    assert len(sample.executors) == 4


def test_start_up_times_vary_as_told() -> None:
    run = start(exact(startup_s=20.0, startup_sd_s=4.0), rate=10, executors=1, most=500)
    run.go(1)
    run.order(201)
    run.go(100)
    times = [event.figures["join_s"] for event in run.events(EventKind.JOINED)]
    mean = sum(times) / len(times)
    sd = (sum((time - mean) ** 2 for time in times) / len(times)) ** 0.5
    assert len(times) == 200
    assert mean == pytest.approx(20, abs=1)
    assert sd == pytest.approx(4, abs=0.8)


NODES = ({"name": "a", "latency_s": {"b": 0.05, "c": 0.2}}, {"name": "b"}, {"name": "c", "latency_s": {"b": 0.1}})


def test_an_allocation_may_say_which_nodes_run() -> None:
    run = start(exact(nodes=NODES), rate=100, executors=1)
    run.go(10)
    run.order(Allocation(executors=2, nodes=("b", "c")))
    sample = run.go(40)
    assert sorted(executor.node for executor in sample.executors) == ["b", "c"]
    assert {node.name: node.free for node in sample.nodes} == {"a": True, "b": False, "c": False}
    assert sample.nodes[1].latency_s == {"a": 0.05, "c": 0.1}
    assert run.app.describe().size_limit == 3


def test_an_order_without_nodes_leaves_them_as_they_are() -> None:
    run = start(exact(nodes=NODES), rate=100, executors=1)
    run.order(Allocation(executors=1, nodes=("c",)))
    run.go(40)
    run.order(1)
    sample = run.go(80)
    assert [executor.node for executor in sample.executors] == ["c"]


def test_unknown_nodes_and_executors_are_named() -> None:
    run = start(exact(nodes=NODES), rate=100, executors=1)
    with pytest.raises(UserMistake, match="node 'd'"):
        run.order(Allocation(executors=1, nodes=("d",)))
    with pytest.raises(UserMistake, match="executor '77'"):
        run.app.kill_executor("77")


def test_two_cores_are_two_slots() -> None:
    run = start(exact(cores=2), rate=1200, executors=1)
    sample = run.go(50)
    assert run.batches()[5].run_s == pytest.approx(0.6)
    assert sample.executors[0].cores == 2
    assert run.app.describe().cores_per_executor == 2
