"""Several operators: flow with selectivities, shared slots, and agreement with the single query."""

from __future__ import annotations

import numpy as np
import pytest
from simulated_runs import exact, start

from headgate.core.allocation import Allocation, Bounds, Dimension
from headgate.core.sample import AgentEvent, EventKind
from headgate.errors import UserMistake
from headgate.sim import SCENARIOS, Scenario
from headgate.sim.cluster import Cluster
from headgate.sim.engine import Engine
from headgate.sim.microbatch import SingleQuery
from headgate.sim.queries import QueryGraph

DIAMOND = (
    {"name": "sink", "upstream": ("left", "right"), "capacity": 4000.0},
    {"name": "left", "upstream": ("source",), "capacity": 4000.0, "selectivity": 0.5},
    {"name": "right", "upstream": ("source",), "capacity": 4000.0, "selectivity": 3.0, "share": 0.25},
    {"name": "source", "capacity": 4000.0, "selectivity": 2.0},
)


@pytest.mark.parametrize("engine", ["spark", "continuous"])
def test_records_flow_through_a_graph_by_its_selectivities(engine: str) -> None:
    run = start(exact(operators=DIAMOND, engine=engine), rate=100, executors=4, duration_s=200)
    run.go(220)
    assert run.app.drained
    done = {operator.name: operator.done_records for operator in run.samples[-1].operators}
    assert done["source"] == pytest.approx(20_000)
    assert done["left"] == pytest.approx(40_000)
    assert done["right"] == pytest.approx(10_000)
    assert done["sink"] == pytest.approx(40_000 * 0.5 + 10_000 * 3)
    output = {operator.name: operator.output_records for operator in run.samples[-1].operators}
    assert output["left"] == pytest.approx(20_000)


def test_operators_are_reported_in_the_order_of_the_flow() -> None:
    run = start(exact(operators=DIAMOND), rate=100)
    names = [operator.name for operator in run.go(10).operators]
    assert names == ["source", "left", "right", "sink"]
    assert run.app.describe().graph.sinks() == ("sink",)


def test_a_record_reaches_the_second_query_when_the_first_ends_its_batch() -> None:
    operators = ({"name": "a", "capacity": 1000.0}, {"name": "b", "upstream": ("a",), "capacity": 1000.0})
    run = start(exact(operators=operators), rate=lambda t: 500.0 * (t < 1), executors=1)
    run.go(10)
    (first,), (second,) = run.batches(0), run.batches(1)
    assert (first.started_s, first.finished_s) == (1.0, pytest.approx(1.6))
    assert (second.started_s, second.finished_s) == (2.0, pytest.approx(2.6))
    curve = [point for sample in run.samples for point in sample.operators[1].arrivals]
    assert [(point.time_s, point.records) for point in curve[:2]] == [
        (pytest.approx(1.6), 0),
        (pytest.approx(1.6), 500),
    ]


def test_two_queries_on_the_same_slots_take_twice_as_long() -> None:
    operators = ({"name": "a", "capacity": 1000.0}, {"name": "b", "capacity": 1000.0})
    run = start(exact(operators=operators), rate=lambda t: 4000.0 * (t < 1), executors=2)
    run.go(20)
    (a,), (b,) = run.batches(0), run.batches(1)
    assert a.run_s == pytest.approx(4.0)
    assert b.run_s == pytest.approx(4.0)
    assert run.samples[-1].operators[0].busy_s == pytest.approx(4.0)


def test_a_query_with_one_task_leaves_the_other_slots_to_its_neighbours() -> None:
    operators = ({"name": "a", "capacity": 1000.0, "parallelism": 1}, {"name": "b", "capacity": 1000.0})
    run = start(exact(operators=operators), rate=lambda t: 2400.0 * (t < 1), executors=4)
    run.go(20)
    (a,), (b,) = run.batches(0), run.batches(1)
    assert a.run_s == pytest.approx(2.4)
    assert b.run_s == pytest.approx(0.6 * 4 / 3)


