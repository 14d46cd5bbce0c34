"""The greatest sustainable rate, searched for in virtual time on queues whose capacity is known."""

from __future__ import annotations

import math
from dataclasses import replace
from statistics import median

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from virtual_bench import Operator, VirtualBench

from headgate.core.sample import ArrivalPoint, Batch
from headgate.scoring.backlogs import Drain, WarmUp, rate_of_more
from headgate.scoring.holds import OperatorCourse, OperatorHold, Step, StepOutcome, judge
from headgate.scoring.scalability import MeasuredSize, Measurement
from headgate.scoring.sustainable import Bracket, RateSearch, limit_by_batches
from headgate.wiring.measurement import Measuring, Wishes


def measured(bench: VirtualBench, **wishes: object) -> Measurement:
    made = Wishes(**({"executors": (1,)} | wishes))  # type: ignore[arg-type]
    return Measuring(bench, made, app="tested", quota=None, say=lambda _: None).run()


def one_operator(capacity: float, **options: object) -> VirtualBench:
    return VirtualBench(make=lambda n: [Operator(capacity=capacity * n)], **options)  # type: ignore[arg-type]


def held(
    rate: float,
    outcome: StepOutcome,
    *,
    slope: float = 0.0,
    busy: float = 1.0,
    sent: float | None = None,
    batch_s: float = 1.0,
) -> Step:
    course = OperatorCourse(
        name="only",
        growing=outcome is StepOutcome.LAG_GREW,
        lag_slope=slope,
        lag_records=0.0,
        batch_s=batch_s,
        longest_batch_s=batch_s,
        busy=busy,
    )
    achieved = rate if sent is None else sent
    return Step(asked_rate=rate, achieved_rate=achieved, held_s=12.0, outcome=outcome, operators=(course,))


def sustained(rate: float, batch_s: float) -> Step:
    return held(rate, StepOutcome.SUSTAINED, batch_s=batch_s)


