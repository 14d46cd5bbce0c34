"""The loop: when it samples and decides, and what it does when something does not answer."""

from __future__ import annotations

import threading
from dataclasses import replace
from typing import ClassVar

import pytest
from loop_bench import Bench, Broken, BrokenGuard, Counting

from headgate.control.clock import WallClock
from headgate.control.loop import Loop
from headgate.control.replay import replay
from headgate.control.training import TrainingAtOnce
from headgate.core.allocation import Allocation, Dimension
from headgate.core.decision import Outcome
from headgate.core.evaluation import Evaluation
from headgate.core.knowledge import AppDescription
from headgate.core.sample import Sample
from headgate.errors import NotReady, Permanent, StaleEpoch, StreamEnded, Temporary, UserMistake
from headgate.guards import Bounds, Cooldown
from headgate.journal import MemoryJournal


def test_sampling_and_deciding_have_their_own_rhythm() -> None:
    bench = Bench(options={"sampling_interval_s": 2.0})
    bench.loop.run(until_s=30)
    assert bench.agent.collected_at == [float(t) for t in range(0, 31, 2)]
    assert [tick.time_s for tick in bench.ticks] == [10, 20, 30]


def test_decisions_are_sent_and_recorded_with_their_reasons() -> None:
    bench = Bench()
    bench.loop.run(until_s=20)
    assert [order.allocation.executors for order in bench.agent.orders] == [3, 4]
    tick = bench.ticks[-1]
    assert tick.outcome is Outcome.APPLIED
    assert (tick.decision.current.executors, tick.decision.granted.executors) == (3, 4)
    assert tick.decision.reasons[0].code == "more"
    assert tick.evaluation.events[0].message == "warm"


def test_guards_have_the_last_word_and_what_was_wanted_is_kept() -> None:
    bench = Bench()
    bench.loop.run(until_s=100)
    tick = bench.ticks[-1]
    assert tick.decision.wanted.executors == 9
    assert tick.decision.granted.executors == 8
    assert tick.outcome is Outcome.UNCHANGED
    assert any(reason.by == "bounds" for reason in tick.decision.reasons)


def test_the_policys_memory_comes_back_at_the_next_tick() -> None:
    bench = Bench()
    bench.loop.run(until_s=30)
    assert [tick.memory["asked"] for tick in bench.ticks] == [1, 2, 3]


def test_a_tick_that_cannot_collect_is_recorded_as_not_ready_and_holds_the_size() -> None:
    bench = Bench()

    def silent(now_s: float) -> None:
        if 5 < now_s < 25:
            raise NotReady("nothing yet")

    bench.agent.trouble = silent
    bench.loop.run(until_s=30)
    first, second, third = bench.ticks
    assert (first.outcome, second.outcome) == (Outcome.NOT_READY, Outcome.NOT_READY)
    assert first.problem == "nothing yet"
    assert first.evaluation is None
    assert first.decision.granted == first.decision.current
    assert third.outcome is Outcome.APPLIED


def test_an_agent_that_does_not_answer_is_asked_less_and_less_often() -> None:
    bench = Bench()
    asked: list[float] = []

    def dead(now_s: float) -> None:
        asked.append(now_s)
        raise Temporary("connection refused")

    bench.agent.trouble = dead
    bench.loop.run(until_s=60)
    assert len(asked) < 20
    assert [tick.time_s for tick in bench.ticks] == [10, 20, 30, 40, 50, 60]
    assert bench.loop.status().problem == "connection refused"


def test_a_dry_run_decides_and_sends_nothing() -> None:
    bench = Bench(options={"dry_run": True})
    bench.loop.run(until_s=30)
    assert bench.agent.orders == []
    assert [tick.decision.granted.executors for tick in bench.ticks] == [3, 3, 3]
    assert {tick.outcome for tick in bench.ticks} == {Outcome.DRY_RUN}


def test_a_policy_that_fails_holds_the_size_and_says_so() -> None:
    bench = Bench(policy=Broken())
    bench.loop.run(until_s=10)
    (tick,) = bench.ticks
    assert tick.outcome is Outcome.UNCHANGED
    assert tick.decision.reasons[0].code == "policy-failed"
    assert "ZeroDivisionError: oops" in tick.decision.reasons[0].message


def test_a_guard_that_fails_holds_the_size_and_says_so() -> None:
    bench = Bench(guards=(BrokenGuard(),))
    bench.loop.run(until_s=10)
    (tick,) = bench.ticks
    assert tick.outcome is Outcome.UNCHANGED
    assert tick.decision.reasons[-1].code == "guard-failed"


