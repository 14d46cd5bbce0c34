"""A group that packs itself beside Kafka's own, in virtual time."""

from __future__ import annotations

import numpy as np
import pytest

from headgate.experiments.groups_compared import averaged, compare_groups, drifting_load
from headgate.sim.consumer_group import PartitionQueues


def test_what_waits_is_what_came_and_was_not_read() -> None:
    queues = PartitionQueues(["a-0", "a-1", "a-2"])
    queues.advance(np.array([10.0, 100.0, 5.0]), {"a-0": 1, "a-1": 1}, capacity=60.0)
    # The first needs ten of the thirty that are its part; the rest is for the second. Nobody reads the third.
    assert queues.waiting.tolist() == [0.0, 50.0, 5.0]
    queues.advance(np.zeros(3), {"a-1": 1, "a-2": 2}, capacity=60.0)
    assert queues.waiting.tolist() == [0.0, 0.0, 0.0]
    assert queues.written.tolist() == [10.0, 100.0, 5.0]


def test_the_load_drifts_and_keeps_its_sum() -> None:
    load = drifting_load(0)
    assert load.sum(axis=1)[300] == pytest.approx(4.5e6)
    assert int(load[0].argmax()) != int(load[600].argmax())


def test_packing_has_less_lag_with_as_many_consumers_and_pays_with_moves() -> None:
    rows = {row.label: row for row in averaged([compare_groups(seed) for seed in range(2)])}
    packed = rows["packed (mbf)"]
    others = [row for label, row in rows.items() if label.startswith("Kafka")]
    assert len(others) == 3
    for row in others:
        assert packed.lag_mean_s < 0.5 * row.lag_mean_s
        assert packed.consumers < 1.3 * row.consumers
        assert packed.moved > row.moved