class TestSearchOnAQueue:
    @settings(max_examples=25)
    @given(capacity=st.floats(min_value=20, max_value=200_000))
    def test_a_known_capacity_is_found_as_precisely_as_asked_and_in_a_few_steps(self, capacity: float) -> None:
        size = measured(one_operator(capacity), precision=0.08).sizes[0]

        assert size.rate == pytest.approx(capacity, rel=0.08)
        assert size.bracket.exceeded is not None
        assert size.rate < size.bracket.exceeded <= 1.08 * size.rate
        assert len(size.steps) <= 8

    def test_batches_of_uneven_length_blur_it_only_a_little(self) -> None:
        rates = [measured(one_operator(1000.0, noise=0.05, seed=seed)).sizes[0].rate or 0.0 for seed in range(30)]

        assert median(abs(rate / 1000.0 - 1) for rate in rates) < 0.06
        assert max(abs(rate / 1000.0 - 1) for rate in rates) < 0.16

    @pytest.mark.parametrize("start", [30.0, 300.0, 950.0, 3000.0, 20_000.0])
    def test_wherever_it_starts(self, start: float) -> None:
        size = measured(one_operator(1000.0), start_rate=start).sizes[0]

        assert size.steps[0].asked_rate == start
        assert size.rate == pytest.approx(1000.0, rel=0.1)
        assert len(size.steps) <= 10

    def test_batches_that_are_limited_are_counted_with_their_overhead(self) -> None:
        bench = VirtualBench(make=lambda _: [Operator(capacity=1000.0, overhead_s=0.3, limit=2000.0)])

        # 2000 records take 2.3 s.
        assert measured(bench).sizes[0].rate == pytest.approx(2000 / 2.3, rel=0.08)

    @pytest.mark.parametrize("overhead_s", [0.5, 1.5, 3.0])
    def test_batches_that_are_long_by_themselves_do_not_hide_that_lag_grows(self, overhead_s: float) -> None:
        bench = VirtualBench(make=lambda _: [Operator(capacity=1000.0, overhead_s=overhead_s)])

        size = measured(bench, hold_s=8.0).sizes[0]
        assert size.rate is not None
        assert 700.0 <= size.rate <= 1020.0

    def test_batches_that_are_longer_than_a_hold_are_waited_for(self) -> None:
        bench = VirtualBench(make=lambda _: [Operator(capacity=1000.0, overhead_s=10.0)], trigger_s=2.0)

        size = measured(bench, hold_s=4.0, start_rate=300.0).sizes[0]
        assert size.rate is not None
        assert 400.0 <= size.rate <= 1020.0

    def test_a_chain_is_as_fast_as_its_narrowest_operator_which_is_named(self) -> None:
        def chain(_: int) -> list[Operator]:
            split = Operator(capacity=3000.0, name="split", selectivity=2.0)
            return [split, Operator(capacity=10_000.0, name="filter"), Operator(capacity=2000.0, name="count")]

        size = measured(VirtualBench(make=chain)).sizes[0]

        assert size.rate == pytest.approx(1000.0, rel=0.08)
        assert size.gave_in == "count"

    @pytest.mark.parametrize("start_rate", [40.0, 150.0, 400.0])
    def test_a_long_chain_is_not_judged_before_the_first_records_have_come_down(self, start_rate: float) -> None:
        def chain(_: int) -> list[Operator]:
            return [Operator(capacity=300.0 + 50 * place, name=str(place), overhead_s=0.8) for place in range(5)]

        size = measured(VirtualBench(make=chain, trigger_s=2.0), hold_s=8.0, start_rate=start_rate).sizes[0]

        assert size.rate == pytest.approx(300.0, rel=0.2)

    @pytest.mark.parametrize("seed", range(6))
    def test_a_chain_with_slow_batches_is_held_until_it_has_filled(self, seed: int) -> None:
        """Batches of six seconds and more: within a minute not ten of them, of which the first ones fill the chain."""

        def chain(_: int) -> list[Operator]:
            return [Operator(capacity=4.0 + 0.5 * place, name=str(place), overhead_s=5.0) for place in range(4)]

        bench = VirtualBench(make=chain, trigger_s=1.0, noise=0.1, seed=seed)
        size = measured(bench, hold_s=12.0, start_rate=2.6).sizes[0]

        assert size.rate is not None
        assert 2.2 <= size.rate <= 4.2

    def test_the_largest_size_comes_first_and_the_smaller_reuse_what_it_has_taught(self) -> None:
        def saturating(executors: int) -> list[Operator]:
            return [Operator(capacity=1000.0 * executors**0.8)]

        bench = VirtualBench(make=saturating)
        measurement = measured(bench, executors=(2, 1, 4))

        assert [call for call in bench.calls if call.startswith("resize")] == ["resize 4", "resize 2", "resize 1"]
        assert [size.executors for size in measurement.sizes] == [1, 2, 4]
        efficiencies = [measurement.efficiency(size) for size in measurement.sizes]
        assert efficiencies == pytest.approx([1.0, 2**-0.2, 4**-0.2], rel=0.1)
        starts = [size.steps[0].asked_rate / size.rate for size in measurement.sizes if size.rate is not None]
        assert starts[-1] < 0.8
        assert all(0.7 < start < 1.1 for start in starts[:-1])
        assert [len(size.drains) for size in measurement.sizes[:-1]] == [0, 0]

    def test_a_rate_cap_is_never_exceeded_and_answered_with_at_least(self) -> None:
        measurement = measured(one_operator(1e9), most_rate=5000.0)

        (size,) = measurement.sizes
        assert max(step.asked_rate for step in size.steps) <= 5000.0
        assert (size.rate, size.at_least) == (5000.0, True)
        assert any("at least" in note for note in measurement.notes)

    def test_what_the_producer_cannot_send_is_never_counted_as_sustained(self) -> None:
        measurement = measured(one_operator(1000.0, producer_limit=600.0))

        (size,) = measurement.sizes
        assert size.producer_short
        assert size.rate is not None
        assert 0.9 * 600 <= size.rate <= 600
        assert size.at_least
        assert any("could not be sent" in note for note in measurement.notes)

    def test_every_rate_meets_an_app_without_lag(self) -> None:
        bench = one_operator(1000.0)
        measured(bench)

        holds = [index for index, call in enumerate(bench.calls) if call == "hold"]
        assert all(bench.calls[index + 1] == "settle" for index in holds)

    def test_an_interrupt_keeps_what_was_found_so_far(self) -> None:
        bench = one_operator(1000.0, interrupt_after=2)

        measurement = measured(bench, executors=(1, 2))

        assert not measurement.complete
        (size,) = measurement.sizes
        assert (size.executors, size.finished, len(size.steps)) == (2, False, 2)
        assert size.rate == max(step.asked_rate for step in size.steps)

    def test_an_interrupt_before_the_first_rate_leaves_nothing(self) -> None:
        assert measured(one_operator(1000.0, interrupt_after=0)).sizes == ()


