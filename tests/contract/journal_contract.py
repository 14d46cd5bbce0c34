"""What every journal promises, to be inherited by a test class per implementation."""

from __future__ import annotations

import threading
from abc import ABC, abstractmethod
from collections.abc import Iterator
from itertools import pairwise
from pathlib import Path
from typing import Protocol

import pytest

from headgate.core.allocation import Allocation, Bounds, Dimension
from headgate.core.decision import Decision, Levers, Outcome, Reason, Tick
from headgate.core.evaluation import BatchEvaluation, Evaluation, ExecutorEvaluation, OperatorEvaluation, Spread
from headgate.core.graph import Graph, OperatorNode
from headgate.core.knowledge import AppDescription, Engine
from headgate.core.ports import Journal, JournalHeader, JournalReader
from headgate.core.sample import (
    AgentEvent,
    ArrivalPoint,
    Batch,
    EventKind,
    ExecutorSample,
    ExecutorState,
    NodeSample,
    OperatorSample,
    Sample,
)
from headgate.errors import Permanent, UserMistake


def a_header(*, app: str = "orders", policy: str = "static:executors=3", started_s: float = 0.0) -> JournalHeader:
    graph = Graph.of(OperatorNode(name="parse"), OperatorNode(name="join", upstream=("parse",), scalable=True))
    description = AppDescription(
        app=app,
        engine=Engine.MICRO_BATCH,
        bounds=Bounds(1, 12),
        graph=graph,
        scales=frozenset({Dimension.EXECUTORS, Dimension.PARALLELISM}),
        newest_epoch=7,
    )
    extra = {"workload": "sine:period=3h", "seed": 4, "nested": {"list": [1, None, "ü"]}}
    return JournalHeader(
        app=app, policy=policy, description=description, guards=("bounds",), started_s=started_s, extra=extra
    )


def a_sample(time_s: float) -> Sample:
    """With every field filled that a journal could lose."""
    operator = OperatorSample(
        name="join",
        upstream=("parse",),
        scalable=True,
        parallelism=3,
        partitions=24,
        arrivals=(ArrivalPoint(time_s - 1, 10.5), ArrivalPoint(time_s, 20.0)),
        batches=(Batch(4, time_s - 2, time_s - 1, 0.0, 10.0, 24, 0.75, phases={"addBatch": 0.5}),),
        done_records=10.0,
        busy_s=33.25,
        instance_busy_s=(1.0, 2.0),
    )
    executors = (ExecutorSample("1", "n1", 2, 30.0, 9.5, None, ExecutorState.LEAVING, 12, 1),)
    event = AgentEvent(time_s=time_s, kind=EventKind.JOINED, message="came", executor="1", figures={"join_s": 5.5})
    return Sample(
        time_s=time_s,
        operators=(operator,),
        executors=executors * 12,
        nodes=(NodeSample("n1", False, {"n2": 0.01}),),
        pending_executors=2,
        target_executors=3,
        events=(event,),
    )


def a_tick(index: int, time_s: float, *, executors: int = 3) -> Tick:
    spread = Spread(mean=1.0, p50=1.0, p95=2.0, p99=3.0, max=4.0)
    batch = BatchEvaluation(count=2, duration_s=1.5, records=10.0, largest_records=12.0)
    operator = OperatorEvaluation(name="join", upstream=("parse",), busy=0.8, latency_s=spread, batch=batch)
    evaluation = Evaluation(
        time_s=time_s, operators=(operator,), executors=(ExecutorEvaluation(id="1", busy=0.5),), age_s=0.5
    )
    decision = Decision(
        time_s=time_s,
        current=Allocation(executors=1),
        wanted=Allocation(executors=executors + 1, parallelism={"join": 4}),
        granted=Allocation(executors=executors, assignment={"c": ("t-0", "t-1")}),
        reasons=(Reason(by="hpa", code="above-target", message="busy", inputs={"busy": 0.8, "missing": None}),),
    )
    return Tick(
        index=index,
        time_s=time_s,
        epoch=7,
        outcome=Outcome.APPLIED,
        evaluation=evaluation,
        decision=decision,
        observed=Allocation(executors=1),
        memory={"recommendations": [[time_s, 3]]},
        levers=Levers(paused=True, pinned=3),
        problem="none",
        took_s=0.01,
    )


class RunKeepingJournal(Journal, Protocol):
    """The port, and the runs one by one, which every journal of the package offers."""

    def runs(self) -> tuple[JournalHeader, ...]: ...

    def run(self, position: int) -> JournalReader: ...


