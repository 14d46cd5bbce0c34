"""What is unusual, and when a stream is normal again."""

from __future__ import annotations

import json
import math

import pytest

from headgate.models.anomaly import AnomalyModel, RecoveryWatch


def learned(*differences: float) -> AnomalyModel:
    model = AnomalyModel()
    for difference in differences:
        model.learn(difference)
    return model


def test_one_standard_deviation_from_the_mean_is_the_limit() -> None:
    """Mean 10, deviation 2."""
    model = learned(8.0, 12.0, 8.0, 12.0)
    assert [model.is_anomalous(value) for value in (8.0, 12.0, 12.01, 7.99)] == [False, False, True, True]


def test_nothing_is_unusual_before_something_is_usual() -> None:
    assert not learned().is_anomalous(1e9)
    assert not learned(5.0).is_anomalous(1e9)


def test_what_is_no_number_is_not_learned() -> None:
    assert learned(8.0, math.nan, 12.0, math.inf) == learned(8.0, 12.0)


def test_it_comes_back_from_json() -> None:
    model = learned(8.0, 12.0)
    assert AnomalyModel.restored(json.loads(json.dumps(model.state))) == model


def test_recovery_ends_when_it_has_stayed_normal_and_that_time_is_not_counted() -> None:
    watch = RecoveryWatch(began_s=0.0, settled_s=5.0)
    course = [(10.0, True), (20.0, False), (23.0, True), (30.0, False), (34.0, False), (35.0, False)]
    found = [watch.look(time_s, anomalous=anomalous) for time_s, anomalous in course]
    assert found == [None, None, None, None, None, 30.0]


def test_what_does_not_end_is_given_up() -> None:
    watch = RecoveryWatch(began_s=0.0, limit_s=60.0)
    assert watch.look(60.0, anomalous=True) is None
    assert watch.look(61.0, anomalous=True) == math.inf


def test_a_watch_goes_on_after_a_restart() -> None:
    watch = RecoveryWatch(began_s=100.0)
    watch.look(120.0, anomalous=False)
    again = RecoveryWatch.restored(json.loads(json.dumps(watch.state)))
    assert again is not None
    assert again.look(131.0, anomalous=False) == 20.0


@pytest.mark.parametrize("state", [None, {}, {"began_s": "x"}, [1]])
def test_without_a_state_nothing_is_watched(state: object) -> None:
    assert RecoveryWatch.restored(state) is None