class TestNextRate:
    def test_it_begins_at_the_start(self) -> None:
        assert RateSearch(start=100.0).next_rate([]) == 100.0

    def test_a_busy_app_is_given_a_little_more_and_an_idle_one_much_more(self) -> None:
        search = RateSearch(start=100.0)

        assert search.next_rate([held(100.0, StepOutcome.SUSTAINED)]) == pytest.approx(130.0)
        assert search.next_rate([held(100.0, StepOutcome.SUSTAINED, busy=0.4)]) == pytest.approx(200.0)
        assert search.next_rate([held(100.0, StepOutcome.SUSTAINED, busy=0.0)]) == pytest.approx(250.0)

    def test_after_too_much_it_goes_to_what_was_served(self) -> None:
        search = RateSearch(start=100.0)

        assert search.next_rate([held(100.0, StepOutcome.LAG_GREW, slope=0.4)]) == pytest.approx(57.0)
        assert search.next_rate([held(100.0, StepOutcome.LAG_GREW, slope=1.5)]) == pytest.approx(40.0)

    def test_between_the_two_ends_it_halves_until_they_are_close(self) -> None:
        search = RateSearch(start=100.0)
        steps = [held(100.0, StepOutcome.SUSTAINED), held(121.0, StepOutcome.LAG_GREW)]

        assert search.next_rate(steps) == pytest.approx(110.0)
        assert search.next_rate([*steps, held(113.0, StepOutcome.SUSTAINED)]) is None

    def test_a_rate_that_failed_once_outweighs_a_higher_one_that_did_not(self) -> None:
        steps = [held(120.0, StepOutcome.SUSTAINED), held(110.0, StepOutcome.LAG_GREW)]

        assert RateSearch(start=1.0).bracket(steps) == Bracket(sustained=None, exceeded=110.0)

    def test_lag_that_grew_although_less_was_sent_than_asked_speaks_of_what_was_sent(self) -> None:
        steps = [held(200.0, StepOutcome.LAG_GREW, sent=150.0)]

        assert RateSearch(start=1.0).bracket(steps).exceeded == 150.0

    def test_batches_of_two_rates_tell_where_the_limit_is(self) -> None:
        """1.5 s with 150 records, 2.5 s with 450: 300 records more take a second longer."""
        held = [sustained(100.0, 1.5), sustained(180.0, 2.5)]
        assert limit_by_batches(held) == pytest.approx(300.0)
        assert RateSearch(start=1.0).next_rate(held) == pytest.approx(0.85 * 300.0)
        # Near the limit the next one is the limit itself.
        assert RateSearch(start=1.0).next_rate([sustained(180.0, 2.5), sustained(260.0, 7.5)]) == pytest.approx(300.0)

    def test_as_long_as_batches_are_as_long_as_before_it_goes_on_in_large_steps(self) -> None:
        assert limit_by_batches([sustained(100.0, 1.2), sustained(130.0, 1.25)]) is None
        assert RateSearch(start=1.0).next_rate([sustained(100.0, 1.2), sustained(130.0, 1.25)]) == pytest.approx(260.0)

    def test_it_ends_when_nothing_lower_makes_sense(self) -> None:
        assert RateSearch(start=1.0).next_rate([held(0.2, StepOutcome.LAG_GREW, slope=1.0)]) is None

    @given(
        outcomes=st.lists(st.sampled_from(StepOutcome), min_size=20, max_size=20),
        start=st.floats(min_value=1, max_value=1e6),
        most=st.floats(min_value=1, max_value=1e6),
    )
    def test_whatever_happens_it_ends_and_asks_for_nothing_known_or_forbidden(
        self, outcomes: list[StepOutcome], start: float, most: float
    ) -> None:
        search = RateSearch(start=start, most=most)
        steps: list[Step] = []
        for outcome in outcomes:
            rate = search.next_rate(steps)
            if rate is None:
                break
            known = search.bracket(steps)
            assert rate <= most
            assert known.sustained is None or rate > known.sustained
            assert known.exceeded is None or rate < known.exceeded
            sent = 0.5 * rate if outcome is StepOutcome.PRODUCER_SHORT else rate
            steps.append(held(rate, outcome, sent=sent))
        assert search.next_rate(steps) is None
        assert len(steps) <= search.most_steps