def test_a_replaced_controller_stops_and_records_the_refusal() -> None:
    bench = Bench()
    bench.loop.run(until_s=10)
    old = bench.new_loop()

    def another_takes_over(now_s: float) -> None:
        if now_s > 15:
            bench.agent.newest_epoch = 99

    bench.agent.trouble = another_takes_over
    with pytest.raises(StaleEpoch):
        old.run(until_s=40)
    assert bench.ticks[-1].outcome is Outcome.REFUSED
    assert not old.status().running


def test_an_order_that_does_not_arrive_is_tried_again_at_the_next_tick() -> None:
    bench = Bench()
    bench.agent.refuse = Temporary("agent is busy")
    bench.loop.run(until_s=10)
    assert bench.ticks[-1].outcome is Outcome.FAILED
    assert bench.ticks[-1].problem == "agent is busy"
    bench.agent.refuse = None
    again = bench.new_loop()
    again.run(until_s=25)
    assert bench.agent.orders[-1].allocation.executors == 3


def test_a_controller_that_comes_back_resumes_size_memory_and_levers_with_a_newer_epoch() -> None:
    bench = Bench()
    bench.agent.trouble = lambda now_s: bench.loop.pause() if now_s == 25 else None
    bench.loop.run(until_s=30)
    assert bench.agent.executors == 4
    bench.agent.executors = 1
    again = bench.new_loop()
    again.run(until_s=45)
    assert bench.agent.executors == 4
    assert bench.agent.orders[-1].epoch == 2
    assert again.status().levers.paused
    assert bench.ticks[-1].memory["asked"] == 5
    assert [tick.index for tick in bench.ticks] == [0, 1, 2, 3, 4]


def test_guards_look_back_over_a_restart_and_a_replay_does_too() -> None:
    guards = (Cooldown(up_s=35.0), Bounds())
    bench = Bench(guards=guards)
    bench.loop.run(until_s=25)
    assert [tick.decision.granted.executors for tick in bench.ticks] == [3, 3]
    bench.new_loop().run(until_s=70)
    sizes = {tick.time_s: tick.decision.granted.executors for tick in bench.ticks}
    # The step was at 10 s, before the restart: only from 45 s on may the next one come.
    assert {size for time_s, size in sizes.items() if time_s < 45} == {3}
    assert max(sizes.values()) == 4
    assert all(tick.same for tick in replay(bench.journal, policy=Counting(), guards=guards))


def test_the_journal_of_another_app_is_refused() -> None:
    bench = Bench()
    bench.loop.run(until_s=10)
    real = bench.agent.describe
    bench.agent.describe = lambda: replace(real(), app="other")  # type: ignore[method-assign]
    with pytest.raises(UserMistake, match="of app 'fake', and this is app 'other'"):
        bench.new_loop().run(until_s=20)


def test_the_end_of_the_stream_ends_the_loop() -> None:
    bench = Bench()

    def over(now_s: float) -> None:
        if now_s >= 12:
            raise StreamEnded("the query has ended")

    bench.agent.trouble = over
    bench.loop.run()
    assert not bench.loop.status().running


def test_a_permanent_error_stops_and_is_reported() -> None:
    bench = Bench()

    def gone(now_s: float) -> None:
        if now_s >= 3:
            raise Permanent("the session was stopped")

    bench.agent.trouble = gone
    with pytest.raises(Permanent):
        bench.loop.run()


def test_a_policy_that_needs_more_than_the_app_offers_is_refused() -> None:
    class Parallel(Counting):
        scales: ClassVar[frozenset[Dimension]] = frozenset({Dimension.PARALLELISM})

    with pytest.raises(UserMistake, match="scales parallelism"):
        Bench(policy=Parallel()).loop.run(until_s=10)


def test_levers_before_the_start_are_answered_with_not_ready() -> None:
    loop = Bench().loop
    for call in (loop.status, loop.pause, lambda: loop.pin(2)):
        with pytest.raises(NotReady):
            call()


def test_a_pin_outside_the_bounds_is_refused() -> None:
    bench = Bench()
    bench.loop.run(until_s=5)
    with pytest.raises(UserMistake, match="1 to 8"):
        bench.loop.pin(9)


def test_levers_of_an_ended_controller_are_refused() -> None:
    bench = Bench()
    bench.loop.run(until_s=5)
    with pytest.raises(UserMistake, match="ended"):
        bench.loop.pin(4)


