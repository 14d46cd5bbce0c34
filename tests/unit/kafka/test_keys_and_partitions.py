"""Where records go: in turn, by key, or more to the first partitions."""

from __future__ import annotations

import numpy as np
import pytest

from headgate.kafka.partitioning import BY_KEY, Partitioning
from headgate.workloads.records import parse_keys

SEQUENCES = np.arange(100_000)


def test_without_keys_partitions_take_turns() -> None:
    assert Partitioning(partitions=3).choose(np.arange(5, 11), None) == [2, 0, 1, 2, 0, 1]


def test_keys_are_left_to_kafkas_own_hash() -> None:
    assert Partitioning(partitions=3).choose(np.arange(4), np.array([1, 2, 1, 2])) == [BY_KEY] * 4


@pytest.mark.parametrize("skew", [0.5, 1.0, 2.0])
def test_a_skew_loads_partitions_by_their_rank(skew: float) -> None:
    counts = np.bincount(Partitioning(partitions=4, skew=skew, seed=1).choose(SEQUENCES, None))
    expected = np.arange(1, 5) ** -skew
    assert counts / len(SEQUENCES) == pytest.approx(expected / expected.sum(), abs=0.01)


def test_with_a_skew_a_key_still_stays_in_its_partition() -> None:
    keys = parse_keys("uniform:keys=2000", seed=2).numbers(SEQUENCES)
    assert keys is not None
    chosen = np.array(Partitioning(partitions=4, skew=1.0, seed=1).choose(SEQUENCES, keys))
    for key in range(0, 2000, 97):
        assert len(set(chosen[keys == key].tolist())) == 1
    counts = np.bincount(chosen) / len(SEQUENCES)
    expected = np.array([1, 1 / 2, 1 / 3, 1 / 4])
    assert counts == pytest.approx(expected / expected.sum(), abs=0.05)


def test_a_skew_that_drifts_moves_on_by_one_partition_at_a_time() -> None:
    def first_at(since_s: float) -> float:
        drifting = Partitioning(partitions=4, skew=1.0, seed=1, drift_s=10.0)
        return float(np.mean(np.array(drifting.choose(SEQUENCES, None, np.full(len(SEQUENCES), since_s))) == 1))

    share = 1 / (1 + 1 / 2 + 1 / 3 + 1 / 4)
    # The second partition is second, then half way to the first place, there, and then the last one.
    assert first_at(0.0) == pytest.approx(share / 2, abs=0.02)
    assert first_at(5.0) == pytest.approx((share / 2 + share) / 2, abs=0.02)
    assert first_at(10.0) == pytest.approx(share, abs=0.02)
    assert first_at(20.0) == pytest.approx(share / 4, abs=0.02)
    assert first_at(50.0) == pytest.approx(share, abs=0.02)
