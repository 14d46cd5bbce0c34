"""Algorithm 1 of Daedalus, branch by branch."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from headgate.models.forecasting import Forecast
from headgate.policies.daedalus import Outlook, scale_out

# Ten thousand records a second and executor, unless a case says otherwise.
CASES: list[tuple[str, dict[str, Any], int, str, dict[int, str]]] = [
    # name, what differs, size, branch, sizes passed over
    ("lately, and it still carries all", {"since_rescale_s": 599.0, "current": 6}, 6, "recently-rescaled", {}),
    ("not lately any more", {"since_rescale_s": 600.0, "current": 6}, 3, "fits", {1: "w", 2: "w"}),
    ("lately, but too small for now", {"since_rescale_s": 300.0, "current": 2}, 3, "fits", {1: "w", 2: "w"}),
    (
        "lately, but too small for the next minute",
        {"since_rescale_s": 300.0, "current": 3, "forecast": [33_000.0] * 900},
        4,
        "fits",
        {1: "w", 2: "w", 3: "r"},
    ),
    ("capacity equal to the load is too little", {"average": 30_000.0}, 4, "fits", {1: "w", 2: "w", 3: "w"}),
    ("recovery exactly on target", {"recovery_s": lambda size: 600.0}, 3, "fits", {1: "w", 2: "w"}),
    (
        "recovers too slowly",
        {"recovery_s": lambda size: 601.0 if size < 5 else 600.0},
        5,
        "fits",
        {1: "w", 2: "w", 3: "s", 4: "s"},
    ),
    (
        "overtaken while it recovers",
        {"forecast": [25_000.0] * 30 + [31_000.0] * 10 + [25_000.0] * 860},
        4,
        "fits",
        {1: "w", 2: "w", 3: "r"},
    ),
    ("the size fits already", {"current": 3}, 3, "fits-already", {1: "w", 2: "w"}),
    (
        "it stays although it will be overtaken later",
        {"current": 3, "forecast": [25_000.0] * 500 + [90_000.0] * 400},
        3,
        "fits-already",
        {1: "w", 2: "w"},
    ),
    (
        "too much lag to shrink at once",
        {"current": 8, "lag_records": 55_000.0},
        6,
        "fits",
        {1: "w", 2: "w", 3: "l", 4: "l", 5: "l"},
    ),
    ("lag does not keep it from growing", {"current": 2, "lag_records": 1e9}, 3, "fits", {1: "w", 2: "w"}),
    (
        "overtaken later",
        {"current": 1, "forecast": [25_000.0] * 500 + [45_000.0] * 400},
        5,
        "fits",
        {1: "w", 2: "w", 3: "o", 4: "o"},
    ),
    (
        "nothing fits",
        {"current": 1, "average": 500_000.0},
        12,
        "nothing-fits",
        dict.fromkeys(range(1, 13), "w"),
    ),
    ("not below the bounds", {"least": 5, "current": 9}, 5, "fits", {}),
]
WORDS = {
    "w": "below-workload",
    "s": "recovers-too-slowly",
    "r": "overtaken-while-recovering",
    "l": "lag-too-long",
    "o": "overtaken-later",
}


@pytest.mark.parametrize(("_name", "changes", "size", "branch", "passed_over"), CASES, ids=[case[0] for case in CASES])
def test_algorithm_1(_name: str, changes: dict[str, Any], size: int, branch: str, passed_over: dict[int, str]) -> None:
    given = dict(changes)
    forecast = np.array(given.pop("forecast", [26_000.0] * 900))
    outlook = Outlook(
        **{
            "current": 1,
            "least": 1,
            "most": 12,
            "average": 25_000.0,
            "forecast": Forecast.around(forecast, 0.0),
            "capacity": lambda size: 10_000.0 * size,
            "recovery_s": lambda size: 60.0,
            "lag_records": 0.0,
            "since_rescale_s": None,
        }
        | given
    )
    choice = scale_out(outlook, target_s=600.0, long_lived_s=600.0, next_loop_s=60.0)
    assert (choice.executors, choice.branch) == (size, branch)
    assert choice.passed_over == {number: WORDS[why] for number, why in passed_over.items()}


def test_every_branch_is_reached_by_a_case() -> None:
    assert {case[3] for case in CASES} == {"recently-rescaled", "fits-already", "fits", "nothing-fits"}
    assert {why for case in CASES for why in case[4].values()} == set(WORDS)
