"""What every agent must do, whatever it controls: run on the simulator and on real Spark.

A test class inherits ``AgentContract`` and gives it a ``harness`` fixture. The harness may be shared
by all tests of a class, because starting a cluster is dear: no test assumes a fresh agent, and none
waits longer than the harness's patience.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable
from dataclasses import dataclass, field

import pytest

from headgate import codec
from headgate.core.allocation import Allocation, Bounds
from headgate.core.ports import Agent, Order
from headgate.core.sample import AgentEvent, EventKind, ExecutorState, Sample
from headgate.errors import StaleEpoch

_RUNS = itertools.count()


@dataclass
class Harness:
    """An agent, its bounds, and a way to let time pass."""

    agent: Agent
    advance: Callable[[float], None]
    """Let that many seconds pass (virtual or real)."""
    bounds: Bounds
    step_s: float = 1.0
    """How long to wait before looking again."""
    patience_s: float = 120.0
    """How long a change of size, or catching up, may take."""
    epoch: int = 1
    samples: list[Sample] = field(default_factory=list)
    """Everything that was collected so far, in order."""

    def collect(self) -> Sample:
        sample = self.agent.collect()
        self.samples.append(sample)
        return sample

    def next_sample(self) -> Sample:
        self.advance(self.step_s)
        return self.collect()

    def order(self, executors: int, *, epoch: int | None = None) -> Order:
        number = next(_RUNS)
        return Order(
            allocation=Allocation(executors=executors),
            epoch=self.epoch if epoch is None else epoch,
            request_id=f"contract-{number}",
        )

    def until(self, condition: Callable[[Sample], bool], *, what: str) -> Sample:
        """Collect until it is so; fails when patience ends."""
        for _ in range(max(1, int(self.patience_s / self.step_s))):
            sample = self.next_sample()
            if condition(sample):
                return sample
        pytest.fail(f"after {self.patience_s:g} s still not: {what}; last sample: {self.samples[-1]}")

    def go_to(self, executors: int) -> Sample:
        self.agent.apply(self.order(executors))
        return self.until(lambda sample: present(sample) == executors, what=f"{executors} executors")


def present(sample: Sample) -> int:
    """Executors that get tasks."""
    return sum(executor.state is ExecutorState.ACTIVE for executor in sample.executors)


def events(samples: list[Sample], kind: EventKind) -> list[AgentEvent]:
    return [event for sample in samples for event in sample.events if event.kind is kind]


class AgentContract:
    """Inherit, and give a fixture ``harness`` whose app processes a stream and has 2 executors to spare."""

    @pytest.fixture
    def harness(self) -> Harness:
        raise NotImplementedError("a contract test class gives its own harness")

    def test_an_app_describes_itself_the_same_way_twice(self, harness: Harness) -> None:
        first, second = harness.agent.describe(), harness.agent.describe()
        assert first == second
        assert first.bounds == harness.bounds
        assert first.graph.sources()

    def test_time_moves_on_and_counters_never_fall(self, harness: Harness) -> None:
        samples = [harness.next_sample() for _ in range(5)]
        for before, after in itertools.pairwise(samples):
            assert after.time_s > before.time_s
            for old, new in zip(before.operators, after.operators, strict=True):
                assert new.name == old.name
                assert new.done_records >= old.done_records
                assert (new.busy_s or 0.0) >= (old.busy_s or 0.0) - 1e-6
            older = {executor.id: executor for executor in before.executors}
            for executor in after.executors:
                if executor.id in older:
                    assert (executor.busy_s or 0.0) >= (older[executor.id].busy_s or 0.0) - 1e-6
                    assert executor.tasks_done >= older[executor.id].tasks_done

    def test_arrivals_are_a_curve_that_ends_now_and_never_falls(self, harness: Harness) -> None:
        harness.until(lambda sample: sample.operators[0].done_records > 0, what="something finished")
        for sample in harness.samples:
            for operator in sample.operators:
                times = [point.time_s for point in operator.arrivals]
                counts = [point.records for point in operator.arrivals]
                assert times == sorted(times)
                assert counts == sorted(counts)
                if counts:
                    assert times[-1] <= sample.time_s + 1e-6
                    assert operator.done_records <= counts[-1] + 1e-6

    def test_an_order_for_more_executors_is_reached_and_their_joining_reported(self, harness: Harness) -> None:
        least = max(1, harness.bounds.least)
        harness.go_to(least)
        begun = len(harness.samples)
        sample = harness.go_to(least + 1)
        assert sample.target_executors == least + 1
        joined = events(harness.samples[begun:], EventKind.JOINED)
        assert joined
        assert all(event.figures["join_s"] >= 0 for event in joined)

    def test_an_order_for_fewer_executors_is_reached_and_loses_nothing(self, harness: Harness) -> None:
        least = max(1, harness.bounds.least)
        harness.go_to(least + 1)
        arrived = harness.next_sample().operators[0].arrivals[-1].records
        harness.go_to(least)
        harness.until(lambda sample: sample.operators[0].done_records >= arrived - 1e-6, what="all of it finished")

    def test_an_order_of_a_replaced_controller_is_refused_and_changes_nothing(self, harness: Harness) -> None:
        least = max(1, harness.bounds.least)
        harness.epoch += 5
        harness.go_to(least)
        with pytest.raises(StaleEpoch):
            harness.agent.apply(harness.order(least + 1, epoch=harness.epoch - 1))
        assert harness.next_sample().target_executors == least
        assert harness.agent.describe().newest_epoch == harness.epoch

    def test_the_same_order_sent_twice_is_obeyed_once(self, harness: Harness) -> None:
        least = max(1, harness.bounds.least)
        more = harness.order(least + 1)
        harness.agent.apply(more)
        harness.agent.apply(harness.order(least))
        harness.agent.apply(more)
        assert harness.next_sample().target_executors == least
        harness.until(lambda sample: present(sample) == least, what=f"{least} executors")

    def test_samples_survive_the_way_through_json(self, harness: Harness) -> None:
        harness.until(lambda sample: bool(sample.operators[0].batches), what="a finished batch")
        for sample in harness.samples[-10:]:
            assert codec.from_json(Sample, codec.to_json(sample), where="sample") == sample

    def test_each_batch_begins_where_the_one_before_ended(self, harness: Harness) -> None:
        harness.until(
            lambda _: sum(len(sample.operators[0].batches) for sample in harness.samples) >= 5, what="five batches"
        )
        for index in range(len(harness.samples[0].operators)):
            batches = [batch for sample in harness.samples for batch in sample.operators[index].batches]
            for before, after in itertools.pairwise(batches):
                assert after.first_record == pytest.approx(before.end_record, abs=1e-6)
                assert after.started_s >= before.started_s
                assert after.finished_s >= after.started_s
