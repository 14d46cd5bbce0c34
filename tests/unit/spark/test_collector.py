"""What the driver tells, turned into operators and executors."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise

import pytest
from fake_driver import IDLE, FakeGateway, FakeQuery, HandClock, progress, records

from headgate.core.sample import ArrivalPoint, Batch, ExecutorState, OperatorSample
from headgate.errors import NotReady, Temporary
from headgate.spark.collector import Collector, Measurement
from headgate.spark.facts import ActiveStage, JobFact, QueryState, RunningTask, StageFact, StageShare


class Rig:
    def __init__(self, query: FakeQuery | None = None, *, probe: FakeProbe | None = None) -> None:
        self.clock = HandClock()
        self.gateway = FakeGateway()
        self.gateway.add("0", since_s=900.0, tasks_done=3, busy_s=2.0)
        self.query = query or FakeQuery()
        probes = {self.query.name: probe} if probe is not None else None
        self.collector = Collector(self.gateway, [self.query], now_s=self.clock, probes=probes)

    def collect(self, *, at_s: float | None = None, leaving: Sequence[str] = ()) -> Measurement:
        self.clock.time_s = self.clock.time_s + 1.0 if at_s is None else at_s
        return self.collector.collect(leaving)

    def operator(self, *, at_s: float | None = None) -> OperatorSample:
        (operator,) = self.collect(at_s=at_s).operators
        return operator

    def finish(self, batch_id: int, start: int, end: int, latest: int | None = None, *, took_s: float = 1.0) -> None:
        """A batch that ended now, with its job in the status store."""
        at_s = self.clock.time_s - took_s
        source = records(start, end, latest)
        self.query.events.append(
            progress(batch_id, at_s=at_s, source=source, took_s=took_s, rows=end - start, run_id=self.query.run_id)
        )
        self.run_job(batch_id, launched_s=at_s + 0.3 * took_s, completed_s=at_s + 0.8 * took_s, rows=end - start)

    def run_job(self, batch_id: int, *, launched_s: float, completed_s: float, rows: int) -> None:
        job_id = len(self.gateway.job_list)
        task_s = completed_s - launched_s
        self.gateway.job_list.append(JobFact(job_id, self.query.run_id, batch_id, (job_id,), launched_s, True))
        self.gateway.stages[job_id] = StageFact(
            id=job_id,
            tasks=2,
            launched_s=launched_s,
            completed_s=completed_s,
            longest_task_s=task_s,
            shares={"0": StageShare(task_s, 1, rows * 0.75), "1": StageShare(task_s / 2, 1, rows * 0.25)},
        )


class FakeProbe:
    def __init__(self) -> None:
        self.records = 0.0
        self.fault: Temporary | None = None

    def probe(self) -> float:
        if self.fault is not None:
            raise self.fault
        return self.records


def ids(batches: Sequence[Batch]) -> list[int]:
    return [batch.id for batch in batches]


class TestBatches:
    def test_a_query_without_any_progress_is_not_ready(self) -> None:
        with pytest.raises(NotReady, match="orders"):
            Rig().collect()

    def test_each_batch_is_told_once_and_in_order(self) -> None:
        rig = Rig()
        rig.finish(0, 0, 100)
        rig.finish(1, 100, 250)
        assert ids(rig.operator().batches) == [0, 1]
        rig.finish(2, 250, 300)
        assert ids(rig.operator().batches) == [2]
        assert rig.operator().batches == ()

    def test_batches_from_before_the_start_are_a_position_and_not_told(self) -> None:
        query = FakeQuery(events=[progress(7, at_s=990, source=records(500, 600, 640), rows=100)])
        rig = Rig(query)
        operator = rig.operator()
        assert operator.batches == ()
        assert operator.done_records == 600
        assert operator.arrivals == (ArrivalPoint(990.1, 640),)

    def test_positions_are_the_sources_own_so_that_a_new_driver_goes_on_with_them(self) -> None:
        rig = Rig()
        rig.finish(8, 600, 700)
        operator = rig.operator()
        assert (operator.batches[0].first_record, operator.done_records) == (600, 700)

    def test_rows_of_tasks_that_ran_twice_are_not_volume(self) -> None:
        rig = Rig()
        rig.finish(0, 0, 100)
        rig.query.events[0] = {**rig.query.events[0], "numInputRows": 200}
        operator = rig.operator()
        assert operator.batches[0].records == 100

    def test_a_batch_knows_its_tasks_and_what_was_the_drivers_part(self) -> None:
        rig = Rig()
        rig.finish(0, 0, 100, took_s=2.0)
        (batch,) = rig.operator().batches
        assert batch.duration_s == pytest.approx(2.0)
        assert batch.tasks == 2
        assert batch.run_s == pytest.approx(1.0)
        assert batch.longest_task_s == pytest.approx(1.0)
        assert batch.mean_task_s == pytest.approx(0.75)
        assert batch.sink_s == pytest.approx(2.0 - 0.03 - 1.6)
        assert batch.phases["addBatch"] == pytest.approx(1.2)

    def test_a_batch_whose_job_is_not_yet_known_waits_one_round(self) -> None:
        rig = Rig()
        rig.query.events.append(progress(0, at_s=999, source=records(0, 100), rows=100))
        assert rig.operator().batches == ()
        rig.run_job(0, launched_s=999.2, completed_s=999.6, rows=100)
        operator = rig.operator()
        assert operator.batches[0].tasks == 2
        assert operator.done_records == 100

    def test_a_batch_whose_job_never_shows_is_told_without_it(self) -> None:
        rig = Rig()
        rig.query.events.append(progress(0, at_s=999, source=records(0, 100), rows=100))
        rig.operator()
        (batch,) = rig.operator().batches
        assert batch.tasks is None
        assert batch.run_s == pytest.approx(0.6)
        assert batch.sink_s is None

    def test_a_source_without_record_offsets_is_counted_by_its_rows(self, caplog: pytest.LogCaptureFixture) -> None:
        rig = Rig()
        for batch_id in range(3):
            source = {"description": "FileStreamSource[/in]", "endOffset": {"logOffset": batch_id}}
            rig.query.events.append(progress(batch_id, at_s=990 + batch_id, source=source, rows=40))
            rig.run_job(batch_id, launched_s=990, completed_s=991, rows=40)
        operator = rig.operator()
        assert [(batch.first_record, batch.end_record) for batch in operator.batches] == [(0, 40), (40, 80), (80, 120)]
        assert operator.done_records == 120
        assert len([record for record in caplog.records if "not record counts" in record.message]) == 1

    def test_a_topic_that_was_made_anew_does_not_take_the_position_back(self) -> None:
        rig = Rig()
        rig.finish(0, 0, 100)
        rig.operator()
        rig.finish(1, 0, 30)
        assert rig.operator().done_records == 100

    def test_the_sources_limit_and_partitions_are_told(self) -> None:
        rig = Rig(FakeQuery(options=[{"recordspertrigger": "500", "partitions": "4"}]))
        rig.finish(0, 0, 100)
        operator = rig.operator()
        assert (operator.records_limit, operator.partitions, operator.parallelism) == (500, 4, 2)

    def test_a_batch_of_several_jobs_is_told_when_all_of_them_have_ended(self) -> None:
        rig = Rig()
        rig.finish(0, 0, 100)
        rig.gateway.job_list.append(JobFact(1, "run-1", 0, (0, 1), 999.9, False))
        assert rig.operator().batches == ()
        rig.gateway.job_list[1] = JobFact(1, "run-1", 0, (0, 1), 999.9, True)
        rig.gateway.stages[1] = StageFact(
            id=1, tasks=5, launched_s=999.9, completed_s=1003.9, longest_task_s=4.0, shares={"0": StageShare(8.0, 5, 0)}
        )
        operator = rig.operator()
        (batch,) = operator.batches
        assert (batch.tasks, batch.longest_task_s) == (5, 4.0)
        assert operator.busy_s == pytest.approx(0.75 + 8.0), "a stage that two jobs name is counted once"


class TestArrivals:
    def test_the_backlog_stands_in_the_curve(self) -> None:
        rig = Rig()
        rig.finish(0, 0, 100, 180)
        operator = rig.operator()
        assert operator.arrivals[-1].records - operator.done_records == 80

    def test_between_batches_the_last_known_point_is_repeated_and_nothing_is_made_up(self) -> None:
        rig = Rig()
        rig.finish(0, 0, 100, 180)
        known = rig.operator().arrivals[-1]
        assert rig.operator().arrivals == (known,)

    def test_an_idle_query_has_no_lag_and_that_is_known_now(self) -> None:
        rig = Rig()
        rig.finish(0, 0, 100)
        rig.operator()
        rig.query.current = IDLE
        operator = rig.operator(at_s=1060.0)
        assert operator.arrivals == (ArrivalPoint(1060.0, 100),)
        assert operator.done_records == 100

    def test_idleness_is_only_claimed_up_to_the_last_look(self) -> None:
        rig = Rig(FakeQuery(trigger_s=30.0))
        rig.finish(0, 0, 100)
        rig.operator()
        rig.query.current = IDLE
        assert rig.operator(at_s=1060.0).arrivals == (ArrivalPoint(1030.0, 100),)

    def test_a_probe_knows_better_than_an_idle_query(self) -> None:
        probe = FakeProbe()
        rig = Rig(FakeQuery(current=IDLE), probe=probe)
        rig.finish(0, 0, 100)
        probe.records = 130
        assert rig.operator(at_s=1060.0).arrivals[-1] == ArrivalPoint(1060.0, 130)

    def test_a_query_that_idles_before_its_first_batch_is_ready_and_its_volume_does_not_jump(self) -> None:
        rig = Rig(FakeQuery(current=IDLE))
        assert rig.operator().done_records == 0
        rig.finish(5, 7000, 7100)
        operator = rig.operator()
        assert (operator.batches[0].first_record, operator.done_records) == (0, 100)

    def test_a_probe_waits_until_the_query_has_said_where_it_is(self) -> None:
        probe = FakeProbe()
        probe.records = 7300
        rig = Rig(FakeQuery(current=IDLE), probe=probe)
        assert rig.operator().arrivals[-1].records == 0
        rig.finish(5, 7000, 7100, 7300)
        operator = rig.operator()
        assert operator.arrivals[-1].records - operator.done_records == 200

    def test_a_topic_that_does_not_begin_at_zero_has_no_lag_before_its_beginning(self) -> None:
        query = FakeQuery(first={"t": {"0": 6900}})
        rig = Rig(query)
        source = {"startOffset": None, "endOffset": {"t": {"0": 7000}}, "latestOffset": {"t": {"0": 7050}}}
        query.events.append(progress(0, at_s=999, source=source, rows=100))
        rig.run_job(0, launched_s=999.2, completed_s=999.8, rows=100)
        operator = rig.operator()
        assert (operator.batches[0].first_record, operator.done_records) == (6900, 7000)
        assert operator.arrivals[-1].records - operator.done_records == 50

    def test_a_look_that_found_nothing_is_a_point_and_not_a_batch(self) -> None:
        rig = Rig()
        rig.finish(0, 0, 100)
        rig.operator()
        rig.query.events.append(progress(1, at_s=1004, source=records(100, 100), executed=False))
        operator = rig.operator(at_s=1006)
        assert operator.batches == ()
        assert operator.arrivals == (ArrivalPoint(1004.1, 100),)
        rig.finish(1, 100, 130)
        assert ids(rig.operator().batches) == [1]

    def test_a_probe_sees_the_lag_grow_while_a_batch_runs(self) -> None:
        probe = FakeProbe()
        rig = Rig(probe=probe)
        rig.finish(0, 0, 100)
        lags = []
        for arrived in (120.0, 150.0, 190.0):
            probe.records = arrived
            operator = rig.operator()
            assert operator.arrivals[-1].time_s == rig.clock.time_s
            lags.append(operator.arrivals[-1].records - operator.done_records)
        assert lags == [20, 50, 90]

    def test_a_probe_that_fails_costs_a_point_and_not_the_sample(self) -> None:
        probe = FakeProbe()
        rig = Rig(probe=probe)
        rig.finish(0, 0, 100)
        rig.operator()
        probe.fault = Temporary("broker away")
        assert rig.operator().done_records == 100

    def test_the_curve_never_turns_back(self) -> None:
        probe = FakeProbe()
        rig = Rig(probe=probe)
        rig.finish(0, 0, 100)
        points: list[ArrivalPoint] = []
        for batch_id, arrived in enumerate((130.0, 120.0, 300.0), start=1):
            probe.records = arrived
            points.extend(rig.operator().arrivals)
            rig.finish(batch_id, batch_id * 100, batch_id * 100 + 100)
        for before, after in pairwise(points):
            assert after.time_s > before.time_s
            assert after.records >= before.records


class TestExecutors:
    def test_an_executor_is_told_with_its_counters(self) -> None:
        rig = Rig()
        rig.finish(0, 0, 100)
        (executor,) = rig.collect(at_s=1010).executors
        assert (executor.id, executor.node, executor.cores, executor.tasks_done) == ("0", "node-1", 1, 3)
        assert executor.age_s == 110
        assert executor.busy_s == 2.0
        assert executor.records == 75
        assert executor.state is ExecutorState.ACTIVE

    def test_records_are_whose_work_they_made_and_not_whose_who_read_them(self) -> None:
        rig = Rig()
        rig.finish(0, 0, 100)
        rig.gateway.add("1")
        before = {executor.id: executor.records for executor in rig.collect(at_s=1010).executors}
        rig.gateway.stages |= {
            7: StageFact(id=7, tasks=1, shares={"0": StageShare(1.0, 1, 100.0)}),
            8: StageFact(id=8, tasks=2, shares={"0": StageShare(1.0, 1, 0, 30.0), "1": StageShare(2.0, 1, 0, 90.0)}),
        }
        rig.gateway.job_list.append(JobFact(9, "run-1", 1, (7, 8), 1000.0, True))
        after = {executor.id: executor.records for executor in rig.collect(at_s=1011).executors}
        assert {executor: after[executor] - before[executor] for executor in after} == {"0": 43.75, "1": 56.25}

    def test_running_tasks_count_as_busy_before_they_end(self) -> None:
        rig = Rig()
        rig.finish(0, 0, 100)
        rig.collect()
        rig.gateway.add("0", since_s=900.0, busy_s=2.0, tasks_running=1)
        rig.gateway.job_list.append(JobFact(1, "run-1", 1, (1,), 1000.0, False))
        rig.gateway.active = (ActiveStage(1, 0.5, (RunningTask("0", 1000.0),)),)
        measured = rig.collect(at_s=1004.0)
        assert measured.executors[0].busy_s == pytest.approx(2.0 + 4.0)
        assert measured.operators[0].busy_s == pytest.approx(0.75 + 0.5 + 4.0)

    def test_busy_time_never_falls_when_a_task_ends_between_two_questions(self) -> None:
        rig = Rig()
        rig.finish(0, 0, 100)
        rig.gateway.add("0", since_s=900.0, busy_s=2.0, tasks_running=1)
        rig.gateway.active = (ActiveStage(1, 0.0, (RunningTask("0", 990.0),)),)
        busy_s = rig.collect().executors[0].busy_s
        rig.gateway.active = ()
        assert rig.collect().executors[0].busy_s == busy_s

    def test_an_executor_that_vanishes_between_two_answers_is_left_out(self) -> None:
        rig = Rig()
        rig.finish(0, 0, 100)
        rig.gateway.add("1")
        del rig.gateway.times["1"]
        assert [executor.id for executor in rig.collect().executors] == ["0"]

    def test_executors_on_their_way_out_are_marked(self) -> None:
        rig = Rig()
        rig.finish(0, 0, 100)
        assert rig.collect(leaving=["0"]).executors[0].state is ExecutorState.LEAVING

    def test_jobs_of_others_are_no_work_of_the_query(self) -> None:
        rig = Rig()
        rig.finish(0, 0, 100)
        rig.gateway.job_list.append(JobFact(1, "someone", None, (0,), 990.0, True))
        assert rig.collect().operators[0].busy_s == pytest.approx(0.75)

    def test_many_jobs_since_the_last_look_are_all_read(self) -> None:
        rig = Rig()
        for batch_id in range(60):
            rig.finish(batch_id, batch_id * 10, batch_id * 10 + 10)
        operator = rig.operator()
        assert len(operator.batches) == 60
        assert all(batch.tasks == 2 for batch in operator.batches)
        assert rig.gateway.jobs_asked_for[-1] > 16

    def test_a_query_that_has_ended_still_tells_its_last_batches(self) -> None:
        rig = Rig()
        rig.finish(0, 0, 100)
        rig.query.current = QueryState(active=False, failure="boom")
        measured = rig.collect()
        assert ids(measured.operators[0].batches) == [0]
        ((_, state),) = measured.states
        assert state.failure == "boom"