class TestJudge:
    def hold(
        self, *, batches: list[tuple[float, float, float]], rate: float = 100.0, name: str = "only"
    ) -> OperatorHold:
        """Batches as (begin, end, position); 12 seconds of arrivals."""
        made = [Batch(i, begin, end, 0.0, position) for i, (begin, end, position) in enumerate(batches)]
        return OperatorHold(
            name=name,
            arrivals=(ArrivalPoint(0.0, 0.0), ArrivalPoint(12.0, 12 * rate)),
            batches=tuple(made),
            done_records=made[-1].end_record if made else 0.0,
        )

    def judged(self, *holds: OperatorHold, sent: float = 100.0, asked: float = 100.0) -> Step:
        return judge(holds, asked_rate=asked, achieved_rate=sent, started_s=0.0, ended_s=12.0, trigger_s=1.0)

    def test_a_saw_of_any_height_is_sustained_if_it_does_not_rise(self) -> None:
        steady = [(t, t + 2.0, 100.0 * t) for t in range(0, 11, 2)]

        step = self.judged(self.hold(batches=steady))

        assert step.outcome is StepOutcome.SUSTAINED
        assert step.worst.lag_slope == pytest.approx(0.0)
        assert step.worst.lag_records == 200.0
        assert step.slowest.batch_s == 2.0

    def test_batches_that_take_longer_and_longer_are_not(self) -> None:
        ends = [1.0, 2.2, 3.7, 5.6, 8.0, 11.0]
        growing = [(begin, end, 100.0 * begin) for begin, end in zip([0.0, *ends], ends, strict=False)]

        step = self.judged(self.hold(batches=growing))

        assert step.outcome is StepOutcome.LAG_GREW
        assert step.worst.lag_slope == pytest.approx(0.25, abs=0.05)

    @pytest.mark.parametrize(("capacity", "goes_on"), [(100.0, True), (60.0, False)])
    def test_batches_that_only_lengthen_until_they_take_in_what_comes_are_looked_at_again(
        self, capacity: float, goes_on: bool
    ) -> None:
        """From an idle app on, with a second of their own: at 80 records/s they end at 5 s, or never stop to grow."""
        batches, begin, waiting = [], 0.0, 20.0
        while (end := begin + 1.0 + waiting / capacity) < 12.0:
            batches.append(Batch(len(batches), begin, end, 80.0 * begin - waiting, 80.0 * begin))
            begin, waiting = end, 80.0 * (end - begin)
        hold = self.hold(batches=[], rate=80.0)
        step = self.judged(replace(hold, batches=tuple(batches), done_records=80.0 * begin), sent=80.0, asked=80.0)

        assert step.outcome is StepOutcome.LAG_GREW
        assert step.worst.lengthening is goes_on
        # However steep it is for now.
        steep = replace(step, operators=(replace(step.worst, lag_slope=0.5, calm_batch_s=1.0),))
        assert steep.unclear is goes_on

    def test_neither_is_a_batch_that_does_not_end(self) -> None:
        stuck = self.hold(batches=[(0.0, 1.0, 0.0), (1.0, 2.0, 100.0)])

        assert self.judged(stuck).outcome is StepOutcome.LAG_GREW
        assert self.judged(stuck).worst.lag_records == 1000.0

    def test_nor_is_no_batch_at_all(self) -> None:
        step = self.judged(self.hold(batches=[]))

        assert step.outcome is StepOutcome.LAG_GREW
        assert (step.worst.lag_slope, step.worst.busy, step.slowest.batch_s) == (1.0, 1.0, None)

    def test_one_operator_that_falls_behind_is_enough(self) -> None:
        fine = self.hold(batches=[(float(t), t + 1.0, 100.0 * t) for t in range(12)], name="fine")
        behind = self.hold(batches=[(float(t), t + 1.0, 60.0 * t) for t in range(12)], name="behind")

        step = self.judged(fine, behind)

        assert step.outcome is StepOutcome.LAG_GREW
        assert step.worst.name == "behind"
        assert step.worst.lag_slope == pytest.approx(0.4)

    def test_bursts_from_a_slow_operator_upstream_are_no_lag_of_the_next(self) -> None:
        slow = self.hold(batches=[(t, t + 3.0, 100.0 * t) for t in range(0, 10, 3)], name="slow")
        burst = [0.0, 300.0, 300.0, 300.0, 600.0, 600.0, 600.0, 900.0, 900.0, 900.0, 1200.0]
        arrivals = tuple(ArrivalPoint(float(second), records) for second, records in enumerate(burst, 2))
        quick = OperatorHold(
            name="quick",
            arrivals=(ArrivalPoint(0.0, 0.0), *arrivals),
            batches=tuple(Batch(n, t, t + 1.0, 0.0, 100.0 * t) for n, t in enumerate((3.0, 6.0, 9.0))),
            done_records=900.0,
        )

        assert self.judged(slow, quick).outcome is StepOutcome.SUSTAINED

    def test_a_producer_that_was_too_slow_makes_it_inconclusive(self) -> None:
        steady = self.hold(batches=[(float(t), t + 1.0, 100.0 * t) for t in range(12)])

        assert self.judged(steady, sent=96.0).outcome is StepOutcome.PRODUCER_SHORT
        assert self.judged(steady, sent=98.0).outcome is StepOutcome.SUSTAINED

    def test_of_few_records_two_may_be_counted_a_moment_too_late(self) -> None:
        """Twelve seconds at two a second are 24; 22 of them are counted in time."""
        steady = self.hold(rate=2.0, batches=[(float(t), t + 1.0, 2.0 * t) for t in range(12)])

        assert self.judged(steady, asked=2.0, sent=22 / 12).outcome is StepOutcome.SUSTAINED
        assert self.judged(steady, asked=2.0, sent=20 / 12).outcome is StepOutcome.PRODUCER_SHORT

    def test_an_operator_that_nothing_reaches_has_no_lag(self) -> None:
        idle = self.hold(batches=[], rate=0.0)

        assert self.judged(idle).outcome is StepOutcome.SUSTAINED


