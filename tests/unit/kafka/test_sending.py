"""The sending loop in virtual time, with an outlet that can be stopped up."""

from __future__ import annotations

import json
from dataclasses import dataclass, field, replace

import numpy as np
import pytest

from headgate.errors import Permanent
from headgate.kafka.pacing import HURRY, Share
from headgate.kafka.plan import ProductionPlan
from headgate.kafka.sending import Sender, SendingReport
from headgate.workloads import count_at
from headgate.workloads.records import event_times_ms

START_S = 1_800_000_000.0
PLAN = ProductionPlan(topic="t", records="rows", workload="sine:period=10s,low=0.1", peak=2000, duration_s=20.0, seed=4)


@dataclass
class VirtualClock:
    time_s: float = START_S - 0.1

    def now_s(self) -> float:
        return self.time_s

    def sleep(self, seconds: float) -> None:
        self.time_s += seconds


@dataclass
class FakeOutlet:
    """Acknowledges at once, except while it is stopped up."""

    clock: VirtualClock
    stopped_up: tuple[float, float] = (0.0, 0.0)
    room: int = 500
    fails_at: float | None = None
    failed: int = 0
    waiting: int = 0
    taken: list[tuple[float, bytes, bytes | None, int]] = field(default_factory=list)

    @property
    def trouble(self) -> str | None:
        return "the broker is away" if self._stopped_up else None

    @property
    def _stopped_up(self) -> bool:
        return self.stopped_up[0] <= self.clock.time_s - START_S < self.stopped_up[1]

    def send(self, values: list[bytes], keys: list[bytes] | None, partitions: list[int]) -> int:
        taken = min(len(values), self.room - self.waiting)
        for index in range(taken):
            key = None if keys is None else keys[index]
            self.taken.append((self.clock.time_s - START_S, values[index], key, partitions[index]))
        self.waiting += taken
        return taken

    def serve(self) -> None:
        if self.fails_at is not None and self.clock.time_s - START_S > self.fails_at:
            raise Permanent("the producer was fenced")
        if not self._stopped_up:
            self.waiting = 0


@dataclass
class Trial:
    plan: ProductionPlan = PLAN
    index: int = 0
    partitions: int = 4
    stop_at: float | None = None
    clock: VirtualClock = field(default_factory=VirtualClock)
    reports: list[SendingReport] = field(default_factory=list)

    def run(self, outlet: FakeOutlet) -> SendingReport:
        sender = Sender(
            self.plan,
            Share(self.index, self.plan.processes),
            start_time_s=START_S,
            partitions=self.partitions,
            outlet=outlet,
            clock=self.clock,
            stopped=lambda: self.stop_at is not None and self.clock.time_s - START_S >= self.stop_at,
            report=self.reports.append,
        )
        return sender.run()


@dataclass
class SlowOutlet(FakeOutlet):
    """Each call takes a millisecond, in which a few more records become due."""

    calls: int = 0

    def send(self, values: list[bytes], keys: list[bytes] | None, partitions: list[int]) -> int:
        self.calls += 1
        self.clock.sleep(0.001)
        return super().send(values, keys, partitions)


def sequences(outlet: FakeOutlet) -> list[int]:
    return [json.loads(value)["sequence"] for _, value, _, _ in outlet.taken]


@pytest.mark.parametrize("process", ["even", "poisson"])
def test_the_whole_workload_is_sent_in_order_at_its_times(process: str) -> None:
    trial = Trial(replace(PLAN, process=process, first_sequence=7_000))
    outlet = FakeOutlet(trial.clock)
    last = trial.run(outlet)
    curve = trial.plan.curve()
    total = int(curve[-1])
    assert sequences(outlet) == list(range(7_000, 7_000 + total))
    assert (last.sent, last.acknowledged, last.failed) == (total, total, 0)
    assert [json.loads(value)["time_ms"] for _, value, _, _ in outlet.taken] == event_times_ms(
        curve, START_S, np.arange(total)
    ).tolist()
    sent_s = np.array([moment for moment, *_ in outlet.taken])
    for second in range(20):
        by_then = int(np.sum(sent_s < second + 1))
        assert abs(by_then - count_at(curve, second + 1)) <= 0.006 * 2000 + 1
    assert last.most_late_s < 0.01


