"""Dataclasses as Avro messages, each with the fingerprint of its schema, so that a reader knows what it has before it.

Avro's single-object encoding: two bytes that mark it, eight of the schema's fingerprint (CRC-64-AVRO of its parsing
canonical form), the body. A version is part of a schema's name, so another version has another fingerprint.
"""

from __future__ import annotations

import dataclasses
import io
import struct
import types
import typing
from collections.abc import Iterable
from functools import cache
from typing import Any, Union

from fastavro import parse_schema, schemaless_reader, schemaless_writer
from fastavro.schema import fingerprint, to_parsing_canonical_form

from headgate.errors import UserMistake

_MARK = b"\xc3\x01"
_HEAD = struct.Struct("<2s8s")
_PLAIN = {int: "long", float: "double", str: "string", bool: "boolean"}


class Unreadable(UserMistake):
    """A message that is none of ours, or of a version that is not known here."""


class Vocabulary:
    """The kinds of messages that a topic may hold."""

    def __init__(self, kinds: Iterable[type], *, namespace: str) -> None:
        self._namespace = namespace
        self._prints: dict[type, bytes] = {}
        self._kinds: dict[bytes, type] = {}
        self._schemas: dict[type, Any] = {}
        for kind in kinds:
            schema = schema_of(kind, namespace=namespace)
            self._schemas[kind] = parse_schema(schema)
            mark = bytes.fromhex(fingerprint(to_parsing_canonical_form(schema), "CRC-64-AVRO"))
            self._prints[kind], self._kinds[mark] = mark, kind

    def encode(self, message: object) -> bytes:
        kind = type(message)
        buffer = io.BytesIO()
        buffer.write(_HEAD.pack(_MARK, self._prints[kind]))
        schemaless_writer(buffer, self._schemas[kind], dataclasses.asdict(message))  # type: ignore[call-overload]
        return buffer.getvalue()

    def decode(self, data: bytes | None) -> Any:
        """The message; ``Unreadable`` with a sentence about what it is otherwise."""
        if data is None or len(data) < _HEAD.size or data[:2] != _MARK:
            raise Unreadable(f"{0 if data is None else len(data)} bytes that are no message of ours are left aside")
        _, mark = _HEAD.unpack_from(data)
        kind = self._kinds.get(mark)
        if kind is None:
            raise Unreadable(f"a message with the unknown schema {mark.hex()} is left aside; update this program")
        buffer = io.BytesIO(data[_HEAD.size :])
        try:
            values = schemaless_reader(buffer, self._schemas[kind], None)
            message = _made(kind, values)
        except Exception as error:
            raise Unreadable(f"a {kind.__name__} that cannot be read is left aside ({type(error).__name__})") from None
        if buffer.read(1):
            raise Unreadable(f"a {kind.__name__} with more behind it than it should have is left aside")
        return message


def schema_of(kind: type, *, namespace: str) -> dict[str, Any]:
    """The Avro schema of a dataclass.

    >>> @dataclasses.dataclass
    ... class Greeting:
    ...     words: tuple[str, ...]
    ...     loud: bool | None
    >>> schema_of(Greeting, namespace="a.v1")["fields"]  # doctest: +NORMALIZE_WHITESPACE
    [{'name': 'words', 'type': {'type': 'array', 'items': 'string'}},
     {'name': 'loud', 'type': ['null', 'boolean']}]
    """
    hints = _hints(kind)
    fields = [
        {"name": field.name, "type": _type(hints[field.name], namespace=namespace)}
        for field in dataclasses.fields(kind)
    ]
    return {"type": "record", "name": kind.__name__, "namespace": namespace, "fields": fields}


@cache
def _hints(kind: type) -> dict[str, Any]:
    return typing.get_type_hints(kind)


def _type(hint: Any, *, namespace: str) -> Any:
    if hint in _PLAIN:
        return _PLAIN[hint]
    origin, arguments = typing.get_origin(hint), typing.get_args(hint)
    if origin is tuple:
        return {"type": "array", "items": _type(arguments[0], namespace=namespace)}
    if origin in (Union, types.UnionType):
        (inner,) = [each for each in arguments if each is not type(None)]
        return ["null", _type(inner, namespace=namespace)]
    return schema_of(hint, namespace=namespace)


def _made(kind: type, values: Any) -> Any:
    hints = _hints(kind)
    return kind(**{name: _value(hints[name], value) for name, value in values.items()})


def _value(hint: Any, value: Any) -> Any:
    if value is None or hint in _PLAIN:
        return value
    origin, arguments = typing.get_origin(hint), typing.get_args(hint)
    if origin is tuple:
        return tuple(_value(arguments[0], each) for each in value)
    if origin in (Union, types.UnionType):
        (inner,) = [each for each in arguments if each is not type(None)]
        return _value(inner, value)
    return _made(hint, value)
