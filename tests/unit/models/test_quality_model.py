"""Capacity, latency and downtime of every size, from the points of a profile."""

from __future__ import annotations

import math

import pytest

from headgate.core.profile import FailurePoint, LoadPoint, Profile, ProfiledSize
from headgate.errors import UserMistake
from headgate.models.quality import QualityModel, longest_of_lower_class


def size(executors: int, capacity: float, *, latencies: tuple[float, ...] = (), downtime_s: float | None = None):
    """Latencies at a fifth, half and nine tenths of the capacity."""
    loads = tuple(
        LoadPoint(rate=use * capacity, latency_s=s) for use, s in zip((0.2, 0.5, 0.9), latencies, strict=False)
    )
    failures = () if downtime_s is None else (FailurePoint(rate=1.0, downtime_s=downtime_s, recovery_s=None),)
    return ProfiledSize(executors=executors, capacity=capacity, loads=loads, failures=failures)


def model(*sizes: ProfiledSize, seen: tuple[tuple[int, float, float], ...] = ()) -> QualityModel:
    return QualityModel(profile=Profile(app="a", sizes=sizes), seen=seen)


def test_capacity_follows_a_power_of_the_size_through_what_was_measured() -> None:
    """1000 and 2000 on one and four: α = 1000, β = ½."""
    known = model(size(1, 1000.0), size(4, 2000.0))
    assert known.capacity(9) == pytest.approx(3000.0)
    assert known.capacity(0) == 0.0


def test_a_single_size_scales_linearly() -> None:
    assert model(size(4, 2000.0)).capacity(6) == pytest.approx(3000.0)


def test_latency_is_interpolated_in_utilisation_and_between_sizes() -> None:
    known = model(size(1, 1000.0, latencies=(1.0, 2.0, 4.0)), size(3, 3000.0, latencies=(3.0, 4.0, 6.0)))
    assert known.latency_s(1, 350.0) == pytest.approx(1.5)
    assert known.latency_s(3, 1500.0) == pytest.approx(4.0)
    # Half of what two can carry, between one (2 s) and three (4 s).
    assert known.latency_s(2, 1000.0) == pytest.approx(3.0)
    assert known.latency_s(5, 2500.0) == pytest.approx(4.0)
    assert known.latency_s(1, 100.0) == pytest.approx(1.0)


def test_latency_grows_beyond_the_last_point_and_has_no_bound_at_the_capacity() -> None:
    known = model(size(1, 1000.0, latencies=(1.0, 2.0, 4.0)))
    assert known.latency_s(1, 950.0) == pytest.approx(4.0 * 0.95 / 0.9)
    assert known.latency_s(1, 1000.0) == math.inf
    assert model(size(1, 1000.0)).latency_s(1, 10.0) is None


def test_what_is_seen_counts_like_what_was_profiled() -> None:
    known = model(size(1, 1000.0, latencies=(1.0,)), seen=((1, 400.0, 5.0),))
    assert known.latency_s(1, 300.0) == pytest.approx(3.0)


def test_classes_of_latencies() -> None:
    calm = model(size(1, 1000.0, latencies=(0.01, 0.02, 0.09)))
    assert calm.normal_s == math.inf
    wild = model(size(1, 1000.0, latencies=(1.0, 1.2, 40.0)))
    assert wild.normal_s == 1.2
    assert longest_of_lower_class([5.0]) == math.inf
    # Every way to split 1, 2, 4, 8 is by a factor of two: no class begins anywhere.
    assert longest_of_lower_class([1.0, 2.0, 4.0, 8.0]) == math.inf


def test_downtimes_lie_between_those_of_the_failures() -> None:
    known = model(size(2, 1.0, downtime_s=10.0), size(4, 2.0, downtime_s=30.0), size(8, 4.0))
    assert [known.downtime_s(n) for n in (1, 2, 3, 4, 8)] == [10.0, 10.0, 20.0, 30.0, 30.0]
    assert model(size(2, 1.0)).downtime_s(2) is None


@pytest.mark.parametrize(
    ("make", "words"),
    [
        (lambda: Profile(app="a", sizes=()), "has no sizes"),
        (lambda: Profile(app="a", sizes=(size(2, 1.0), size(1, 1.0))), "not in order"),
        (lambda: size(0, 1.0), "not possible"),
        (lambda: size(1, 0.0), "no capacity"),
    ],
)
def test_a_profile_that_cannot_be_is_refused(make, words: str) -> None:
    with pytest.raises(UserMistake, match=words):
        make()
