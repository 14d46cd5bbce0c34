import pytest

from headgate.core.allocation import Allocation
from headgate.core.decision import Outcome, Ruling
from headgate.core.evaluation import Evaluation
from headgate.guards import StaleMetrics
from headgate.testing import evaluation, knowledge, tick

WANTED = Ruling(allocation=Allocation(executors=9, parallelism={"parse": 2}))


@pytest.mark.parametrize(("age_s", "size"), [(None, 9), (0.0, 9), (120.0, 9), (121.0, 3)])
def test_old_figures_hold_the_size(age_s: float | None, size: int) -> None:
    ruling = StaleMetrics(after_s=120).review(WANTED, evaluation(age_s=age_s), knowledge(executors=3))
    assert ruling.allocation == Allocation(executors=size, parallelism={"parse": 2})


def test_a_fallback_size_is_taken_instead_when_there_is_one() -> None:
    ruling = StaleMetrics(after_s=120, fallback=6).review(WANTED, evaluation(age_s=500.0), knowledge(executors=3))
    assert ruling.allocation.executors == 6
    assert ruling.reasons[0].code == "fallback-for-stale-metrics"
    assert ruling.reasons[0].inputs["wanted"] == 9


def test_without_an_evaluation_age_counts_from_the_last_good_tick() -> None:
    def good(time_s: float, age_s: float | None = None) -> Evaluation:
        return evaluation(time_s=time_s, age_s=age_s)

    blind = [tick(time_s=time_s, current=3, outcome=Outcome.NOT_READY) for time_s in (960.0, 1020.0)]
    held = Ruling(allocation=Allocation(executors=3))
    guard = StaleMetrics(after_s=120, fallback=6)
    fresh = knowledge(history=[tick(time_s=960, current=3, evaluation=good(960)), *blind[1:]])
    assert guard.review(held, None, fresh).allocation.executors == 3  # 1020 + 60 − 960 = 120
    stale = knowledge(history=[tick(time_s=900, current=3, evaluation=good(900)), *blind])
    assert guard.review(held, None, stale).allocation.executors == 6  # 180
    old_already = knowledge(history=[tick(time_s=960, current=3, evaluation=good(960, age_s=1)), *blind[1:]])
    assert guard.review(held, None, old_already).allocation.executors == 6  # 121


def test_without_any_good_tick_age_counts_from_the_start() -> None:
    guard, held = StaleMetrics(after_s=120, fallback=6), Ruling(allocation=Allocation(executors=3))
    assert guard.review(held, None, knowledge(started_s=1000)).allocation.executors == 3
    history = [tick(time_s=time_s, current=3, outcome=Outcome.NOT_READY) for time_s in (1030.0, 1090.0)]
    assert guard.review(held, None, knowledge(started_s=1000, history=history)).allocation.executors == 6


def test_enough_history_is_asked_for_to_see_the_last_good_tick() -> None:
    assert StaleMetrics(after_s=120).looks_back_s == 240
