"""Vehicles keep to the streets, move as fast as they say, and some drive too fast."""

from __future__ import annotations

import json

import numpy as np

from headgate.workloads.records.vehicles import BLOCK_M, SPEED_LIMIT_M_S, Vehicles

START_S = 1_800_000_000.0


def test_positions_and_speeds_agree_however_closely_one_looks() -> None:
    city = Vehicles(vehicles=200, seed=2)
    numbers = np.arange(200)
    step_s = 0.1
    for second in range(0, 600, 7):
        before = city.whereabouts(numbers, np.full(200, START_S + second))
        after = city.whereabouts(numbers, np.full(200, START_S + second + step_s))
        # Along streets, so the way is the sum of both differences, also round a corner.
        way = np.abs(after[0] - before[0]) + np.abs(after[1] - before[1])
        assert np.allclose(way, (before[2] + after[2]) / 2 * step_s, atol=0.01)


def test_vehicles_keep_to_the_streets_of_the_city() -> None:
    city = Vehicles(vehicles=1000, blocks=20, seed=2)
    x, y, _ = city.whereabouts(np.arange(1000), np.full(1000, START_S))
    assert x.min() >= 0
    assert y.min() >= 0
    assert x.max() <= 20 * BLOCK_M
    assert y.max() <= 20 * BLOCK_M
    off = np.minimum(np.abs(x / BLOCK_M - np.round(x / BLOCK_M)), np.abs(y / BLOCK_M - np.round(y / BLOCK_M)))
    assert off.max() < 1e-6
    assert np.histogram2d(x, y, bins=4)[0].min() > 0


def test_speeds_change_and_some_exceed_the_limit() -> None:
    city = Vehicles(seed=2)
    times_s = START_S + np.arange(0, 3000, 10.0)
    for number in (0, 17, 999):
        _, _, speed = city.whereabouts(np.full(len(times_s), number), times_s)
        assert speed.min() > 0
        assert speed.max() > 1.4 * speed.min()
    records = [json.loads(value) for value in city.values(0, [int(START_S * 1000)] * 1000)]
    assert len({record["vehicle"] for record in records}) == 1000
    fast = sum(record["speed"] > SPEED_LIMIT_M_S for record in records)
    assert 20 < fast < 300
