"""What an operator may be, said before anything starts."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest

from headgate.errors import UserMistake
from headgate.spark.operators import OperatorPlan
from headgate.spark.sinks import ParquetSink, TablesSink, TopicSink


def plan(**given: Any) -> OperatorPlan:
    usual: dict[str, Any] = {
        "name": "filter",
        "transform": lambda raw: raw,
        "checkpoint": "checkpoint",
        "reads": ("words",),
        "writes": "kept",
    }
    return OperatorPlan(**(usual | given))


@pytest.mark.parametrize(
    ("given", "words"),
    [
        ({"name": ""}, "needs a name"),
        ({"reads": ()}, "either reads= or source="),
        ({"source": SimpleNamespace(isStreaming=True)}, "either reads= or source="),
        ({"reads": (), "source": SimpleNamespace(isStreaming=False)}, "spark.readStream"),
        ({"writes": None}, "either writes= or sink="),
        ({"sink": ParquetSink("out")}, "either writes= or sink="),
        ({"writes": "words"}, "which it reads"),
        ({"parallelism": 9}, "parallelism=9 with max_parallelism=8"),
        ({"parallelism": 0}, "parallelism=0"),
        ({"trigger_s": -1.0}, "trigger_s"),
        ({"watermark_s": 0.0}, "watermark_s"),
        ({"records_per_trigger": 0}, "records_per_trigger=0"),
        ({"output_mode": "replace"}, "append, update, complete"),
        ({"deduplicate": ("key",)}, "scalable=False"),
    ],
)
def test_what_cannot_be_is_refused_in_one_sentence(given: dict[str, Any], words: str) -> None:
    with pytest.raises(UserMistake) as caught:
        plan(**given)
    assert words in str(caught.value)
    assert "\n" not in str(caught.value)


def test_how_brokers_are_reached_is_not_shown() -> None:
    options = {"kafka.sasl.password": "secret"}
    assert "secret" not in repr(plan(topic_options=options))
    assert "secret" not in repr(TopicSink("kept", options))


def test_tables_are_parquet_or_delta() -> None:
    with pytest.raises(UserMistake, match="give parquet or delta"):
        TablesSink("out", format="orc")
