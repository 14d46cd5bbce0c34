"""Controllers that stand by for each other: one leads, and whoever has lost it knows its place."""

from __future__ import annotations

import threading
from dataclasses import dataclass, field

import pytest
from loop_bench import Bench

from headgate.control.leading import Leading
from headgate.core.allocation import Allocation
from headgate.core.ports import Order
from headgate.errors import NotReady, StaleEpoch, Temporary


@dataclass
class Seat:
    """A leadership in the test's hand."""

    epochs: list[int | None] = field(default_factory=lambda: [1])
    kept: bool = True
    fault: Temporary | None = None
    """When it is renewed."""
    faults: list[Exception] = field(default_factory=list)
    """When it is sought, one after the other."""
    asked: list[int] = field(default_factory=list)
    resigned: int = 0
    renew_every_s: float = 0.005

    def seek(self, *, newest_epoch: int) -> int | None:
        self.asked.append(newest_epoch)
        if self.faults:
            raise self.faults.pop(0)
        return self.epochs.pop(0) if self.epochs else None

    def keep(self) -> bool:
        if self.fault is not None:
            raise self.fault
        return self.kept

    def resign(self) -> None:
        self.resigned += 1


class Turn:
    """A loop that turns until it is stopped, or told how to end."""

    def __init__(self, error: Exception | None = None, *, ends: bool = False) -> None:
        self.stopped = threading.Event()
        self.error, self.ends = error, ends
        self.began = threading.Event()

    def run(self) -> None:
        self.began.set()
        if self.error is not None:
            raise self.error
        if not self.ends:
            assert self.stopped.wait(10)

    def stop(self) -> None:
        self.stopped.set()


def leading(seat: Seat, turns: list[Turn], epochs: list[int]) -> Leading:
    def begin(epoch: int) -> Turn:
        epochs.append(epoch)
        return turns[len(epochs) - 1]

    return Leading(seat, agent=Bench().agent, begin=begin, look_again_s=0.001)


def test_it_leads_once_nobody_else_does_and_ends_with_the_stream() -> None:
    seat, epochs = Seat(epochs=[None, None, 4]), list[int]()
    leading(seat, [Turn(ends=True)], epochs).run()
    assert epochs == [4]
    assert seat.asked == [0, 0, 0]
    assert seat.resigned == 1


def test_who_loses_the_lead_stops_its_loop_and_stands_by_again() -> None:
    seat, epochs, first = Seat(epochs=[1, None, 3]), list[int](), Turn()
    seat.kept = False
    leading(seat, [first, Turn(ends=True)], epochs).run()
    assert first.stopped.is_set()
    assert epochs == [1, 3]
    assert seat.resigned == 1, "it stayed a candidate, and resigned at the end"


def test_who_is_refused_by_the_agent_stands_by_again() -> None:
    seat, epochs = Seat(epochs=[1, 3]), list[int]()
    leading(seat, [Turn(StaleEpoch(offered=1, newest=2)), Turn(ends=True)], epochs).run()
    assert epochs == [1, 3]


def test_who_cannot_hear_what_the_one_before_it_knew_does_not_lead_without_it(caplog: pytest.LogCaptureFixture) -> None:
    begun = list[int]()

    def begin(epoch: int) -> Turn:
        begun.append(epoch)
        if len(begun) == 1:
            raise Temporary("Kafka does not tell what is known; trying again")
        return Turn(ends=True)

    seat = Seat(epochs=[1, 2])
    Leading(seat, agent=Bench().agent, begin=begin, look_again_s=0.001).run()
    assert begun == [1, 2]
    assert seat.resigned == 1
    assert "Kafka does not tell" in caplog.text


class Pauses(threading.Event):
    """Remembers how long it was waited for."""

    def __init__(self) -> None:
        super().__init__()
        self.taken: list[float | None] = []

    def wait(self, timeout: float | None = None) -> bool:
        self.taken.append(timeout)
        return super().wait(timeout)


def test_who_is_refused_gives_the_others_time_to_say_so_before_it_seeks_the_lead_again() -> None:
    seat = Seat(epochs=[1, 3])
    controller = leading(seat, [Turn(StaleEpoch(offered=1, newest=2)), Turn(ends=True)], [])
    controller._stop = pauses = Pauses()
    controller.run()
    assert pauses.taken == [seat.renew_every_s]


def test_a_leadership_that_cannot_be_renewed_for_a_moment_is_not_lost(caplog: pytest.LogCaptureFixture) -> None:
    seat, turn = Seat(), Turn()
    seat.fault = Temporary("the lease cannot be used")
    controller = leading(seat, [turn], [])
    thread = threading.Thread(target=controller.run)
    thread.start()
    assert turn.began.wait(10)
    while "the lease cannot be used" not in caplog.text:
        pass
    assert not turn.stopped.is_set()
    controller.stop()
    thread.join(10)
    assert not thread.is_alive()
    assert seat.resigned == 1


def test_a_leader_that_cannot_be_found_out_about_for_a_moment_is_asked_for_again(
    caplog: pytest.LogCaptureFixture,
) -> None:
    seat, epochs = Seat(faults=[Temporary("Kafka does not answer"), NotReady("the app is not there yet")]), list[int]()
    leading(seat, [Turn(ends=True)], epochs).run()
    assert epochs == [1]
    assert [record.message for record in caplog.records] == ["Kafka does not answer", "the app is not there yet"]


def test_it_can_be_stopped_while_it_stands_by() -> None:
    seat = Seat(epochs=[])
    controller = leading(seat, [], [])
    thread = threading.Thread(target=controller.run)
    thread.start()
    controller.stop()
    thread.join(10)
    assert not thread.is_alive()
    assert seat.resigned == 1


def test_a_new_leader_makes_its_epoch_known_before_it_has_anything_to_order() -> None:
    """Whoever led before is refused from then on, although nothing has changed."""
    bench = Bench(options={"epoch": 5})
    bench.agent.newest_epoch = 4
    before = bench.agent.executors
    bench.loop.run(until_s=5)
    assert [(order.epoch, order.allocation.executors) for order in bench.agent.orders] == [(5, before)]
    with pytest.raises(StaleEpoch):
        bench.agent.apply(Order(allocation=Allocation(executors=9), epoch=4, request_id="late"))
