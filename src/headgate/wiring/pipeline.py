"""The user's own PySpark, brought in from a file: a function that starts queries and knows nothing of Headgate."""

from __future__ import annotations

import contextlib
import importlib.util
import sys
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType
from typing import Any

from pyspark import cloudpickle
from pyspark.sql import SparkSession
from pyspark.sql.streaming.query import StreamingQuery

from headgate.config import PipelineTable
from headgate.errors import UserMistake


def start_pipeline(table: PipelineTable, session: SparkSession, *, folder: Path) -> list[StreamingQuery]:
    """Call the user's function; whatever it raises is the user's to see, in one sentence."""
    module = _imported(table.file)
    function = getattr(module, table.function, None)
    if function is None:
        raise UserMistake(f"{table.file} has no function '{table.function}'; set pipeline.function to one that it has")
    with _blaming(f"{table.function} in {table.file}"):
        started = function(session, **_filled(table.options, folder=folder))
    queries = list(started) if isinstance(started, list | tuple) else [started]
    if not queries or not all(isinstance(query, StreamingQuery) for query in queries):
        raise UserMistake(
            f"{table.function} in {table.file} returned {type(started).__name__}; "
            "it must return a started StreamingQuery or a list of them"
        )
    return queries


def _imported(file: Path) -> ModuleType:
    """The user's module, which may import its neighbours, and whose functions reach the executors by value."""
    name = f"headgate_pipeline_{file.stem}"
    spec = importlib.util.spec_from_file_location(name, file)
    if spec is None or spec.loader is None:
        raise UserMistake(f"pipeline.file {file} is not a Python file; give one whose name ends in .py")
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module
    if str(file.parent) not in sys.path:
        sys.path.append(str(file.parent))
    cloudpickle.register_pickle_by_value(module)  # type: ignore[no-untyped-call]
    with _blaming(str(file)):
        spec.loader.exec_module(module)
    return module


def _filled(options: dict[str, Any], *, folder: Path) -> dict[str, Any]:
    return {
        key: value.replace("{folder}", str(folder)) if isinstance(value, str) else value
        for key, value in options.items()
    }


@contextlib.contextmanager
def _blaming(place: str) -> Iterator[None]:
    try:
        yield
    except Exception as error:
        first = (str(error).splitlines() or [""])[0]
        raise UserMistake(f"{place} failed with {type(error).__name__}: {first}; correct it there") from error
