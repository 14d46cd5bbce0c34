"""Sessions in which nothing could be scaled are refused when attaching, not later."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

import headgate
from headgate.errors import UserMistake


def session(master: str, **settings: str) -> Any:
    conf = {key.replace("_", "."): value for key, value in settings.items()}
    scala_context = SimpleNamespace(isStopped=lambda: False)
    context = SimpleNamespace(
        master=master, _jsc=SimpleNamespace(sc=lambda: scala_context), getConf=lambda: SimpleNamespace(get=conf.get)
    )
    return SimpleNamespace(sparkContext=context)


@pytest.mark.parametrize(
    ("found", "words"),
    [
        (session("local[*]"), "no executors to add"),
        (session("spark://host:7077", spark_dynamicAllocation_enabled="true"), "spark.dynamicAllocation.enabled"),
        (session("spark://host:7077", spark_cores_max="2", spark_executor_cores="1"), "spark.cores.max=2"),
        (type("SparkSession", (), {"__module__": "pyspark.sql.connect.session"})(), "Spark Connect"),
    ],
)
def test_a_session_that_cannot_be_scaled_is_refused_in_one_sentence(
    found: Any, words: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    query: Any = SimpleNamespace(recentProgress=[], isActive=True, name="orders", id="1", runId="2")
    monkeypatch.setattr("headgate.spark.agent.session_of", lambda _: found)
    with pytest.raises(UserMistake) as caught:
        headgate.attach(query, executors=(1, 4), journal=tmp_path / "orders.db")
    assert words in str(caught.value)
    assert "\n" not in str(caught.value)
    assert not list(tmp_path.iterdir())
