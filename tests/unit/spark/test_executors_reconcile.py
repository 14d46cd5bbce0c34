"""The actuator: one absolute target, reached step by step."""

from __future__ import annotations

import pytest
from fake_driver import FakeGateway, HandClock

from headgate.core.sample import AgentEvent, Batch, EventKind
from headgate.errors import Temporary
from headgate.spark.executors import (
    Decommission,
    Member,
    Reconciler,
    ReconcileState,
    Remove,
    RequestTotal,
    cost_of_losing,
    plan_step,
)
from headgate.spark.queries import FinishedBatch
from headgate.spark.roster import Roster


def state(target: int, *members: Member, requested: int | None = None, now_s: float = 100.0) -> ReconcileState:
    return ReconcileState(
        now_s=now_s, target=target, members=members, requested_total=requested, requested_s=now_s, drain_limit_s=60.0
    )


def member(
    name: str, *, running: int = 0, stored: int = 0, since_s: float = 0.0, left_s: float | None = None
) -> Member:
    return Member(id=name, since_s=since_s, tasks_running=running, stored_bytes=stored, leaving_since_s=left_s)


class TestPlanning:
    def test_an_app_at_its_target_is_left_alone(self) -> None:
        assert plan_step(state(2, member("0"), member("1"), requested=2)) == []

    def test_missing_executors_are_requested_as_one_total(self) -> None:
        assert plan_step(state(4, member("0"), requested=1)) == [RequestTotal(4)]

    def test_a_request_that_was_made_is_not_made_again_at_once(self) -> None:
        assert plan_step(state(4, member("0"), requested=4)) == []

    def test_a_request_that_was_not_met_is_repeated_after_a_while(self) -> None:
        waiting = ReconcileState(now_s=100, target=4, members=(member("0"),), requested_total=4, requested_s=60)
        assert plan_step(waiting) == [RequestTotal(4)]

    def test_surplus_executors_get_no_more_tasks_and_the_total_falls_first(self) -> None:
        steps = plan_step(state(1, member("0"), member("1", since_s=5), member("2", since_s=9), requested=3))
        assert steps == [RequestTotal(1), Decommission("2"), Decommission("1")]

    def test_an_executor_on_its_way_out_is_ended_when_it_runs_no_task(self) -> None:
        steps = plan_step(state(1, member("0"), member("1", left_s=95), requested=1))
        assert steps == [Remove("1")]

    def test_an_executor_on_its_way_out_may_finish_its_task(self) -> None:
        assert plan_step(state(1, member("0"), member("1", running=1, left_s=95), requested=1)) == []

    def test_an_executor_that_does_not_become_idle_is_ended_after_the_limit(self) -> None:
        steps = plan_step(state(1, member("0"), member("1", running=1, left_s=30), requested=1))
        assert steps == [Remove("1", force=True)]

    def test_executors_on_their_way_out_do_not_count_when_more_are_wanted(self) -> None:
        steps = plan_step(state(3, member("0"), member("1", running=1, left_s=95), requested=1))
        assert steps == [RequestTotal(4)]

    def test_ending_one_while_another_is_awaited_does_not_bring_a_replacement(self) -> None:
        steps = plan_step(state(3, member("0"), member("1", left_s=95), requested=4))
        assert steps == [RequestTotal(3), Remove("1")]

    def test_a_dead_executor_is_made_up_for_while_another_is_leaving(self) -> None:
        steps = plan_step(state(2, member("0"), member("2", running=1, left_s=95), requested=2))
        assert steps == [RequestTotal(3)]

    def test_the_cheapest_to_lose_runs_least_then_holds_least_then_is_youngest(self) -> None:
        old, young = member("old"), member("young", since_s=50, stored=30_000)
        cached = member("cached", since_s=60, stored=900 << 20)
        running = member("running", running=1, since_s=70)
        ordered = sorted([running, cached, old, young], key=cost_of_losing)
        assert [each.id for each in ordered] == ["young", "old", "cached", "running"]


class Rig:
    """A reconciler on a fake driver."""

    def __init__(self, *executors: str, size_limit: int | None = None) -> None:
        self.clock = HandClock()
        self.gateway = FakeGateway()
        for name in executors:
            self.gateway.add(name, since_s=900.0, tasks_done=5)
        self.roster = Roster(size_limit=size_limit, durations_s={"orders": [1.0, 1.0, 2.0], "other": [9.0]})
        self.reconciler = Reconciler(self.gateway, now_s=self.clock, roster=self.roster)
        self.reconciler.reconcile()
        self.roster.take_events()

    def step(self, seconds: float = 2.0) -> None:
        self.clock.time_s += seconds
        self.reconciler.reconcile()

    def events(self) -> list[AgentEvent]:
        return list(self.roster.take_events())


def kinds(events: list[AgentEvent]) -> list[EventKind]:
    return [event.kind for event in events]


