from typing import Any

import pytest

from headgate.control.diagnosis import diagnose
from headgate.core.allocation import Allocation
from headgate.core.decision import Reason
from headgate.core.evaluation import BatchEvaluation
from headgate.testing import evaluation, executors, knowledge, operator

BEHIND: dict[str, Any] = {"arrival_rate": 2000.0, "input_rate": 1000.0, "lag_records": 90_000.0}
CALM: dict[str, Any] = {"arrival_rate": 1000.0, "input_rate": 1000.0, "lag_records": 500.0}


def batch(**changed: Any) -> BatchEvaluation:
    fields: dict[str, Any] = {
        "count": 5,
        "duration_s": 10.0,
        "records": 10_000.0,
        "largest_records": 10_000.0,
        "tasks": 40.0,
        "run_s": 9.0,
        "longest_task_s": 2.5,
        "mean_task_s": 2.0,
        "sink_s": 0.5,
    }
    return BatchEvaluation(**{**fields, **changed})


def found(*, wanted: int = 4, busy: float | None = 0.5, load: dict[str, Any] = BEHIND, **fields: Any) -> list[Reason]:
    shown = {"batch": batch(), "partitions": 40, **load, **fields}
    seen = evaluation(busy=busy, count=4, operators=[operator("orders", **shown)])
    return list(diagnose(seen, knowledge(executors=4, cores_per_executor=2), Allocation(executors=wanted)))


def codes(**given: Any) -> list[str]:
    return [reason.code for reason in found(**given)]


def test_an_app_that_executors_would_help_gets_no_finding() -> None:
    assert codes() == []
    assert codes(wanted=9) == []


FINDINGS: dict[str, dict[str, Any]] = {
    "more-slots-than-tasks": {"batch": batch(tasks=8.0)},
    "records-limit-is-the-ceiling": {"batch": batch(records_limit=10_000.0)},
    "driver-is-the-bottleneck": {"batch": batch(run_s=3.0)},
    "sink-is-the-bottleneck": {"batch": batch(run_s=3.0, sink_s=6.0)},
    "skewed-partition": {"batch": batch(longest_task_s=8.5)},
}


@pytest.mark.parametrize("code", FINDINGS)
def test_each_bottleneck_is_found_alone(code: str) -> None:
    assert codes(**FINDINGS[code]) == [code]


def test_the_long_first_tasks_of_a_new_executor_are_not_taken_for_skew() -> None:
    shown = operator("orders", batch=batch(longest_task_s=8.5), partitions=40, **BEHIND)
    seen = evaluation(operators=[shown], executors=executors([0.5, 0.5], age_s=[3600.0, 20.0]))
    assert diagnose(seen, knowledge(executors=2), Allocation(executors=2)) == ()


@pytest.mark.parametrize("code", FINDINGS)
def test_nothing_is_said_of_an_app_that_is_well_and_wants_no_more(code: str) -> None:
    assert codes(load=CALM, **FINDINGS[code]) == []
    assert codes(load=CALM, wanted=3, **FINDINGS[code]) == []


@pytest.mark.parametrize("code", FINDINGS)
def test_a_policy_that_wants_more_is_told(code: str) -> None:
    assert codes(load=CALM, wanted=5, **FINDINGS[code]) == [code]


@pytest.mark.parametrize(
    ("code", "figures", "remedy"),
    [
        ("more-slots-than-tasks", ["4 executors with 2 cores", "8 slots", "8 partitions"], "add topic partitions"),
        ("records-limit-is-the-ceiling", ["10000 of at most 10000", "50% busy"], "raise maxOffsetsPerTrigger"),
        ("driver-is-the-bottleneck", ["6.5 s of the 10.0 s", "65%"], "give the driver more cores"),
        ("sink-is-the-bottleneck", ["6.0 s of the 10.0 s", "60%"], "fewer, larger files"),
        ("skewed-partition", ["8.5 s of the 9.0 s", "4.2 times the mean of 2.0 s"], "repartition"),
    ],
)
def test_a_finding_has_its_figures_and_a_remedy(code: str, figures: list[str], remedy: str) -> None:
    (reason,) = found(**FINDINGS[code])
    assert reason.by == "diagnosis"
    assert reason.message.startswith("more executors will not help: ")
    assert all(figure in reason.message for figure in figures)
    assert remedy in reason.message


class TestSlots:
    def test_fewer_slots_than_tasks_are_no_finding(self) -> None:
        assert codes(batch=batch(tasks=9.0)) == []

    def test_topic_partitions_count_where_tasks_are_unknown(self) -> None:
        assert codes(batch=batch(tasks=None), partitions=8) == ["more-slots-than-tasks"]
        assert codes(batch=batch(tasks=None), partitions=9) == []
        assert codes(batch=None, partitions=None) == []

    def test_too_few_tasks_for_many_partitions_want_a_repartition(self) -> None:
        (reason,) = found(batch=batch(tasks=8.0), partitions=None)
        assert "8 tasks" in reason.message
        assert "repartition" in reason.message

    def test_operators_share_the_slots(self) -> None:
        two = [operator("a", partitions=5, **BEHIND), operator("b", upstream=("a",), partitions=5, **CALM)]
        seen = evaluation(operators=two)
        here = knowledge(executors=4, cores_per_executor=2)
        assert diagnose(seen, here, Allocation(executors=4)) == ()
        larger = knowledge(executors=5, cores_per_executor=2)
        assert [reason.code for reason in diagnose(seen, larger, Allocation(executors=5))] == ["more-slots-than-tasks"]


class TestBeing:
    def test_behind_is_a_backlog_of_more_than_two_batches(self) -> None:
        limit = batch(tasks=8.0)
        assert codes(load={**CALM, "lag_records": 20_000.0}, batch=limit) == []
        assert codes(load={**CALM, "lag_records": 20_001.0}, batch=limit) == ["more-slots-than-tasks"]

    def test_behind_is_arriving_faster_than_processed(self) -> None:
        slots = batch(tasks=8.0)
        assert codes(load={**CALM, "arrival_rate": 1050.0}, batch=slots) == []
        assert codes(load={**CALM, "arrival_rate": 1051.0}, batch=slots) == ["more-slots-than-tasks"]

    def test_unknown_is_not_behind(self) -> None:
        assert codes(load={}, batch=batch(tasks=8.0)) == []


@pytest.mark.parametrize(
    "given",
    [
        {"busy": 0.8, "batch": batch(records_limit=10_000.0)},
        {"busy": None, "batch": batch(records_limit=10_000.0)},
        {"batch": batch(records_limit=11_000.0)},
        {"batch": batch(run_s=None, sink_s=None, longest_task_s=None)},
        {"batch": batch(longest_task_s=3.9, run_s=4.8)},
        {"batch": batch(longest_task_s=4.5, run_s=9.0)},
        {"batch": batch(mean_task_s=0.0, longest_task_s=9.0)},
        {"batch": batch(duration_s=0.0)},
    ],
    ids=["busy", "busy-unknown", "below-limit", "unknown", "even", "not-decisive", "no-time", "no-duration"],
)
def test_what_is_not_shown_is_not_claimed(given: dict[str, Any]) -> None:
    assert codes(**given) == []
