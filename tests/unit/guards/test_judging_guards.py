"""Ineffective scaling and revert: guards that judge what the last step brought."""

from typing import Any

import pytest

from headgate.core.allocation import Allocation
from headgate.core.decision import Outcome, Reason, Ruling, Tick
from headgate.core.evaluation import Evaluation
from headgate.guards import IneffectiveScaling, Revert
from headgate.testing import evaluation, knowledge, operator, tick

STEP_S = 1000.0


def seen(after_s: float = 0.0, *, count: int = 4, **fields: Any) -> Evaluation:
    return evaluation(time_s=STEP_S + after_s, count=count, **fields)


def step(before: int, after: int, evaluation: Evaluation | None, **more: Any) -> Tick:
    return tick(time_s=STEP_S, current=before, wanted=after, evaluation=evaluation, **more)


class TestIneffectiveScaling:
    GUARD = IneffectiveScaling(least_gain=0.1, settle_s=120, block_s=1800)

    def grants(self, before: Evaluation | None, now: Evaluation | None, *, wanted: int = 8, size: int = 4) -> Ruling:
        known = knowledge(executors=size, history=[step(2, size, before)])
        return self.GUARD.review(Ruling(allocation=Allocation(executors=wanted)), now, known)

    # From two to four executors, twice the rate is expected: 1000 more; a tenth of it is 100.
    @pytest.mark.parametrize(("rate", "size"), [(1000.0, 4), (1099.0, 4), (1100.0, 8), (2000.0, 8), (900.0, 4)])
    def test_a_gain_below_a_tenth_of_the_expected_blocks(self, rate: float, size: int) -> None:
        ruling = self.grants(seen(true_processing_rate=1000.0), seen(300, true_processing_rate=rate))
        assert ruling.allocation.executors == size

    def test_the_block_is_explained(self) -> None:
        ruling = self.grants(seen(true_processing_rate=1000.0), seen(300, true_processing_rate=1050.0))
        (reason,) = ruling.reasons
        assert reason.code == "last-scale-up-was-ineffective"
        assert reason.inputs["gain"] == pytest.approx(0.05)
        assert "8 executors are wanted" in reason.message
        assert "from 2 to 4" in reason.message

    @pytest.mark.parametrize(("after_s", "size"), [(119, 8), (120, 4), (1800, 4), (1801, 8)])
    def test_judged_once_settled_and_only_for_a_time(self, after_s: float, size: int) -> None:
        ruling = self.grants(seen(true_processing_rate=1000.0), seen(after_s, true_processing_rate=1000.0))
        assert ruling.allocation.executors == size

    def test_an_app_that_was_behind_is_judged_by_what_it_processed(self) -> None:
        before = seen(arrival_rate=3000.0, input_rate=1000.0, true_processing_rate=1000.0, lag_records=50_000.0)
        # The driver is the bottleneck: the true rate doubled, and nothing came of it.
        now = seen(300, arrival_rate=3000.0, input_rate=1010.0, true_processing_rate=2000.0, lag_records=650_000.0)
        ruling = self.grants(before, now)
        assert ruling.allocation.executors == 4
        assert ruling.reasons[0].inputs["measure"] == "processed rate"

    def test_a_backlog_that_went_away_is_a_gain(self) -> None:
        before = seen(arrival_rate=1000.0, input_rate=1000.0, lag_records=60_000.0)
        now = seen(300, arrival_rate=1000.0, input_rate=1000.0, lag_records=50_000.0)  # a sixth of an expected half
        assert self.grants(before, now).allocation.executors == 8
        hardly = seen(300, arrival_rate=1000.0, input_rate=1000.0, lag_records=59_000.0)
        assert self.grants(before, hardly).allocation.executors == 4

    @pytest.mark.parametrize(
        ("before", "now"),
        [
            (None, seen(300, true_processing_rate=1000.0)),
            (seen(), seen(300)),
            (seen(true_processing_rate=0.0), seen(300, true_processing_rate=1000.0)),
            (seen(true_processing_rate=1000.0), None),
            (seen(true_processing_rate=1000.0), seen(300, true_processing_rate=1000.0, count=3)),
            (seen(true_processing_rate=1000.0), seen(300, true_processing_rate=1000.0, pending_executors=1)),
            (seen(true_processing_rate=1000.0), seen(300, operators=[])),
            (seen(arrival_rate=9.0, input_rate=0.0), seen(300, arrival_rate=9.0, input_rate=0.0)),
        ],
        ids=["no-before", "unknown", "nothing-before", "blind", "one-short", "pending", "no-operators", "no-rate"],
    )
    def test_what_cannot_be_judged_is_not_blocked(self, before: Evaluation | None, now: Evaluation | None) -> None:
        assert self.grants(before, now).reasons == ()

    def test_shrinking_and_holding_are_never_blocked(self) -> None:
        before, now = seen(true_processing_rate=1000.0), seen(300, true_processing_rate=1000.0)
        assert self.grants(before, now, wanted=1).allocation.executors == 1
        assert self.grants(before, now, wanted=4).reasons == ()

    def test_only_the_last_change_is_judged_and_only_if_it_was_growth(self) -> None:
        before, now = seen(true_processing_rate=1000.0), seen(300, true_processing_rate=1000.0)
        known = knowledge(executors=3, history=[step(2, 4, before), tick(time_s=1100, current=4, wanted=3)])
        ruling = Ruling(allocation=Allocation(executors=8))
        assert self.GUARD.review(ruling, now, known) == ruling
        assert self.GUARD.review(ruling, now, knowledge(executors=3)) == ruling

    def test_a_start_from_zero_is_not_judged(self) -> None:
        known = knowledge(executors=4, history=[step(0, 4, seen(true_processing_rate=1.0))])
        ruling = Ruling(allocation=Allocation(executors=8))
        assert self.GUARD.review(ruling, seen(300, true_processing_rate=1.0), known) == ruling


