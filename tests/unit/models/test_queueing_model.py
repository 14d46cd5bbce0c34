"""Waiting and response times of operators, against published and hand-computed values."""

from __future__ import annotations

import json
import math
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from headgate.models.queueing import Station

VECTORS = Path(__file__).parents[4] / "shared" / "vectors" / "vectors.json"
LINE_SOLVER = [(2.0, 1.0, 1.5, 0.5, 3, 1.5555555555555554), (2.4, 1.0, 1.5, 0.5, 3, 2.3666666666666663)]
"""Arrival rate, service rate, c_a, c_s, instances, and the response that the LINE solver's formula gives."""


def known_answers() -> list[tuple[float, ...]]:
    if not VECTORS.is_file():
        return [tuple(row) for row in LINE_SOLVER]
    return [tuple(row) for row in json.loads(VECTORS.read_text())["allen_cunneen"]["rows_[lambda,mu,ca,cs,k,W]"]]


@pytest.mark.parametrize(("arrival_rate", "service_rate", "c_a", "c_s", "instances", "response_s"), known_answers())
def test_known_answers(
    arrival_rate: float, service_rate: float, c_a: float, c_s: float, instances: float, response_s: float
) -> None:
    station = Station(
        arrival_rate=arrival_rate, service_rate=service_rate, arrival_scv=c_a * c_a, service_scv=c_s * c_s
    )
    assert station.response_s(int(instances)) == pytest.approx(response_s)


@pytest.mark.parametrize("busy", [0.1, 0.5, 0.69, 0.7, 0.9])
def test_with_one_instance_and_no_pattern_it_is_the_exact_m_m_1(busy: float) -> None:
    station = Station(arrival_rate=busy, service_rate=1.0)
    assert station.waits(1) == pytest.approx(busy)
    assert station.response_s(1) == pytest.approx(1 / (1 - busy))


def test_the_probability_to_wait_by_hand_on_both_sides_of_the_limit() -> None:
    """Four instances: at 0.5 it is 0.5^2.5; at 0.8 it is (0.8⁴ + 0.8) ÷ 2."""
    assert Station(arrival_rate=2.0, service_rate=1.0).waits(4) == pytest.approx(0.5**2.5)
    assert Station(arrival_rate=3.2, service_rate=1.0).waits(4) == pytest.approx((0.4096 + 0.8) / 2)


@pytest.mark.parametrize("instances", [0, 1, 2])
def test_too_much_to_do_takes_for_ever(instances: int) -> None:
    assert Station(arrival_rate=2.0, service_rate=1.0).response_s(instances) == math.inf


def test_without_traffic_a_record_would_only_be_served() -> None:
    station = Station(arrival_rate=0.0, service_rate=4.0)
    assert (station.utilization(1), station.waits(1), station.response_s(1)) == (0.0, 0.0, 0.25)


def test_the_fewest_within_a_time_or_none() -> None:
    """Service takes 0.5 s, 4 come a second: two are exactly too few; three have (0.5 + 0.29…) s."""
    station = Station(arrival_rate=4.0, service_rate=2.0)
    assert station.fewest(1.0, most=15) == 3
    assert station.fewest(0.52, most=15) == 5
    assert station.fewest(0.5, most=15) is None
    assert station.fewest(1.0, most=2) is None


@given(st.floats(0, 1e6), st.floats(1e-3, 1e6), st.floats(0, 100), st.floats(0, 100), st.integers(1, 30))
def test_more_instances_never_take_longer(rate: float, service: float, c_a: float, c_s: float, instances: int) -> None:
    station = Station(arrival_rate=rate, service_rate=service, arrival_scv=c_a, service_scv=c_s)
    fewer, more = station.response_s(instances), station.response_s(instances + 1)
    # The two approximations do not meet exactly where one takes over from the other.
    assert more <= fewer * 1.02
    assert more >= 1 / service
