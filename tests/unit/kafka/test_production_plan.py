"""Plans, and what is said of a production that was too slow."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from headgate.errors import NotReady, UserMistake
from headgate.kafka.production import Production, ProductionPlan, ProductionResult
from headgate.kafka.settings import KafkaSettings

SETTINGS = KafkaSettings("127.0.0.1:1")
RESULT = ProductionResult(
    topic="t",
    total=1000,
    sent=1000,
    acknowledged=1000,
    failed=0,
    start_time_s=0.0,
    asked_per_s=100.0,
    achieved_per_s=99.5,
    ended_late_s=0.05,
    most_late_s=0.05,
)


def plan(**options: Any) -> ProductionPlan:
    return ProductionPlan(**{"topic": "t", "records": "rows", "workload": "constant:rate=10", **options})


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"topic": ""}, "no topic"),
        ({"records": "row"}, "did you mean 'rows'"),
        ({"keys": "uniform:key=3"}, "did you mean 'keys'"),
        ({"workload": "sinus"}, "unknown"),
        ({"process": "odd"}, "even or poisson"),
        ({"processes": 0}, "from 1 to"),
        ({"partition_skew": -1.0}, "skew"),
        ({"partition_drift_s": 0.0, "partition_skew": 1.0}, "drift of 0 s"),
        ({"partition_drift_s": 10.0}, "moves a skew"),
        ({"partition_drift_s": 10.0, "partition_skew": 1.0, "keys": "uniform"}, "keys would change"),
        ({"first_sequence": -1}, "negative"),
        ({"start_time_s": float("nan")}, "not a moment"),
    ],
)
def test_a_mistake_is_said_before_anything_is_started(options: dict[str, Any], words: str) -> None:
    with pytest.raises(UserMistake, match=words):
        Production(SETTINGS, plan(**options))


def test_a_production_knows_its_total_before_it_starts() -> None:
    production = Production(SETTINGS, plan(duration_s=30.0))
    assert production.total == 300
    assert production.status().total == 300
    assert production.status().asked == 0
    assert not production.finished
    with pytest.raises(NotReady):
        production.result()


@pytest.mark.parametrize(
    ("changes", "kept_up"),
    [
        ({}, True),
        ({"achieved_per_s": 90.0}, True),
        ({"ended_late_s": 9.0}, True),
        ({"achieved_per_s": 90.0, "ended_late_s": 1.1}, False),
    ],
)
def test_too_slow_is_below_98_percent_with_a_late_end(changes: dict[str, float], kept_up: bool) -> None:
    assert replace(RESULT, **changes).kept_up is kept_up  # type: ignore[arg-type]


def test_a_single_missing_record_is_not_exact() -> None:
    assert RESULT.exact
    assert not replace(RESULT, acknowledged=999).exact
