"""Whole records from rates."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from headgate.errors import UserMistake
from headgate.workloads import Workload, arrivals, count_at, counts_at, parse_workload

loads = st.lists(st.floats(0, 1e4), min_size=1, max_size=40).map(
    lambda rates: Workload(name="any", rates=np.array(rates))
)


def test_even_arrivals_keep_the_total_exactly() -> None:
    load = Workload(name="slow", rates=np.full(1000, 0.1))
    counts = arrivals(load)
    assert counts.dtype == np.int64
    assert counts[0] == 0
    assert counts[10] == 1
    assert counts[-1] == 100
    assert len(counts) == 1001


def test_poisson_arrivals_have_the_mean_and_the_variance_of_the_process() -> None:
    load = parse_workload("constant:rate=50")
    drawn = np.diff(arrivals(load, process="poisson", seed=1))
    assert drawn.mean() == pytest.approx(50, rel=0.02)
    assert drawn.var() == pytest.approx(50, rel=0.1)


def test_poisson_arrivals_are_the_same_for_the_same_seed() -> None:
    load = parse_workload("sine")
    once, again, other = (arrivals(load, process="poisson", seed=seed) for seed in (7, 7, 8))
    assert once.tolist() == again.tolist()
    assert once.tolist() != other.tolist()


def test_unknown_processes_and_negative_seeds_are_refused() -> None:
    with pytest.raises(UserMistake, match="choose even or poisson"):
        arrivals(parse_workload("sine"), process="bursty")
    with pytest.raises(UserMistake, match="seed=-1 is negative"):
        arrivals(parse_workload("sine"), process="poisson", seed=-1)


def test_counts_within_a_second_are_whole_and_clamped_outside() -> None:
    counts = np.array([0, 10, 30], dtype=np.int64)
    times = [-5.0, 0.0, 0.05, 0.1, 1.0, 1.99, 2.0, 1e9, float("nan")]
    assert [count_at(counts, time_s) for time_s in times] == [0, 0, 0, 1, 10, 29, 30, 30, 0]
    assert counts_at(counts, np.array(times[:-1])).tolist() == [0, 0, 0, 1, 10, 29, 30, 30]


@given(loads, st.sampled_from(["even", "poisson"]), st.lists(st.floats(-5, 60), min_size=2, max_size=20))
def test_counts_never_go_back(load: Workload, process: str, times: list[float]) -> None:
    counts = arrivals(load, process=process)
    assert (np.diff(counts) >= 0).all()
    by_time = [count_at(counts, time_s) for time_s in sorted(times)]
    assert by_time == sorted(by_time)
    assert by_time == counts_at(counts, np.array(sorted(times))).tolist()
    for second in range(len(counts)):
        assert count_at(counts, second) == counts[second]


@given(loads)
def test_even_arrivals_are_never_a_record_away_from_the_fluid(load: Workload) -> None:
    assert np.abs(arrivals(load) - load.cumulative()).max() <= 1 + 1e-6
