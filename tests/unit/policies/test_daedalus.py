"""What Daedalus makes of evaluations."""

from __future__ import annotations

import dataclasses
import json
import math
from typing import Any

import pytest

from headgate.core.decision import Proposal
from headgate.core.evaluation import BatchEvaluation, CoursePoint, Evaluation, ExecutorEvaluation, OperatorEvaluation
from headgate.core.sample import AgentEvent, EventKind
from headgate.policies.daedalus import Daedalus
from headgate.testing import knowledge


def minute(
    index: int,
    *,
    rate: float = 2500.0,
    executors: int = 4,
    slope: float = 1000.0,
    lag: float = 0.0,
    events: tuple[AgentEvent, ...] = (),
    finished: float | None = None,
) -> Evaluation:
    """A minute of an app whose executors carry ``slope`` records/s each."""
    share = rate / executors / slope
    course = tuple(
        CoursePoint(share * (1 + wave), share * (1 + wave) * slope) for wave in (-0.1, 0.0, 0.1, -0.05, 0.05, 0.0)
    )
    return Evaluation(
        time_s=1000.0 + 60.0 * index,
        operators=(
            OperatorEvaluation(
                name="source",
                arrivals_per_s=(rate,) * 60,
                finished_per_s=(rate if finished is None else finished,) * 60,
                lag_records=lag,
            ),
        ),
        executors=tuple(
            ExecutorEvaluation(id=str(number), busy=share, input_rate=share * slope, age_s=1e6, course=course)
            for number in range(executors)
        ),
        events=events,
        window_s=60.0,
    )


def codes(proposal: Proposal) -> list[str]:
    return [reason.code for reason in proposal.reasons]


def inputs(proposal: Proposal, code: str) -> dict[str, Any]:
    return dict(next(reason.inputs for reason in proposal.reasons if reason.code == code))


@pytest.mark.parametrize(("lag", "size"), [(20_000.0, 3), (23_500.0, 4)])
def test_what_micro_batches_always_have_in_hand_does_not_keep_it_from_shrinking(lag: float, size: int) -> None:
    """2500 records/s in batches of 4 s: one runs, one gathers, and 20 000 records are no lag at all."""
    seen = minute(0, executors=6, lag=lag)
    (source,) = seen.operators
    batch = BatchEvaluation(count=15, duration_s=4.0, records=10_000.0, largest_records=11_000.0)
    seen = dataclasses.replace(seen, operators=(dataclasses.replace(source, batch=batch),))
    proposal = Daedalus().decide(seen, knowledge(executors=6))
    assert proposal.allocation.executors == size


@pytest.mark.parametrize(("longest_s", "capacity"), [(2.0, 4 * 900.0), (30.0, 4 * 29_800 / 30)])
def test_capacity_is_that_of_batches_that_may_get_so_long(longest_s: float, capacity: float) -> None:
    """A batch a second, of which 0.2 s are its own, and 1000 records a second in the rest."""
    course = tuple(CoursePoint(0.2 + rate / 1000, rate, 1.0) for rate in (300.0, 400.0, 500.0))
    seen = minute(0, rate=1600.0)
    executors = tuple(dataclasses.replace(executor, course=course) for executor in seen.executors)
    seen = dataclasses.replace(seen, executors=executors)
    proposal = Daedalus(longest_batch_s=longest_s).decide(seen, knowledge(executors=4, bounds=(4, 4)))
    assert inputs(proposal, "fits-already")["capacity"] == pytest.approx(capacity)


def test_it_shrinks_to_the_fewest_that_carry_the_load() -> None:
    """2500 records/s on executors of 1000 each: three."""
    proposal = Daedalus().decide(minute(0), knowledge(executors=4))
    assert proposal.allocation.executors == 3
    assert codes(proposal) == ["forecast-line", "capacity", "fits"]
    figures = inputs(proposal, "fits")
    assert figures["capacity"] == pytest.approx(3000.0)
    assert (figures["capacity_from"], figures["workload"]) == ("average", 2500.0)
    assert figures["passed_over"] == {"1": "below-workload", "2": "below-workload"}
    assert figures["recovery_s"] == pytest.approx(0.0)


