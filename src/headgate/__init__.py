"""Headgate keeps a streaming pipeline exactly as big as its stream needs.

import headgate

scaler = headgate.attach(query, policy="hpa", executors=(1, 12))
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

from headgate import errors, policies
from headgate.errors import UserMistake

if TYPE_CHECKING:
    from headgate.spark.operators import Operator
    from headgate.spark.sinks import DeltaSink, ParquetSink, TablesSink
    from headgate.wiring.attachment import Scaler, ServedAgent, attach, serve
    from headgate.wiring.operators import operator

__all__ = [
    "DeltaSink",
    "Operator",
    "ParquetSink",
    "Scaler",
    "ServedAgent",
    "TablesSink",
    "attach",
    "errors",
    "operator",
    "policies",
    "serve",
]

_NEED_SPARK = {
    "DeltaSink": "headgate.spark.sinks",
    "Operator": "headgate.spark.operators",
    "ParquetSink": "headgate.spark.sinks",
    "Scaler": "headgate.wiring.attachment",
    "ServedAgent": "headgate.wiring.attachment",
    "TablesSink": "headgate.spark.sinks",
    "attach": "headgate.wiring.attachment",
    "operator": "headgate.wiring.operators",
    "serve": "headgate.wiring.attachment",
}


def __getattr__(name: str) -> Any:
    """What needs PySpark is loaded when it is asked for, so that Headgate can be installed without it."""
    if name not in _NEED_SPARK:
        raise AttributeError(f"module 'headgate' has no attribute '{name}'")
    try:
        module = import_module(_NEED_SPARK[name])
    except ModuleNotFoundError as error:
        if (error.name or "").split(".")[0] not in ("pyspark", "py4j"):
            raise
        raise UserMistake(
            f"headgate.{name} needs PySpark, which is not installed; run pip install 'headgate[spark]' "
            "or use the Python of your cluster"
        ) from None
    return getattr(module, name)