def test_an_outage_is_said_aloud_and_made_up_for_without_a_bunch() -> None:
    trial = Trial()
    outlet = FakeOutlet(trial.clock, stopped_up=(5.0, 8.0))
    last = trial.run(outlet)
    curve = PLAN.curve()
    assert sequences(outlet) == list(range(int(curve[-1])))
    assert last.acknowledged == int(curve[-1])
    assert last.most_late_s > 2.0
    assert {report.trouble for report in trial.reports} == {None, "the broker is away"}
    assert any(report.trouble and report.late_s > 1.5 for report in trial.reports)
    sent_s = np.array([moment for moment, *_ in outlet.taken])
    # In no tenth of a second more than the hurry allows, and one more step of a tenth right after the outage.
    for tenth in range(300):
        passed = int(np.sum((sent_s >= tenth / 10) & (sent_s < tenth / 10 + 0.1)))
        assert passed <= HURRY * 2000 * 0.2 + 2


def test_several_processes_send_everything_once() -> None:
    plan = replace(PLAN, processes=3, first_sequence=100)
    seen: list[int] = []
    for index in range(3):
        trial = Trial(plan, index=index)
        outlet = FakeOutlet(trial.clock)
        assert trial.run(outlet).sent == len(outlet.taken)
        assert sequences(outlet) == sorted(sequences(outlet))
        seen += sequences(outlet)
    assert sorted(seen) == list(range(100, 100 + int(plan.curve()[-1])))


def test_stopping_waits_for_what_was_sent_and_leaves_the_rest() -> None:
    trial = Trial(stop_at=6.0)
    outlet = FakeOutlet(trial.clock)
    last = trial.run(outlet)
    assert last.sent == last.acknowledged == len(outlet.taken)
    assert last.sent == pytest.approx(count_at(PLAN.curve(), 6.0), abs=30)
    assert last.ended_s is not None
    assert last.ended_s - START_S == pytest.approx(6.0, abs=0.1)


def test_stopping_while_the_broker_is_away_ends_with_the_truth() -> None:
    trial = Trial(stop_at=6.0)
    outlet = FakeOutlet(trial.clock, stopped_up=(4.0, 1e9))
    last = trial.run(outlet)
    assert last.sent - last.acknowledged == outlet.waiting == outlet.room
    assert last.ended_s is not None
    assert last.ended_s - START_S == pytest.approx(16.0, abs=0.5)


def test_what_cannot_be_cured_ends_the_sending() -> None:
    trial = Trial()
    with pytest.raises(Permanent, match="fenced"):
        trial.run(FakeOutlet(trial.clock, fails_at=3.0))


def test_a_workload_of_nothing_ends_at_once() -> None:
    trial = Trial(replace(PLAN, workload="constant:rate=0", peak=None))
    last = trial.run(FakeOutlet(trial.clock))
    assert (last.sent, last.acknowledged) == (0, 0)


def test_keys_and_partitions_are_chosen_as_asked() -> None:
    trial = Trial(replace(PLAN, keys="zipf:keys=20", partition_skew=1.0))
    outlet = FakeOutlet(trial.clock)
    trial.run(outlet)
    places: dict[bytes | None, set[int]] = {}
    for _, _, key, partition in outlet.taken:
        places.setdefault(key, set()).add(partition)
    assert len(places) == 20
    assert all(len(partitions) == 1 for partitions in places.values())


def test_records_are_gathered_for_a_step_instead_of_being_sent_as_soon_as_a_few_are_due() -> None:
    trial = Trial(replace(PLAN, workload="constant:rate=5000", peak=None, duration_s=2.0))
    outlet = SlowOutlet(trial.clock, room=10_000)
    assert trial.run(outlet).sent == 10_000
    # A step is 5 ms: two hundred calls a second, with 25 records each.
    assert outlet.calls == pytest.approx(400, rel=0.02)