def test_it_says_what_the_present_executors_carry_and_how_sure_that_is() -> None:
    """Points of 20 and 40 % that lie 10 records/s off a line of 1000, up and down: known, but not exactly."""
    seen = minute(0)
    course = tuple(
        CoursePoint(share, 1000.0 * share + away) for share, away in ((0.2, 10), (0.2, -10), (0.4, 10), (0.4, -10))
    )
    executors = tuple(dataclasses.replace(executor, course=course) for executor in seen.executors)
    proposal = Daedalus().decide(dataclasses.replace(seen, executors=executors), knowledge(executors=4))
    figures = inputs(proposal, "capacity")
    # Of each: s² = 400 ÷ 2, error² = s² (1 ÷ 4 + 0.7² ÷ 0.04); four of them, to 1.96 errors.
    away = 1.96 * math.sqrt(4 * 200 * (0.25 + 0.49 / 0.04))
    assert (figures["from"], figures["points"], figures["executors"]) == ("regression", 16, 4)
    assert [figures[key] for key in ("rate", "low", "high")] == pytest.approx([4000.0, 4000 - away, 4000 + away])
    assert figures["confidence"] == pytest.approx(1 - away / 4000)
    (message,) = [reason.message for reason in proposal.reasons if reason.code == "capacity"]
    assert message == "4 executors carry 4000 records/s, in 19 of 20 cases 3804 to 4196"
    young = dataclasses.replace(
        seen, executors=tuple(dataclasses.replace(one, course=one.course[:1]) for one in executors)
    )
    rough = inputs(Daedalus().decide(young, knowledge(executors=4)), "capacity")
    assert (rough["from"], rough["low"], rough["confidence"]) == ("ratio", None, None)


def test_in_a_chain_capacity_is_that_of_what_comes_from_outside() -> None:
    """Each record becomes 17 further down, so executors take in 18 for each that comes: 18 000 a second are 1000."""
    alone = minute(0)
    (source,) = alone.operators
    operators = (
        dataclasses.replace(source, input_rate=2500.0),
        OperatorEvaluation(name="words", upstream=("source",), input_rate=17 * 2500.0),
    )
    executors = tuple(
        dataclasses.replace(each, course=tuple(point._replace(rate=18 * point.rate) for point in each.course))
        for each in alone.executors
    )
    chain = dataclasses.replace(alone, operators=operators, executors=executors)
    proposal = Daedalus().decide(chain, knowledge(executors=4))
    assert inputs(proposal, "fits")["capacity"] == pytest.approx(3000.0)
    assert proposal.allocation.executors == 3


def test_an_engine_that_stops_is_given_its_downtime_and_its_replay() -> None:
    """15 s × 2500 and 10 s × 2500 wait; three have 500 to spare: 15 + 125 s. Four: 15 + 62 500 ÷ 1500."""
    known = knowledge(executors=8)
    stops = dataclasses.replace(known, description=dataclasses.replace(known.description, seamless=False))
    proposal = Daedalus().decide(minute(0, executors=8), stops)
    assert inputs(proposal, "fits")["recovery_s"] == pytest.approx(15 + 62_500 / 500)
    assert proposal.reasons[-1].message.endswith("within 140 s, of which 15 s are a stop")
    quick = Daedalus(recovery_target_s=100.0).decide(minute(0, executors=8), stops)
    assert quick.allocation.executors == 4
    assert inputs(quick, "fits")["passed_over"]["3"] == "recovers-too-slowly"
    assert inputs(quick, "fits")["recovery_s"] == pytest.approx(15 + 62_500 / 1500)


