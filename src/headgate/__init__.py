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
    from headgate.wiring.attachment import Scaler, ServedAgent, attach, serve

__all__ = ["Scaler", "ServedAgent", "attach", "errors", "policies", "serve"]

_NEED_SPARK = ("Scaler", "ServedAgent", "attach", "serve")


def __getattr__(name: str) -> Any:
    """What needs PySpark is loaded when it is asked for, so that Headgate can be installed without it."""
    if name not in _NEED_SPARK:
        raise AttributeError(f"module 'headgate' has no attribute '{name}'")
    try:
        module = import_module("headgate.wiring.attachment")
    except ModuleNotFoundError as error:
        if (error.name or "").split(".")[0] not in ("pyspark", "py4j"):
            raise
        raise UserMistake(
            f"headgate.{name} needs PySpark, which is not installed; run pip install 'headgate[spark]' "
            "or use the Python of your cluster"
        ) from None
    return getattr(module, name)