def test_parallelism_of_one_operator_is_changed_without_the_others() -> None:
    run = start(SCENARIOS["chain"], rate=1000, executors=4)
    run.go(30)
    run.order(Allocation(executors=4, parallelism={"enrich": 30}))
    sample = run.go(60)
    assert [operator.parallelism for operator in sample.operators] == [12, 30, 60]
    assert Dimension.PARALLELISM in run.app.describe().scales


@pytest.mark.parametrize(
    ("parallelism", "complaint"),
    [({"enrish": 3}, "enrich"), ({"count": 3}, "fixed"), ({"parse": 61}, "1 to 60"), ({"parse": 0}, "1 to 60")],
)
def test_a_parallelism_that_cannot_be_is_refused(parallelism: dict[str, int], complaint: str) -> None:
    run = start(SCENARIOS["chain"], rate=1000)
    with pytest.raises(UserMistake, match=complaint):
        run.order(Allocation(executors=2, parallelism=parallelism))


def test_executors_of_a_graph_may_die_and_nothing_is_lost() -> None:
    run = start(SCENARIOS["chain"], rate=3000, executors=2, duration_s=300)
    for moment, victim in ((30.4, "0"), (60.7, "1"), (90.2, "2")):
        run.go(moment)
        run.app.kill_executor(victim)
    run.order(1)
    run.go(200)
    run.order(5)
    run.go(600)
    assert run.app.drained
    assert run.samples[-1].operators[2].done_records == pytest.approx(300 * 3000 * 0.5)
    assert sum(executor.tasks_failed for sample in run.samples for executor in sample.executors) == 0
    assert len(run.events(EventKind.LOST)) == 3


def outcome(kind: type[SingleQuery] | type[QueryGraph], scenario: Scenario) -> list[tuple[float, ...]]:
    """Batches of the same life of a cluster on either implementation."""
    events: list[AgentEvent] = []
    cluster = Cluster(scenario, executors=2, seed=3, events=events)
    arrivals = np.concatenate([[0.0], np.cumsum(1500 + 1000 * np.sin(np.arange(300) / 20))])
    engine: Engine = kind(scenario, arrivals, cluster, seed=3, events=events)
    orders = [(40.0, 4), (90.5, 2), (150.0, 6), (220.0, 1)]
    killed = [170.3]
    moments = sorted([time for time, _ in orders] + killed + [360.0])
    for moment in moments:
        while cluster.next_event_s <= moment:
            at_s = cluster.next_event_s
            engine.advance(at_s)
            joined, lost = cluster.settle(at_s)
            engine.cluster_changed(at_s, joined=joined, lost=lost)
        engine.advance(moment)
        for time, executors in orders:
            if time == moment:
                cluster.aim(
                    Allocation(executors=executors), moment, idle_at_s=engine.idle_at_s(moment), stop_s=scenario.stop_s
                )
                engine.cluster_changed(moment, joined=(), lost=())
        if moment in killed:
            victim = cluster.active[0].id
            engine.cluster_changed(moment, joined=(), lost=(cluster.lose(victim, moment),))
    (sample,) = engine.operator_samples(360.0)
    busy = sum(executor.busy_s or 0 for executor in engine.executor_samples(360.0))
    return [
        *((b.started_s, b.finished_s, b.first_record, b.end_record, b.run_s or 0) for b in sample.batches),
        (sample.busy_s or 0, busy, sample.done_records),
    ]


@pytest.mark.parametrize("trigger_s", [0.0, 1.0, 2.5])
def test_the_fast_single_query_agrees_with_the_general_engine(trigger_s: float) -> None:
    scenario = exact(
        noise=0.1,
        slow_batch_s=2.0,
        warm_up_s=5.0,
        warm_up_speed=0.7,
        skew=0.3,
        task_overhead_s=0.01,
        trigger_s=trigger_s,
    )
    fast, general = outcome(SingleQuery, scenario), outcome(QueryGraph, scenario)
    assert len(fast) == len(general) > 50
    for one, other in zip(fast, general, strict=True):
        assert one == pytest.approx(other, rel=1e-9, abs=1e-6)


def test_bounds_and_limits_are_described() -> None:
    run = start(exact(size_limit=7), rate=10, most=9)
    description = run.app.describe()
    assert description.bounds == Bounds(1, 9)
    assert description.size_limit == 7
    assert description.seamless
