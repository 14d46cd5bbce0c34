"""A user's file of plain PySpark is brought in as a script would be, and its mistakes are told in a sentence."""

from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from pyspark import cloudpickle
from pyspark.sql.streaming.query import StreamingQuery

from headgate.config import PipelineTable
from headgate.errors import UserMistake
from headgate.wiring.pipeline import start_pipeline

QUERY = StreamingQuery(SimpleNamespace())  # type: ignore[arg-type]
SESSION: Any = SimpleNamespace(query=QUERY)

Start = Callable[..., list[StreamingQuery]]


@pytest.fixture
def start(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Start:
    monkeypatch.setattr(sys, "path", sys.path.copy())
    monkeypatch.setattr(sys, "modules", sys.modules.copy())
    monkeypatch.setattr(cloudpickle.cloudpickle, "_PICKLE_BY_VALUE_MODULES", set())

    def start(source: str, **table: Any) -> list[StreamingQuery]:
        file = tmp_path / "orders.py"
        file.write_text(source)
        return start_pipeline(PipelineTable(file=file, **table), SESSION, folder=tmp_path)

    return start


def test_one_query_or_several_are_what_the_function_returns(start: Start) -> None:
    assert start("def start(spark):\n    return spark.query") == [QUERY]
    assert start("def go(spark):\n    return [spark.query, spark.query]", function="go") == [QUERY, QUERY]


def test_options_are_passed_on_with_the_apps_folder_filled_in(start: Start, tmp_path: Path) -> None:
    source = f"""
def start(spark, sink, rate):
    assert sink == {str(tmp_path / "sink")!r}
    assert rate == 5
    return spark.query
"""
    assert start(source, options={"sink": "{folder}/sink", "rate": 5}) == [QUERY]


def test_the_file_may_import_its_neighbours_and_define_dataclasses(start: Start, tmp_path: Path) -> None:
    (tmp_path / "neighbour_of_orders.py").write_text("RATE = 3")
    source = """
from __future__ import annotations
from dataclasses import dataclass
from neighbour_of_orders import RATE

@dataclass
class Options:
    rate: int = RATE

def start(spark):
    assert Options().rate == 3
    return spark.query
"""
    assert start(source) == [QUERY]


def test_its_functions_travel_to_executors_that_do_not_have_the_file(start: Start) -> None:
    source = """
def double(value):
    return 2 * value

def start(spark):
    spark.function = double
    return spark.query
"""
    start(source)
    sent = cloudpickle.dumps(SESSION.function)
    del sys.modules["headgate_pipeline_orders"]
    assert cloudpickle.loads(sent)(4) == 8


@pytest.mark.parametrize(
    ("source", "words"),
    [
        ("def begin(spark): ...", ("no function 'start'", "pipeline.function")),
        ("def start(spark): ...", ("returned NoneType", "must return a started StreamingQuery")),
        ("def start(spark): return []", ("returned list",)),
        ("def start(spark, sink): ...", ("start in", "TypeError", "sink")),
        ("def start(spark): raise ValueError('no such topic\\nsecond line')", ("ValueError: no such topic",)),
        ("import no_such_library", ("orders.py", "no_such_library")),
        ("def start(spark:", ("orders.py", "SyntaxError")),
    ],
)
def test_what_is_wrong_with_it_is_one_sentence(start: Start, source: str, words: tuple[str, ...]) -> None:
    with pytest.raises(UserMistake) as caught:
        start(source)
    assert "\n" not in str(caught.value)
    for word in words:
        assert word in str(caught.value)