class JournalContract(ABC):
    @abstractmethod
    def make(self, folder: Path) -> RunKeepingJournal: ...

    @pytest.fixture
    def journal(self, tmp_path: Path) -> Iterator[RunKeepingJournal]:
        journal = self.make(tmp_path)
        yield journal
        journal.close()

    def test_gives_back_exactly_what_was_written(self, journal: RunKeepingJournal) -> None:
        journal.open_run(a_header())
        journal.append_sample(a_sample(1.25))
        journal.append_tick(a_tick(0, 1.5))
        assert journal.header() == a_header()
        assert list(journal.samples()) == [a_sample(1.25)]
        assert list(journal.ticks()) == [a_tick(0, 1.5)]

    def test_keeps_a_tick_that_saw_nothing(self, journal: RunKeepingJournal) -> None:
        bare = Tick(
            index=0,
            time_s=0.0,
            epoch=1,
            outcome=Outcome.NOT_READY,
            evaluation=None,
            decision=Decision(
                time_s=0.0,
                current=Allocation(executors=1),
                wanted=Allocation(executors=1),
                granted=Allocation(executors=1),
            ),
        )
        journal.open_run(a_header())
        journal.append_tick(bare)
        assert journal.last_tick() == bare

    def test_is_empty_before_anything_is_appended(self, journal: RunKeepingJournal) -> None:
        journal.open_run(a_header())
        assert list(journal.samples()) == []
        assert list(journal.ticks()) == []
        assert journal.last_tick() is None

    def test_has_no_header_before_a_run(self, journal: RunKeepingJournal) -> None:
        assert journal.runs() == ()
        with pytest.raises(UserMistake, match="holds no run yet"):
            journal.header()

    def test_refuses_rows_before_a_run(self, journal: RunKeepingJournal) -> None:
        with pytest.raises(Permanent, match="open_run first"):
            journal.append_sample(a_sample(0.0))
        with pytest.raises(Permanent, match="open_run first"):
            journal.append_tick(a_tick(0, 0.0))

    def test_yields_only_what_is_not_older_than_asked(self, journal: RunKeepingJournal) -> None:
        journal.open_run(a_header())
        for index in range(10):
            journal.append_sample(a_sample(float(index)))
            journal.append_tick(a_tick(index, float(index)))
        assert [sample.time_s for sample in journal.samples(since_s=6.5)] == [7.0, 8.0, 9.0]
        assert [tick.index for tick in journal.ticks(since_s=8.0)] == [8, 9]
        assert list(journal.ticks(since_s=9.5)) == []

    def test_keeps_the_order_of_rows_of_the_same_moment(self, journal: RunKeepingJournal) -> None:
        journal.open_run(a_header())
        for index in range(700):
            journal.append_tick(a_tick(index, float(index // 350)))
        assert [tick.index for tick in journal.ticks()] == list(range(700))
        assert [tick.index for tick in journal.ticks(since_s=1.0)] == list(range(350, 700))

    def test_knows_the_last_tick_of_all(self, journal: RunKeepingJournal) -> None:
        journal.open_run(a_header())
        journal.append_tick(a_tick(0, 10.0))
        journal.append_tick(a_tick(1, 20.0, executors=5))
        journal.open_run(a_header(started_s=30.0))
        assert journal.last_tick() == a_tick(1, 20.0, executors=5)

    def test_goes_on_with_the_history_when_the_app_comes_back(self, journal: RunKeepingJournal) -> None:
        journal.open_run(a_header(policy="hpa", started_s=1.0))
        journal.append_sample(a_sample(1.0))
        journal.append_tick(a_tick(0, 2.0))
        journal.open_run(a_header(policy="static:executors=1", started_s=5.0))
        journal.append_sample(a_sample(6.0))
        assert journal.header().started_s == 5.0
        assert [header.policy for header in journal.runs()] == ["hpa", "static:executors=1"]
        assert [sample.time_s for sample in journal.samples()] == [1.0, 6.0]

    def test_reads_one_run_alone(self, journal: RunKeepingJournal) -> None:
        for start in (0.0, 0.0, 100.0):
            journal.open_run(a_header(started_s=start))
            journal.append_sample(a_sample(start + 1))
            journal.append_tick(a_tick(0, start + 2))
        newest, second = journal.run(-1), journal.run(1)
        assert newest.header() == a_header(started_s=100.0)
        assert [sample.time_s for sample in newest.samples()] == [101.0]
        assert [tick.time_s for tick in second.ticks()] == [2.0]
        assert second.last_tick() == a_tick(0, 2.0)
        assert list(second.samples(since_s=50.0)) == []
        with pytest.raises(UserMistake, match="3 runs, so there is no run 3"):
            journal.run(3)

    def test_does_not_mix_runs_whose_clocks_overlap(self, journal: RunKeepingJournal) -> None:
        for _ in range(2):
            journal.open_run(a_header())
            for index in range(3):
                journal.append_tick(a_tick(index, float(index)))
        assert [tick.index for tick in journal.ticks(since_s=1.0)] == [1, 2, 1, 2]

    def test_refuses_another_app(self, journal: RunKeepingJournal) -> None:
        journal.open_run(a_header(app="orders"))
        with pytest.raises(UserMistake, match="belongs to app 'orders', not 'clicks'"):
            journal.open_run(a_header(app="clicks"))

    def test_comes_to_an_end_for_a_reader_while_it_grows(self, journal: RunKeepingJournal) -> None:
        journal.open_run(a_header())
        for index in range(3):
            journal.append_sample(a_sample(float(index)))
        seen = 0
        for sample in journal.samples():
            journal.append_sample(a_sample(sample.time_s + 10))
            seen += 1
        assert seen == 3
        assert len(list(journal.samples())) == 6

    def test_may_be_written_and_read_by_several_threads(self, journal: RunKeepingJournal) -> None:
        journal.open_run(a_header())
        faults: list[Exception] = []

        def write(first: int) -> None:
            try:
                for index in range(first, first + 50):
                    journal.append_sample(a_sample(1.0))
                    journal.append_tick(a_tick(index, 1.0))
            except Exception as error:
                faults.append(error)

        def read() -> None:
            try:
                for _ in range(5):
                    sizes = [len(list(journal.ticks())) for _ in range(2)]
                    assert all(before <= after for before, after in pairwise(sizes))
            except Exception as error:
                faults.append(error)

        threads = [threading.Thread(target=write, args=(first,)) for first in (0, 50)]
        threads.append(threading.Thread(target=read))
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert faults == []
        assert sorted(tick.index for tick in journal.ticks()) == list(range(100))
        assert len(list(journal.samples())) == 100

    def test_may_be_closed_twice(self, journal: RunKeepingJournal) -> None:
        journal.open_run(a_header())
        journal.close()
        journal.close()
