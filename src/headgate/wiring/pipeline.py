"""The user's own PySpark, brought in from a file: a function that starts queries and knows nothing of Headgate."""

from __future__ import annotations

from pathlib import Path

from pyspark.sql import SparkSession
from pyspark.sql.streaming.query import StreamingQuery

from headgate.config import PipelineTable
from headgate.errors import UserMistake
from headgate.wiring.functions import blaming, filled, imported_file


def start_pipeline(table: PipelineTable, session: SparkSession, *, folder: Path) -> list[StreamingQuery]:
    """Call the user's function; whatever it raises is the user's to see, in one sentence."""
    module = imported_file(table.file)
    function = getattr(module, table.function, None)
    if function is None:
        raise UserMistake(f"{table.file} has no function '{table.function}'; set pipeline.function to one that it has")
    with blaming(f"{table.function} in {table.file}"):
        started = function(session, **filled(table.options, folder=folder))
    queries = list(started) if isinstance(started, list | tuple) else [started]
    if not queries or not all(isinstance(query, StreamingQuery) for query in queries):
        raise UserMistake(
            f"{table.function} in {table.file} returned {type(started).__name__}; "
            "it must return a started StreamingQuery or a list of them"
        )
    return queries
