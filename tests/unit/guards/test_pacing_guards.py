"""Step limit, cooldown, delayed scale-down and tolerance."""

import pytest

from headgate.core.allocation import Allocation
from headgate.core.decision import Outcome, Ruling
from headgate.core.ports import Guard
from headgate.guards import Cooldown, DelayedScaleDown, StepLimit, Tolerance
from headgate.testing import evaluation, knowledge, tick

NOW_S = 1000.0
SEEN = evaluation(time_s=NOW_S)


def granted(guard: Guard, wanted: int, **known: object) -> int:
    ruling = guard.review(Ruling(allocation=Allocation(executors=wanted)), SEEN, knowledge(**known))  # type: ignore[arg-type]
    assert [reason.by for reason in ruling.reasons] == ([] if ruling.allocation.executors == wanted else [guard.name])
    return ruling.allocation.executors


@pytest.mark.parametrize(("wanted", "size"), [(13, 13), (14, 13), (100, 13), (10, 10), (9, 9), (8, 8), (7, 8), (0, 8)])
def test_a_step_is_cut_per_direction(wanted: int, size: int) -> None:
    assert granted(StepLimit(up=3, down=2), wanted, executors=10) == size


def test_a_direction_without_a_limit_is_free() -> None:
    assert granted(StepLimit(up=None, down=1), 100, executors=10) == 100
    assert granted(StepLimit(up=1, down=None), 0, executors=10) == 0


class TestCooldown:
    GUARD = Cooldown(up_s=60, down_s=300)

    @pytest.mark.parametrize(("changed_s", "size"), [(940, 6), (941, 4), (999, 4)])
    def test_before_growing(self, changed_s: float, size: int) -> None:
        assert granted(self.GUARD, 6, executors=4, history=[tick(time_s=changed_s, current=3, wanted=4)]) == size

    @pytest.mark.parametrize(("changed_s", "size"), [(700, 2), (701, 4)])
    def test_before_shrinking_counts_from_a_change_in_any_direction(self, changed_s: float, size: int) -> None:
        assert granted(self.GUARD, 2, executors=4, history=[tick(time_s=changed_s, current=3, wanted=4)]) == size

    def test_counts_only_changes_that_were_carried_out(self) -> None:
        history = [tick(time_s=990, current=3, wanted=4, outcome=Outcome.DRY_RUN), tick(time_s=995, current=4)]
        assert granted(self.GUARD, 6, executors=4, history=history) == 6

    def test_says_nothing_when_nothing_is_to_change(self) -> None:
        assert granted(self.GUARD, 4, executors=4, history=[tick(time_s=999, current=3, wanted=4)]) == 4

    def test_knows_the_time_from_the_last_ticks_when_nothing_was_collected(self) -> None:
        history = [tick(time_s=900, current=3, wanted=4), tick(time_s=930, current=4), tick(time_s=945, current=4)]
        wanted = Ruling(allocation=Allocation(executors=6))
        ruling = self.GUARD.review(wanted, None, knowledge(executors=4, history=history))
        assert ruling.allocation.executors == 6  # 945 + 15 = 960, a minute after the change
        ruling = self.GUARD.review(wanted, None, knowledge(executors=4, history=history[:2]))
        assert ruling.allocation.executors == 6  # 930 + 30
        ruling = self.GUARD.review(wanted, None, knowledge(executors=4, history=history[:1]))
        assert ruling.allocation.executors == 4

    def test_asks_for_enough_history(self) -> None:
        assert self.GUARD.looks_back_s == 300

    def test_going_back_to_the_present_size_means_the_present_nodes(self) -> None:
        current = Allocation(executors=2, nodes=("far", "near"))
        wanted = Allocation(executors=3, nodes=("a", "b", "c"), parallelism={"parse": 4})
        known = knowledge(current=current, history=[tick(time_s=999, current=1, wanted=2)])
        ruling = self.GUARD.review(Ruling(allocation=wanted), SEEN, known)
        assert ruling.allocation == Allocation(executors=2, nodes=("far", "near"), parallelism={"parse": 4})


class TestDelayedScaleDown:
    GUARD = DelayedScaleDown(window_s=300)

    @staticmethod
    def past(*wishes: tuple[float, int]) -> list[object]:
        return [
            tick(time_s=time_s, current=8, wanted=wanted, granted=8, evaluation=evaluation(time_s=time_s))
            for time_s, wanted in wishes
        ]

    def test_the_largest_wish_of_the_window_counts(self) -> None:
        assert granted(self.GUARD, 2, executors=8, history=self.past((710, 5), (800, 3), (990, 2))) == 5

    def test_wishes_before_the_window_are_forgotten(self) -> None:
        assert granted(self.GUARD, 2, executors=8, history=self.past((700, 7), (800, 3))) == 3

    def test_a_larger_wish_than_the_present_size_does_not_make_it_grow(self) -> None:
        assert granted(self.GUARD, 2, executors=8, history=self.past((800, 30))) == 8

    def test_growth_is_not_delayed(self) -> None:
        assert granted(self.GUARD, 9, executors=8, history=self.past((800, 30))) == 9

    def test_a_tick_without_figures_wished_nothing(self) -> None:
        history = [tick(time_s=900, current=8, outcome=Outcome.NOT_READY)]
        assert granted(self.GUARD, 2, executors=8, history=history) == 2

    def test_the_wish_is_still_told(self) -> None:
        known = knowledge(executors=8, history=self.past((900, 8)))  # type: ignore[arg-type]
        ruling = self.GUARD.review(Ruling(allocation=Allocation(executors=2)), SEEN, known)
        assert ruling.reasons[0].inputs["wanted"] == 2
        assert "2 executors are wanted" in ruling.reasons[0].message


@pytest.mark.parametrize(("wanted", "size"), [(11, 10), (9, 10), (12, 12), (8, 8), (10, 10)])
def test_small_changes_are_ignored(wanted: int, size: int) -> None:
    assert granted(Tolerance(band=0.1), wanted, executors=10) == size


def test_leaving_zero_is_never_a_small_change() -> None:
    assert granted(Tolerance(band=1.0), 1, executors=0) == 1