def test_recovery_has_an_optimistic_and_a_pessimistic_value_from_the_forecasts_interval() -> None:
    """A model that drifts by nothing and is sure of nothing: the interval opens with every second."""
    model = {"ar": [], "ma": [], "differences": 1, "mean": 0.0, "variance": 25.0}
    known = knowledge(executors=8, memory={"model": model})
    stops = dataclasses.replace(known, description=dataclasses.replace(known.description, seamless=False))
    figures = inputs(Daedalus().decide(minute(0, executors=8), stops), "fits")
    assert figures["recovery_optimistic_s"] < figures["recovery_s"] < figures["recovery_pessimistic_s"]
    assert figures["recovery_s"] == pytest.approx(15 + 62_500 / 500)
    assert figures["downtime_s"] == 15.0


def test_on_an_engine_that_does_not_stop_the_slow_batch_of_a_joining_executor_is_the_downtime() -> None:
    policy = Daedalus()
    slow = AgentEvent(time_s=1070.0, kind=EventKind.SLOW_BATCH, message="", figures={"extra_s": 3.5})
    first = policy.decide(minute(0, rate=3500.0), knowledge(executors=4))
    memory = {**first.memory, "size": 3}
    second = policy.decide(minute(1, rate=3500.0, events=(slow,)), knowledge(executors=4, memory=memory))
    assert second.memory["downtimes"]["sizes"] == {"out:4": 3.5}
    grown = policy.decide(minute(2, rate=4500.0), knowledge(executors=4, memory={**second.memory, "size": 4}))
    assert "grace-period" in codes(grown)
    later = policy.decide(minute(9, rate=4500.0), knowledge(executors=4, memory=grown.memory))
    assert later.reasons[-1].message.endswith("of which 4 s are a slower batch")


def test_after_a_rescale_there_is_a_grace_period_and_then_need_decides() -> None:
    policy = Daedalus()
    first = policy.decide(minute(0), knowledge(executors=4))
    memory = first.memory
    # Two minutes later the load has grown, but it is too early; after three minutes it is not.
    for index, rate, expected, code in ((1, 3500.0, 3, "grace-period"), (2, 3500.0, 3, "grace-period")):
        proposal = policy.decide(minute(index, rate=rate, executors=3), knowledge(executors=3, memory=memory))
        assert (proposal.allocation.executors, codes(proposal)[-1]) == (expected, code)
        memory = proposal.memory
    proposal = policy.decide(minute(4, rate=3500.0, executors=3), knowledge(executors=3, memory=memory))
    assert proposal.allocation.executors == 4
    calm = policy.decide(minute(4, rate=1500.0, executors=3), knowledge(executors=3, memory=memory))
    assert codes(calm)[-1] == "recently-rescaled"


def test_the_first_model_is_asked_for_when_there_is_enough_history_and_adopted_when_it_comes() -> None:
    policy = Daedalus()
    memory: Any = {}
    history: tuple[Any, ...] = ()
    asked = []
    for index in range(7):
        known = knowledge(executors=3, memory=memory, history=history)
        proposal = policy.decide(minute(index, executors=3), known)
        asked.append(proposal.train)
        memory = proposal.memory
        history = (*history, tick(index, minute(index, executors=3)))
    assert asked == [False, False, False, False, True, False, False]
    delivered = {"model": {"ar": [], "ma": [], "differences": 1, "mean": 5.0, "variance": 1.0}}
    known = dataclasses.replace(knowledge(executors=3, memory=memory, history=history), delivered=delivered)
    proposal = policy.decide(minute(7, executors=3), known)
    assert codes(proposal)[:2] == ["training-adopted", "forecast-arima"]
    # It was trained to drift by 5 a second, and nothing of what has come so far did.
    assert inputs(proposal, "forecast-arima")["peak"] == pytest.approx(2500.0)
    drifted = {**memory, "tendency": [2, 2500.0, 0.0, 0.0, 0.0, 0.0]}
    rising = policy.decide(minute(7, executors=3), dataclasses.replace(known, memory=drifted))
    # 2500 more in the 1420 - 30 s since the first.
    assert inputs(rising, "forecast-arima")["peak"] == pytest.approx(2500 + 900 * 2500 / 1390)
    assert rising.allocation.executors == 5
    assert rising.memory["told"][:2] == pytest.approx([2500 + 2500 / 1390, 2500 + 5000 / 1390])


