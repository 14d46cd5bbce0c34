"""What is imported only when a command needs it: a missing one is a sentence with the remedy, not a trace."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from headgate.errors import UserMistake

_EXTRAS = {
    "confluent_kafka": "kafka",
    "fastavro": "consumers",
    "jgo": "kafka",
    "lightkube": "kubernetes",
    "pandas": "spark",
    "psutil": "spark",
    "py4j": "spark",
    "pyarrow": "spark",
    "pyspark": "spark",
    "statsforecast": "forecasting",
}
"""Which extra of the package brings it."""


@contextmanager
def extras_installed(extra: str | None = None) -> Iterator[None]:
    """Imports inside may fail; the sentence names ``extra``, or the one that brings what is missing."""
    try:
        yield
    except ModuleNotFoundError as error:
        missing = (error.name or "").split(".")[0]
        if missing not in _EXTRAS:
            raise
        brings = extra or _EXTRAS[missing]
        raise UserMistake(f"{error.name} is not installed; run pip install 'headgate[{brings}]'") from None