class TestRevert:
    GUARD = Revert(window_s=300, settle_s=30, load_tolerance=0.1)
    BEFORE = seen(arrival_rate=1000.0, input_rate=1000.0, lag_records=1000.0, latency_s=2.0)

    def review(self, now: Evaluation | None, *, wanted: int = 3, before: Evaluation | None = BEFORE) -> Ruling:
        known = knowledge(executors=3, history=[step(6, 3, before)])
        return self.GUARD.review(Ruling(allocation=Allocation(executors=wanted)), now, known)

    def now(self, after_s: float = 60, **changed: Any) -> Evaluation:
        fields: dict[str, Any] = {"arrival_rate": 1000.0, "input_rate": 1000.0, "lag_records": 1000.0, "latency_s": 2.0}
        return seen(after_s, **{**fields, **changed})

    def test_worse_latency_without_more_load_brings_the_old_size_back(self) -> None:
        ruling = self.review(self.now(latency_s=20.0))
        assert ruling.allocation.executors == 6
        assert ruling.reasons[0].code == "scale-down-reverted"
        assert "latency (p95) went from 2.0 s to 20.0 s" in ruling.reasons[0].message
        assert "3 were wanted" in ruling.reasons[0].message

    def test_a_backlog_that_grew_brings_the_old_size_back(self) -> None:
        ruling = self.review(self.now(lag_records=40_000.0))
        assert ruling.allocation.executors == 6
        assert "backlog went from 1000 to 40000" in ruling.reasons[0].message

    def test_a_stream_that_stands_still_brings_the_old_size_back(self) -> None:
        assert self.review(self.now(lag_records=3000.0, input_rate=0.0)).allocation.executors == 6

    def test_the_slowest_operator_counts(self) -> None:
        slow = [operator("a", arrival_rate=1000.0, latency_s=1.0), operator("b", upstream=("a",), latency_s=60.0)]
        assert self.review(seen(60, operators=slow)).allocation.executors == 6

    @pytest.mark.parametrize(
        "changed",
        [
            {},
            {"latency_s": 3.9},
            {"latency_s": 20.0, "arrival_rate": 1200.0},
            {"latency_s": 20.0, "arrival_rate": None},
            {"latency_s": 20.0, "after_s": 29},
            {"latency_s": 20.0, "after_s": 301},
            {"lag_records": 3000.0},
            {"lag_records": None, "latency_s": None},
        ],
        ids=["calm", "hardly", "more-load", "unknown-load", "too-early", "too-late", "short-backlog", "unknown"],
    )
    def test_no_harm_no_revert(self, changed: dict[str, Any]) -> None:
        assert self.review(self.now(**changed)).reasons == ()

    def test_nothing_is_judged_blindly(self) -> None:
        assert self.review(None).reasons == ()
        assert self.review(self.now(latency_s=20.0), before=None).reasons == ()

    def test_a_policy_that_wants_as_much_by_itself_is_left_alone(self) -> None:
        assert self.review(self.now(latency_s=20.0), wanted=6).reasons == ()

    def test_growth_is_not_reverted(self) -> None:
        known = knowledge(executors=6, history=[step(3, 6, self.BEFORE)])
        ruling = Ruling(allocation=Allocation(executors=6))
        assert self.GUARD.review(ruling, self.now(latency_s=20.0), known) == ruling

    def reverted(self, **more: Any) -> list[Tick]:
        note = Reason(by="revert", code="scale-down-reverted", message="", inputs={"after": 3, "arrival_rate": 1000.0})
        return [step(6, 3, self.BEFORE), tick(time_s=1060, current=3, granted=6, reasons=[note], **more)]

    @pytest.mark.parametrize(("wanted", "size"), [(3, 4), (1, 4), (4, 4), (5, 5), (6, 6), (9, 9)])
    def test_a_size_that_did_harm_is_avoided_for_a_time(self, wanted: int, size: int) -> None:
        known = knowledge(executors=6, history=self.reverted())
        ruling = self.GUARD.review(Ruling(allocation=Allocation(executors=wanted)), self.now(200), known)
        assert ruling.allocation.executors == size
        assert [reason.code for reason in ruling.reasons] == (["harmful-size-avoided"] if size != wanted else [])

    def test_it_may_be_tried_again_later_or_with_less_load(self) -> None:
        known, wanted = knowledge(executors=6, history=self.reverted()), Ruling(allocation=Allocation(executors=3))
        assert self.GUARD.review(wanted, self.now(961), known).allocation.executors == 3
        assert self.GUARD.review(wanted, self.now(200, arrival_rate=899.0), known).allocation.executors == 3
        assert self.GUARD.review(wanted, self.now(200, arrival_rate=901.0), known).allocation.executors == 4

    def test_a_revert_that_was_not_carried_out_avoids_nothing(self) -> None:
        known = knowledge(executors=6, history=self.reverted(outcome=Outcome.DRY_RUN))
        ruling = self.GUARD.review(Ruling(allocation=Allocation(executors=5)), self.now(200), known)
        assert ruling.reasons == ()

    def test_what_a_revert_notes_is_what_it_reads_later(self) -> None:
        undone = self.review(self.now(latency_s=20.0))
        history = [step(6, 3, self.BEFORE), tick(time_s=1060, current=3, granted=6, reasons=undone.reasons)]
        again = self.GUARD.review(
            Ruling(allocation=Allocation(executors=2)), self.now(200), knowledge(executors=6, history=history)
        )
        assert again.allocation.executors == 4