def test_a_poor_forecast_is_replaced_by_a_line_and_many_of_them_by_a_new_model() -> None:
    policy = Daedalus(retrain_after=3)
    memory: Any = {"model": {"ar": [], "ma": [], "differences": 1, "mean": 0.0, "variance": 1.0}, "told": [100.0] * 60}
    seen = []
    for index in range(4):
        proposal = policy.decide(minute(index, executors=3), knowledge(executors=3, memory=memory))
        seen.append((codes(proposal)[0], proposal.train))
        memory = {**proposal.memory, "told": [100.0] * 60}
    assert seen == [
        ("forecast-line", False),
        ("forecast-line", False),
        ("forecast-line", True),
        ("forecast-line", False),
    ]
    good = policy.decide(
        minute(5, executors=3), knowledge(executors=3, memory={**memory, "told": [2400.0] * 60, "asked": False})
    )
    assert codes(good)[0] == "forecast-arima"
    assert inputs(good, "forecast-arima") == {"wape": pytest.approx(0.04), "poor_in_a_row": 0, "peak": 2500.0}


@pytest.mark.parametrize("forecaster", ["line", "seasonal-naive", "smoothing"])
def test_other_forecasters_need_no_training(forecaster: str) -> None:
    policy = Daedalus(forecaster=forecaster, season_s=120.0, first_training_s=60.0)
    history = tuple(tick(index, minute(index, executors=3)) for index in range(5))
    proposal = policy.decide(minute(5, executors=3), knowledge(executors=3, history=history))
    assert codes(proposal)[0] == f"forecast-{forecaster}"
    assert inputs(proposal, f"forecast-{forecaster}")["peak"] == pytest.approx(2500.0)
    assert not proposal.train


def test_a_training_that_failed_is_said_and_not_tried_again_at_once() -> None:
    policy = Daedalus(first_training_s=60.0)
    known = dataclasses.replace(
        knowledge(executors=3, memory={"asked": True}), delivered={"problem": "MemoryError: no more"}
    )
    proposal = policy.decide(minute(0, executors=3), known)
    assert codes(proposal)[0] == "training-failed"
    assert "MemoryError: no more" in proposal.reasons[0].message
    assert not proposal.train


def test_what_the_engine_says_of_its_downtime_is_learned() -> None:
    policy = Daedalus()
    stopped = AgentEvent(time_s=1050.0, kind=EventKind.RESTARTED, message="", figures={"downtime_s": 42.0})
    first = policy.decide(minute(0), knowledge(executors=4))
    second = policy.decide(minute(1, executors=3, events=(stopped,)), knowledge(executors=3, memory=first.memory))
    assert second.memory["downtimes"]["sizes"] == {"in:3": 42.0}


def test_a_recovery_is_watched_to_its_end_and_corrects_the_downtime() -> None:
    policy = Daedalus()
    memory: Any = {}
    for index, finished in enumerate((2510.0, 2490.0)):
        # Workload and throughput differ by 10 to either side: that is normal.
        proposal = policy.decide(minute(index, finished=finished), knowledge(executors=4, memory=memory))
        memory = proposal.memory
    for index in (2, 3):
        behind = policy.decide(minute(index, executors=3, finished=900.0), knowledge(executors=3, memory=memory))
        assert "recovered" not in codes(behind)
        memory = behind.memory
    assert memory["watch"] == {"began_s": 1060.0, "normal_since_s": None}
    normal = policy.decide(minute(4, executors=3, finished=2500.0), knowledge(executors=3, memory=behind.memory))
    assert "recovered" in codes(normal)
    figures = inputs(normal, "recovered")
    # Normal since the minute that ended at 1240 began; the rescale was at 1060.
    assert figures["measured_s"] == pytest.approx(1180.0 - 1060.0)
    (downtime_s,) = normal.memory["downtimes"]["sizes"].values()
    assert 0 < downtime_s < 120.0
    assert normal.memory["watch"] is None


