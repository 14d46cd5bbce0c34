import pytest

from headgate.errors import UserMistake
from headgate.policies import ThresholdBusy
from headgate.testing import evaluation, executors, knowledge


@pytest.mark.parametrize(
    ("busy", "size", "code"),
    [
        (0.91, 4, "busy-above-threshold"),
        (0.90, 3, "busy-between-thresholds"),
        (0.50, 3, "busy-between-thresholds"),
        (0.49, 2, "busy-below-threshold"),
    ],
)
def test_one_more_over_ninety_percent_and_one_fewer_under_fifty(busy: float, size: int, code: str) -> None:
    proposal = ThresholdBusy().decide(evaluation(busy=busy), knowledge(executors=3))
    assert proposal.allocation.executors == size
    assert proposal.reasons[0].code == code


def test_the_mean_counts_not_the_busiest_executor() -> None:
    proposal = ThresholdBusy().decide(evaluation(busy=[1.0, 1.0, 0.6]), knowledge(executors=3))
    assert proposal.reasons[0].inputs["busy"] == pytest.approx(2.6 / 3)
    assert proposal.allocation.executors == 3


def test_executors_that_are_leaving_do_not_count() -> None:
    seen = evaluation(executors=executors([0.95, 0.95, 0.0], leaving=1))
    assert ThresholdBusy().decide(seen, knowledge(executors=2)).allocation.executors == 3


def test_executors_without_figures_are_left_out_of_the_mean_and_counted_in_the_reason() -> None:
    proposal = ThresholdBusy().decide(evaluation(busy=[0.95, None]), knowledge(executors=2))
    assert proposal.allocation.executors == 3
    assert proposal.reasons[0].inputs["executors_unknown"] == 1


def test_the_missing_field_is_named_and_the_size_is_held() -> None:
    proposal = ThresholdBusy().decide(evaluation(busy=None), knowledge(executors=5))
    assert proposal.allocation.executors == 5
    assert proposal.reasons[0].code == "missing-metrics"
    assert "executors.busy" in proposal.reasons[0].message


def test_the_size_never_goes_below_zero() -> None:
    assert ThresholdBusy().decide(evaluation(busy=0.0), knowledge(executors=0)).allocation.executors == 0


def test_thresholds_in_the_wrong_order_are_refused() -> None:
    with pytest.raises(UserMistake, match=r"low=0.9 is not below high=0.5"):
        ThresholdBusy(low=0.9, high=0.5)
