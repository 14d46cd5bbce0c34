"""The scenarios that have a name, and the one way to get a scenario from what a user typed."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from headgate.errors import UserMistake, nearest
from headgate.sim.scenario import OperatorScenario, Scenario, parse_scenario

_SPARK = Scenario(
    name="spark",
    description="one Spark query with a 1 s trigger and 5000 records/s an executor",
    task_overhead_s=0.0005,
    noise=0.05,
    startup_s=10.0,
    startup_sd_s=2.0,
    slow_batch_s=2.5,
    warm_up_s=5.0,
    warm_up_speed=0.8,
)

_CONTINUOUS = Scenario(
    name="continuous",
    description="one operator that works record by record and is rescaled while it runs",
    engine="continuous",
    partitions=120,
    noise=0.05,
    startup_s=10.0,
    startup_sd_s=2.0,
)

SCENARIOS: Mapping[str, Scenario] = {
    "chain": _SPARK.changed(
        name="chain",
        description="three Spark queries in a row that share the executors",
        operators=(
            OperatorScenario(name="parse", capacity=20000.0, scalable=True, parallelism=12, max_parallelism=60),
            OperatorScenario(
                name="enrich",
                upstream=("parse",),
                capacity=8000.0,
                selectivity=0.5,
                scalable=True,
                parallelism=12,
                max_parallelism=60,
            ),
            OperatorScenario(name="count", upstream=("enrich",), capacity=15000.0, selectivity=0.01, stateful=True),
        ),
        state_reload_s=0.5,
    ),
    "continuous": _CONTINUOUS,
    "flink-like": _CONTINUOUS.changed(
        name="flink-like",
        description="one operator that stops, restores and replays whenever it is rescaled",
        rescale="restart",
        downtime_out_s=30.0,
        downtime_in_s=15.0,
        checkpoint_interval_s=10.0,
    ),
    "skewed": _SPARK.changed(
        name="skewed", description="the Spark query with a few heavy partitions", partitions=24, skew=0.5
    ),
    "spark": _SPARK,
}


def load_scenario(name_or_path: str) -> Scenario:
    """A built-in scenario by its name, or the one in a TOML file.

    >>> load_scenario("spark").operators[0].capacity
    5000.0
    """
    if name_or_path in SCENARIOS:
        return SCENARIOS[name_or_path]
    if not name_or_path.endswith(".toml") and "/" not in name_or_path:
        raise UserMistake(f"scenario '{name_or_path}' is unknown{nearest(name_or_path, SCENARIOS)}")
    try:
        text = Path(name_or_path).read_text(encoding="utf-8")
    except (OSError, ValueError) as error:
        reason = error.strerror if isinstance(error, OSError) else "it is not UTF-8 text"
        raise UserMistake(
            f"scenario file '{name_or_path}' cannot be read ({reason}); "
            f"give a readable TOML file or one of {', '.join(SCENARIOS)}"
        ) from None
    return parse_scenario(text, where=f"scenario file '{name_or_path}'")