class TestReconciling:
    def test_without_a_target_nothing_is_touched(self) -> None:
        rig = Rig("0", "1")
        rig.step()
        assert rig.gateway.calls == []
        assert rig.reconciler.present == 2

    def test_what_was_asked_and_what_came_are_both_recorded_with_the_time_to_join(self) -> None:
        rig = Rig("0")
        rig.reconciler.target = 3
        rig.step()
        assert rig.gateway.calls == [("total", 3)]
        (requested,) = rig.events()
        assert requested.kind is EventKind.REQUESTED
        assert requested.figures == {"executors": 2, "target": 3}
        rig.gateway.add("1", since_s=1009.0)
        rig.step(8.0)
        (joined,) = rig.events()
        assert (joined.kind, joined.executor) == (EventKind.JOINED, "1")
        assert joined.figures["join_s"] == pytest.approx(7.0)

    def test_a_newcomer_is_warm_with_its_first_finished_task_and_only_once(self) -> None:
        rig = Rig("0")
        rig.gateway.add("1", since_s=1001.0)
        rig.step()
        rig.events()
        rig.gateway.add("1", since_s=1001.0, tasks_done=1)
        rig.step(7.0)
        (warm,) = rig.events()
        assert (warm.kind, warm.executor) == (EventKind.WARM, "1")
        assert warm.figures["warm_s"] == pytest.approx(8.0)
        rig.step()
        assert rig.events() == []

    def test_a_removal_decommissions_waits_until_idle_and_ends(self) -> None:
        rig = Rig("0", "1")
        rig.gateway.add("1", since_s=950.0, tasks_done=5, tasks_running=1)
        rig.gateway.add("0", since_s=900.0, tasks_done=5, tasks_running=1)
        rig.reconciler.target = 1
        rig.step()
        assert rig.gateway.calls == [("total", 1), ("decommission", "1")]
        rig.step()
        assert len(rig.gateway.calls) == 2
        rig.gateway.add("1", since_s=950.0, tasks_done=6)
        rig.step()
        assert rig.gateway.calls[2:] == [("remove", "1", False)]
        rig.gateway.lose("1")
        rig.step()
        events = rig.events()
        assert kinds(events) == [EventKind.LEAVING, EventKind.REMOVED]
        assert events[1].figures["took_s"] == pytest.approx(6.0)
        assert rig.reconciler.leaving == frozenset()

    def test_an_executor_that_dies_is_lost_and_its_successor_joins(self) -> None:
        rig = Rig("0", "1")
        rig.reconciler.target = 2
        rig.step()
        rig.gateway.lose("1")
        rig.step()
        rig.gateway.add("2", since_s=1008.0)
        rig.step(6.0)
        events = rig.events()
        assert kinds(events) == [EventKind.LOST, EventKind.JOINED]
        assert events[1].figures["join_s"] == pytest.approx(4.0)
        assert ("total", 2) in rig.gateway.calls
        assert rig.reconciler.target == 2

    def test_an_executor_that_vanishes_between_two_answers_is_not_counted(self) -> None:
        rig = Rig("0", "1")
        del rig.gateway.times["1"]
        rig.step()
        assert rig.reconciler.present == 1
        assert kinds(rig.events()) == [EventKind.LOST]

    def test_executors_that_the_cluster_itself_sends_off_are_leaving_and_replaced(self) -> None:
        rig = Rig("0", "1")
        rig.reconciler.target = 2
        rig.gateway.add("1", since_s=900.0, tasks_done=5, tasks_running=1)
        rig.gateway.leaving.add("1")
        rig.step()
        assert rig.reconciler.leaving == {"1"}
        assert rig.gateway.calls == [("total", 3)]

    def test_a_target_that_is_not_reached_is_said_once_with_the_reason(self) -> None:
        rig = Rig("0", size_limit=2)
        rig.reconciler.target = 3
        for _ in range(40):
            rig.step()
        short = [event for event in rig.events() if event.kind is EventKind.SHORT]
        assert len(short) == 1
        assert "1 of 3 executors" in short[0].message
        assert "no more than 2" in short[0].message
        assert short[0].figures["missing"] == 2

    def test_an_executor_that_comes_after_its_request_was_withdrawn_still_has_a_join_time(self) -> None:
        rig = Rig("0")
        rig.reconciler.target = 2
        rig.step()
        rig.reconciler.target = 1
        rig.step()
        rig.gateway.add("1", since_s=1010.0)
        rig.step(8.0)
        joined = [event for event in rig.events() if event.kind is EventKind.JOINED]
        assert joined[0].figures["join_s"] == pytest.approx(8.0)
        assert rig.gateway.calls[-1] == ("decommission", "1")

    def test_the_first_batch_with_a_newcomer_is_compared_with_the_usual_ones(self) -> None:
        rig = Rig("0")
        rig.gateway.add("1", since_s=1001.0)
        rig.step()
        rig.events()
        slow = Batch(id=9, started_s=1003, finished_s=1007.5, first_record=0, end_record=10)
        rig.roster.finished(
            [
                FinishedBatch("orders", slow._replace(id=8), frozenset({"0"})),
                FinishedBatch("orders", slow, frozenset({"0", "1"})),
                FinishedBatch("orders", slow._replace(id=10), frozenset({"0", "1"})),
            ]
        )
        (event,) = rig.events()
        assert event.kind is EventKind.SLOW_BATCH
        assert event.executor == "1"
        assert event.figures["extra_s"] == pytest.approx(4.5 - 1.5)

    def test_a_driver_that_does_not_answer_is_asked_again(self) -> None:
        rig = Rig("0")
        rig.reconciler.target = 2
        rig.gateway.fault = Temporary("no answer")
        with pytest.raises(Temporary):
            rig.step()
        rig.gateway.fault = None
        rig.step()
        assert rig.gateway.calls == [("total", 2)]