def test_a_size_that_was_there_at_the_start_is_ordered_when_it_is_gone() -> None:
    bench = Bench()

    def one_is_lost(now_s: float) -> None:
        if now_s == 1:
            bench.loop.pin(2)
        if now_s == 3:
            bench.agent.executors = 1

    bench.agent.trouble = one_is_lost
    bench.loop.run(until_s=20)
    assert [order.allocation.executors for order in bench.agent.orders] == [2]
    assert bench.agent.executors == 2
    assert all(tick.same for tick in replay(bench.journal, policy=Counting(), guards=bench.guards))


def test_a_pin_acts_at_once_and_pause_holds() -> None:
    bench = Bench()
    done: list[str] = []

    def person(now_s: float) -> None:
        if now_s == 3 and not done:
            done.append("pinned")
            bench.loop.pin(6)
        if now_s == 14 and len(done) == 1:
            done.append("unpinned")
            bench.loop.unpin()
            bench.loop.pause()
        if now_s == 33 and len(done) == 2:
            done.append("resumed")
            bench.loop.resume()

    bench.agent.trouble = person
    bench.loop.run(until_s=34)
    sizes = [(tick.time_s, tick.decision.granted.executors) for tick in bench.ticks]
    assert (3.0, 6) in sizes or (4.0, 6) in sizes
    assert (30.0, 6) in sizes
    assert sizes[-1][1] == 7
    status = bench.loop.status()
    assert status.levers.paused is False
    assert status.rescalings == 2


def test_a_journal_that_cannot_be_written_does_not_stop_the_care() -> None:
    class Full(MemoryJournal):
        def append_sample(self, sample: Sample) -> None:
            raise Temporary("disk is full")

    bench = Bench(journal=Full())
    bench.loop.run(until_s=20)
    assert bench.agent.executors == 4
    assert bench.loop.status().problem == "disk is full"


def test_a_slow_turn_delays_nothing_after_it() -> None:
    bench = Bench(options={"sampling_interval_s": 1.0})

    def slow(now_s: float) -> None:
        if now_s == 12:
            bench.clock.wait_until(24.5, threading.Event())

    bench.agent.trouble = slow
    bench.loop.run(until_s=40)
    assert [tick.time_s for tick in bench.ticks] == [10, 25, 30, 40] or [tick.time_s for tick in bench.ticks] == [
        10,
        24.5,
        30,
        40,
    ]


def test_stop_ends_the_loop_from_another_thread() -> None:
    bench = Bench()
    agent = bench.agent
    loop = Loop(
        agent=agent,
        policy=Counting(),
        policy_spec="counting",
        journal=bench.journal,
        clock=WallClock(),
        training=TrainingAtOnce(),
        sampling_interval_s=0.01,
    )
    thread = threading.Thread(target=loop.run)
    thread.start()
    loop.stop()
    thread.join(timeout=10)
    assert not thread.is_alive()


def test_a_replay_by_the_same_policy_comes_to_the_same_decisions() -> None:
    bench = Bench()
    bench.agent.trouble = lambda now_s: (_ for _ in ()).throw(NotReady("no")) if 15 < now_s < 25 else None
    bench.loop.run(until_s=60)
    again = bench.new_loop()
    again.run(until_s=95)
    replayed = list(replay(bench.journal, policy=Counting(), guards=bench.guards))
    assert len(replayed) == len(bench.ticks)
    assert all(tick.same for tick in replayed)


def test_a_replay_by_another_policy_shows_what_it_would_have_wanted() -> None:
    bench = Bench()
    bench.loop.run(until_s=30)
    replayed = list(replay(bench.journal, policy=Broken(), guards=bench.guards))
    assert not any(tick.same for tick in replayed)
    assert all(tick.decision.granted == tick.recorded.decision.current for tick in replayed)


def test_a_dead_agent_at_the_start_is_waited_for() -> None:
    bench = Bench()
    real = bench.agent.describe
    tries: list[float] = []

    def describe() -> AppDescription:
        tries.append(bench.clock.now_s())
        if len(tries) < 4:
            raise Temporary("connection refused")
        return real()

    bench.agent.describe = describe  # type: ignore[method-assign]
    bench.loop.run(until_s=30)
    assert len(tries) == 4
    assert bench.ticks


def test_wall_time_never_goes_backwards_and_waits() -> None:
    clock = WallClock()
    first = clock.now_s()
    clock.wait_until(first - 5, threading.Event())
    assert clock.now_s() >= first


def test_the_allocation_of_the_present_is_what_is_there() -> None:
    assert Evaluation(time_s=0).allocation == Allocation(executors=0)