def test_a_stream_that_waits_for_executors_has_not_recovered_however_normal_it_is() -> None:
    policy = Daedalus()
    memory: Any = {}
    for index, finished in enumerate((2510.0, 2490.0)):
        memory = policy.decide(minute(index, finished=finished), knowledge(executors=4, memory=memory)).memory
    waiting = dataclasses.replace(minute(2), pending_executors=1)
    held = policy.decide(waiting, knowledge(executors=5, memory=memory))
    assert "recovered" not in codes(held)
    joined = AgentEvent(time_s=1145.0, kind=EventKind.JOINED, message="", figures={"join_s": 85.0})
    normal = policy.decide(minute(3, executors=5, events=(joined,)), knowledge(executors=5, memory=held.memory))
    # They joined in the middle of the block from 1140 to 1150; what began after it was normal. The rescale was at 1060.
    assert inputs(normal, "recovered")["measured_s"] == pytest.approx(1150.0 - 1060.0)


@pytest.mark.parametrize(
    "seen",
    [
        pytest.param(minute(1, rate=0.0), id="no traffic"),
        pytest.param(minute(1, rate=125_000.0), id="fifty times as much"),
        pytest.param(minute(-5), id="the clock went backwards"),
        pytest.param(dataclasses.replace(minute(1), executors=()), id="executors vanished"),
        pytest.param(
            dataclasses.replace(minute(1), executors=(ExecutorEvaluation(id="0"),)), id="no figures of executors"
        ),
        pytest.param(dataclasses.replace(minute(1), operators=()), id="no figures of operators"),
    ],
)
def test_bad_data_gives_a_decision_with_its_reason(seen: Evaluation) -> None:
    policy = Daedalus()
    first = policy.decide(minute(0), knowledge(executors=4))
    proposal = policy.decide(seen, knowledge(executors=4, memory=first.memory))
    assert proposal.reasons
    assert proposal.allocation.executors >= 1
    json.dumps(proposal.memory, allow_nan=False)
    again = policy.decide(minute(2), knowledge(executors=4, memory=proposal.memory))
    assert again.reasons


def test_an_hour_without_traffic_ends_at_the_least_size() -> None:
    policy, memory, size = Daedalus(), {}, 4
    for index in range(60):
        rate = 2500.0 if index == 0 else 0.0
        proposal = policy.decide(minute(index, rate=rate, executors=size), knowledge(executors=size, memory=memory))
        memory, size = proposal.memory, proposal.allocation.executors
    assert size == 1


def test_what_it_remembers_does_not_grow() -> None:
    policy, memory = Daedalus(), {}
    lengths = []
    for index in range(200):
        proposal = policy.decide(
            minute(index, rate=2500 + 100 * math.sin(index / 9)), knowledge(executors=4, memory=memory)
        )
        memory = proposal.memory
        lengths.append(len(json.dumps(memory)))
    assert max(lengths[100:]) <= 1.1 * max(lengths[5:50])


def tick(index: int, evaluation: Evaluation) -> Any:
    from headgate.core.allocation import Allocation
    from headgate.core.decision import Decision, Outcome, Tick

    size = Allocation(executors=3)
    return Tick(
        index=index,
        time_s=evaluation.time_s,
        epoch=1,
        outcome=Outcome.UNCHANGED,
        evaluation=evaluation,
        decision=Decision(time_s=evaluation.time_s, current=size, wanted=size, granted=size),
    )
