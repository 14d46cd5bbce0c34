"""What all tables of an app file have in common."""

from __future__ import annotations

from typing import Annotated, Any

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field

from headgate.core.units import parse_duration_s
from headgate.errors import UserMistake


def _seconds(value: Any) -> Any:
    if not isinstance(value, str):
        return value
    try:
        return parse_duration_s(value)
    except UserMistake as mistake:
        raise ValueError(str(mistake)) from None


Seconds = Annotated[float, BeforeValidator(_seconds), Field(gt=0)]
"""A duration: a number of seconds, or a text such as ``5m``."""


class Table(BaseModel):
    """A table of the file: unknown keys are mistakes, values never change."""

    model_config = ConfigDict(extra="forbid", frozen=True, allow_inf_nan=False)
