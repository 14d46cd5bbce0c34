"""SPEC's metrics, pinned to their reference implementation's test and to hand-made steps."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from headgate.scoring import Provisioning, StepFunction, excess_time, jitter, provisioning

VECTORS = Path(__file__).parents[4] / "shared" / "vectors" / "vectors.json"

# BUNGEE's test of its metrics (Apache-2.0); times in milliseconds.
BUNGEE = {
    "demand": [[0, 1], [7, 5], [16, 3], [17, 2], [19, 4]],
    "supply": [[0, 1], [2, 2], [3, 1], [5, 3], [9, 7], [11, 6], [12, 8], [14, 2], [20, 2]],
    "duration": 20,
    "expect": {"accuracy_O": 0.8, "accuracy_U": 0.65, "timeshare_O": 0.4, "timeshare_U": 0.3},
}


def known_cases() -> list[dict]:  # type: ignore[type-arg]
    cases = [BUNGEE]
    if VECTORS.is_file():
        cases.append(json.loads(VECTORS.read_text())["elasticity_metrics"])
    return cases


@pytest.mark.parametrize("case", known_cases())
def test_the_reference_example_comes_out(case: dict) -> None:  # type: ignore[type-arg]
    demand, supply = StepFunction.of(case["demand"]), StepFunction.of(case["supply"])
    found = provisioning(demand, supply, start_s=0, end_s=case["duration"])
    assert found is not None
    assert found.accuracy_o == pytest.approx(case["expect"]["accuracy_O"])
    assert found.accuracy_u == pytest.approx(case["expect"]["accuracy_U"])
    assert found.timeshare_o == pytest.approx(case["expect"]["timeshare_O"])
    assert found.timeshare_u == pytest.approx(case["expect"]["timeshare_U"])
    per_millisecond = jitter(demand, supply, start_s=0, end_s=case["duration"])
    assert per_millisecond is not None
    assert per_millisecond * 60_000 == pytest.approx((17 - 9) / 20 * 60_000)


def test_a_perfect_match_is_all_zero() -> None:
    steps = StepFunction.of([(0, 1), (4, 5)])
    assert provisioning(steps, steps, start_s=0, end_s=9) == Provisioning(
        accuracy_o=0, accuracy_u=0, timeshare_o=0, timeshare_u=0
    )
    assert jitter(steps, steps, start_s=0, end_s=9) == 0


def test_one_too_many_and_one_too_few_are_mirror_images() -> None:
    less, more = StepFunction.of([(0, 1), (4, 5)]), StepFunction.of([(0, 2), (4, 6)])
    over = provisioning(less, more, start_s=0, end_s=8)
    under = provisioning(more, less, start_s=0, end_s=8)
    assert over == Provisioning(accuracy_o=1, accuracy_u=0, timeshare_o=1, timeshare_u=0)
    assert under == Provisioning(accuracy_o=0, accuracy_u=1, timeshare_o=0, timeshare_u=1)


def test_only_the_measured_period_counts() -> None:
    demand, supply = StepFunction.of([(0, 1)]), StepFunction.of([(0, 9), (10, 2), (20, 9)])
    assert provisioning(demand, supply, start_s=10, end_s=20) == Provisioning(
        accuracy_o=1, accuracy_u=0, timeshare_o=1, timeshare_u=0
    )


def test_nothing_can_be_said_where_no_time_passed() -> None:
    steps = StepFunction.of([(0, 1)])
    assert provisioning(steps, steps, start_s=5, end_s=5) is None
    assert jitter(steps, steps, start_s=5, end_s=5) is None
    assert excess_time(actual_s=6, ideal_s=5, duration_s=0) is None


def test_excess_time_is_what_the_actual_run_needed_longer() -> None:
    assert excess_time(actual_s=130, ideal_s=100, duration_s=100) == pytest.approx(0.3)
    assert excess_time(actual_s=90, ideal_s=100, duration_s=100) == 0


def test_a_step_function_holds_its_first_value_before_its_first_time_and_its_last_for_ever() -> None:
    steps = StepFunction.of([(5, 2), (10, 4), (10, 6)])
    assert steps.at(np.array([0.0, 5.0, 9.9, 10.0, 99.0])).tolist() == [2, 2, 2, 6, 6]
    assert steps.mean(0, 20) == 4
    assert steps.mean(7, 7) == 2


steps = st.lists(st.tuples(st.integers(0, 30), st.integers(0, 9)), min_size=1, max_size=12).map(sorted)


@given(steps, steps)
def test_metrics_agree_with_counting_second_by_second(demand: list, supply: list) -> None:  # type: ignore[type-arg]
    wanted, there = StepFunction.of(demand), StepFunction.of(supply)
    seconds = np.arange(30.0)
    gap = there.at(seconds) - wanted.at(seconds)
    found = provisioning(wanted, there, start_s=0, end_s=30)
    assert found is not None
    assert found.accuracy_o == pytest.approx(gap[gap > 0].sum() / 30)
    assert found.accuracy_u == pytest.approx(-gap[gap < 0].sum() / 30)
    assert found.timeshare_o == pytest.approx((gap > 0).mean())
    assert found.timeshare_u == pytest.approx((gap < 0).mean())
