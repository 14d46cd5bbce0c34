"""Variations from lumps, against streams whose variation is known."""

from __future__ import annotations

import numpy as np
import pytest

from headgate.control.variation import arrival_scv, service_scv
from headgate.core.sample import Batch

SCVS = [0.1, 0.5, 1.0, 3.0]


def gamma(scv: float, mean: float, count: int, random: np.random.Generator) -> np.ndarray:
    return random.gamma(1 / scv, mean * scv, count)


@pytest.mark.parametrize("scv", SCVS)
def test_times_between_arrivals(scv: float) -> None:
    """Twenty a second for ten minutes, looked at about every second."""
    random = np.random.default_rng(5)
    arrived = np.cumsum(gamma(scv, 0.05, 14_000, random))
    looks = np.cumsum(random.uniform(0.8, 1.2, 600))
    curve = [(float(at), float(np.searchsorted(arrived, at))) for at in looks]
    assert arrival_scv(curve) == pytest.approx(scv, rel=0.25)


def test_a_rate_that_rises_is_not_one_that_varies() -> None:
    random = np.random.default_rng(6)
    seconds = np.arange(120.0)
    counts = np.concatenate([[0.0], np.cumsum(random.poisson(50 + seconds))])
    curve = [(float(at), float(count)) for at, count in enumerate(counts)]
    assert arrival_scv(curve) == pytest.approx(1.0, abs=0.3)


def batches(scv: float, *, sizes: np.ndarray, own_s: float, seed: int = 7, tasks: int = 4) -> list[Batch]:
    """Each record takes 20 ms on average, each batch a fixed time besides."""
    random = np.random.default_rng(seed)
    found = []
    for number, size in enumerate(sizes.tolist()):
        task_s = own_s + float(gamma(scv, 0.02, size, random).sum())
        found.append(Batch(number, 0.0, 1.0, 0.0, float(size), tasks=tasks, mean_task_s=task_s / tasks))
    return found


@pytest.mark.parametrize("scv", SCVS)
@pytest.mark.parametrize("own_s", [0.0, 0.4])
def test_service_times(scv: float, own_s: float) -> None:
    sizes = np.random.default_rng(8).poisson(60, 500)
    assert service_scv(batches(scv, sizes=sizes, own_s=own_s)) == pytest.approx(scv, rel=0.25)


def test_service_times_where_all_batches_are_alike() -> None:
    assert service_scv(batches(1.0, sizes=np.full(500, 60), own_s=0.0)) == pytest.approx(1.0, rel=0.25)


def test_records_that_all_take_the_same_do_not_vary() -> None:
    sizes = np.random.default_rng(9).poisson(60, 50)
    found = service_scv(batches(1e-6, sizes=sizes, own_s=0.3))
    assert found == pytest.approx(0.0, abs=1e-3)


@pytest.mark.parametrize("curve", [[], [(0.0, 1.0)], [(float(n), 5.0) for n in range(50)], [(3.0, 1.0)] * 9])
def test_where_nothing_can_be_said_nothing_is(curve: list[tuple[float, float]]) -> None:
    assert arrival_scv(curve) is None
    assert service_scv([Batch(n, 0.0, 1.0, 0.0, records) for n, (_, records) in enumerate(curve)]) is None