class TestWarmUp:
    def test_a_backlog_that_took_no_longer_than_a_smaller_one_is_followed_by_a_much_larger_one(self) -> None:
        warm_up = WarmUp(first_records=400)
        fixed = [Drain(records=400, seconds=7.0), Drain(records=800, seconds=7.1)]
        assert warm_up.next_records(fixed) == 6400
        longer = [Drain(records=400, seconds=4.0), Drain(records=800, seconds=7.1)]
        assert warm_up.next_records(longer) == 1600
        assert warm_up.next_records([*fixed, Drain(records=6400, seconds=14.0)]) == 6400

    def test_what_more_records_take_is_told_by_the_quickest_of_each_size(self) -> None:
        seen = (
            (60, 31.3),
            (60, 16.4),
            (120, 11.3),
            (960, 16.7),
            (1920, 24.2),
            (1920, 19.4),
            (3840, 26.1),
            (3840, 29.6),
        )
        drains = [Drain(records=records, seconds=seconds) for records, seconds in seen]
        assert rate_of_more(drains) == pytest.approx(1920 / (26.1 - 19.4))
        assert rate_of_more(drains[:2]) is None
        assert rate_of_more([Drain(records=100, seconds=9.0), Drain(records=200, seconds=8.0)]) is None

    def test_backlogs_grow_until_one_lasts(self) -> None:
        warm_up = WarmUp(first_records=100)

        assert warm_up.next_records([]) == 100
        assert warm_up.next_records([Drain(records=100, seconds=0.5)]) == 800
        assert warm_up.next_records([Drain(records=100, seconds=0.5), Drain(records=800, seconds=2.0)]) == 3200

    def test_a_first_one_that_waited_for_the_start_is_repeated(self) -> None:
        assert WarmUp(first_records=500).next_records([Drain(records=500, seconds=40.0)]) == 500

    def test_it_ends_when_the_app_no_longer_gets_faster(self) -> None:
        cold, warmer = (Drain(records=8000, seconds=seconds) for seconds in (16.0, 10.0))
        warm_up = WarmUp(first_records=8000)

        assert warm_up.next_records([cold, warmer]) == 16_000
        assert warm_up.next_records([cold, warmer, Drain(records=16_000, seconds=15.0)]) == 16_000
        assert warm_up.next_records([cold, warmer, Drain(records=16_000, seconds=19.0)]) is None

    def test_fixed_costs_of_small_batches_are_not_mistaken_for_its_speed(self) -> None:
        def drained(records: int) -> Drain:
            return Drain(records=records, seconds=5.0 + records / 1000)

        warm_up = WarmUp(first_records=100)
        drains: list[Drain] = []
        while (records := warm_up.next_records(drains)) is not None:
            drains.append(drained(records))

        assert drains[-1].rate > 500

    def test_it_need_not_be_faster_than_the_rate_that_may_be_tried(self) -> None:
        warm_up = WarmUp(first_records=100, most_rate=50.0)
        quick = Drain(records=100, seconds=1.5)

        assert warm_up.next_records([quick]) == 400
        assert warm_up.next_records([quick, Drain(records=400, seconds=2.0)]) is None

    def test_a_chain_whose_backlogs_always_take_long_is_sent_more_until_it_is_the_records_that_take_it(self) -> None:
        def drained(records: int) -> Drain:
            return Drain(records=records, seconds=12.5 + records / 40)

        warm_up = WarmUp(first_records=12)
        drains: list[Drain] = []
        while (records := warm_up.next_records(drains)) is not None:
            drains.append(drained(records))

        assert drains[-1].rate > 10
        assert len(drains) <= 6

    def test_a_chain_with_windows_is_sent_as_much_as_it_takes_to_see_its_speed(self) -> None:
        def drained(records: int) -> Drain:
            return Drain(records=records, seconds=11.0 + records / 2000)

        warm_up = WarmUp(first_records=40)
        drains = [Drain(records=40, seconds=32.0)]
        while (records := warm_up.next_records(drains)) is not None:
            drains.append(drained(records))

        assert drains[-1].rate > 800

    def test_it_ends_after_some_rounds_in_any_case(self) -> None:
        faster = [Drain(records=1000 * 2**n, seconds=8.0) for n in range(WarmUp(first_records=1).most_rounds)]

        assert WarmUp(first_records=1).next_records(faster[:-1]) is not None
        assert WarmUp(first_records=1).next_records(faster) is None


def test_the_document_has_every_figure_and_no_infinities() -> None:
    measurement = measured(one_operator(1000.0), executors=(1, 2))

    document = measurement.to_document()

    assert document["app"] == "tested"
    assert document["complete"]
    one, two = document["sizes"]
    assert one["efficiency"] == 1.0
    assert two["rate_per_executor"] == two["rate"] / 2
    assert one["gave_in"] == "only"
    assert one["steps"][0]["outcome"] in set(StepOutcome)
    assert all(math.isfinite(step["asked_rate"]) for step in two["steps"])


def test_efficiency_is_unknown_where_a_rate_is() -> None:
    nothing = MeasuredSize(executors=1, bracket=Bracket(sustained=None, exceeded=10.0))
    some = MeasuredSize(executors=2, bracket=Bracket(sustained=20.0, exceeded=None))
    measurement = Measurement(app="x", sizes=(nothing, some), hold_s=12.0)

    assert measurement.efficiency(some) is None
    assert some.at_least
    assert not nothing.at_least
