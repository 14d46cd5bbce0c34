"""Core values to JSON and back, with every error naming its place.

The one reader of JSON that came from outside (journals, evaluations written by hand, messages
between controller and agent), and the source of the published JSON Schemas.
"""

from __future__ import annotations

from typing import Any, TypeVar

from pydantic import ConfigDict, TypeAdapter, ValidationError

from headgate.core import allocation, decision, evaluation, graph, knowledge, ports, profile, sample, status
from headgate.errors import HeadgateError, UserMistake

T = TypeVar("T")

_STRICT = ConfigDict(extra="forbid", allow_inf_nan=False)
for _module in (allocation, decision, evaluation, graph, knowledge, ports, profile, sample, status):
    for _value in vars(_module).values():
        if isinstance(_value, type) and hasattr(_value, "__dataclass_fields__"):
            _value.__pydantic_config__ = _STRICT  # type: ignore[attr-defined]


_ADAPTERS: dict[Any, TypeAdapter[Any]] = {}


def _adapter(cls: Any) -> TypeAdapter[Any]:
    if cls not in _ADAPTERS:
        _ADAPTERS[cls] = TypeAdapter(cls)
    return _ADAPTERS[cls]


def to_json(value: Any) -> bytes:
    """Compact JSON of a core value."""
    return _adapter(type(value)).dump_json(value)


def to_plain(value: Any) -> Any:
    """The value as plain dicts, lists and scalars."""
    return _adapter(type(value)).dump_python(value, mode="json")


def from_json(cls: type[T], text: bytes | str, *, where: str) -> T:
    try:
        return _adapter(cls).validate_json(text)  # type: ignore[no-any-return]
    except ValidationError as error:
        raise UserMistake(f"{where}: {_sentence(error)}") from None
    except HeadgateError as error:
        raise UserMistake(f"{where}: {error}") from None


def from_plain(cls: type[T], data: Any, *, where: str) -> T:
    try:
        return _adapter(cls).validate_python(data)  # type: ignore[no-any-return]
    except ValidationError as error:
        raise UserMistake(f"{where}: {_sentence(error)}") from None
    except HeadgateError as error:
        raise UserMistake(f"{where}: {error}") from None


def schema(cls: type[Any]) -> dict[str, Any]:
    """JSON Schema of a value's JSON form."""
    return {"$schema": "https://json-schema.org/draft/2020-12/schema", **_adapter(cls).json_schema()}


def _sentence(error: ValidationError) -> str:
    first = error.errors()[0]
    place = ".".join(str(part) for part in first["loc"]) or "the document"
    more = f" (and {error.error_count() - 1} more)" if error.error_count() > 1 else ""
    return f"{place}: {first['msg']}{more}; see `headgate schema` for what is expected"
