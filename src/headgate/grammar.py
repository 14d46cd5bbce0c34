"""The one grammar in which policies, guards and workloads are named: ``name:option=value,option=value``.

A thing that can be named so is a frozen dataclass whose fields are declared with
``core.options.option``. The same grammar is written back by ``spell``, so that journals and
reports name things in the words that users type.
"""

from __future__ import annotations

import dataclasses
import types
import typing
from collections.abc import Mapping
from typing import Any, TypeVar, Union

from headgate.core.units import format_duration, parse_duration_s, parse_number
from headgate.errors import UserMistake, nearest

T = TypeVar("T")


def split_spec(text: str, *, kind: str) -> tuple[str, dict[str, str]]:
    """Name and raw options of one spec.

    >>> split_spec("hpa:target=0.8,tolerance=0.1", kind="policy")
    ('hpa', {'target': '0.8', 'tolerance': '0.1'})
    """
    name, colon, rest = text.strip().partition(":")
    name = name.strip()
    if not name:
        raise UserMistake(f"{kind} '{text}' has no name; write it as name or name:option=value,option=value")
    options: dict[str, str] = {}
    if colon and not rest.strip():
        raise UserMistake(f"{kind} '{text}' has no option after the colon; write {name} or {name}:option=value")
    for piece in rest.split(",") if rest.strip() else ():
        key, equals, value = piece.partition("=")
        key = key.strip()
        if not equals or not key or not value.strip():
            raise UserMistake(
                f"{kind} '{name}': '{piece.strip()}' is not option=value; write it as {name}:option=value"
            )
        if key in options:
            raise UserMistake(f"{kind} '{name}': option '{key}' is given twice; keep one of them")
        options[key] = value.strip()
    return name, options


def parse_spec(text: str, known: Mapping[str, type[T]], *, kind: str) -> T:
    """The thing that a spec names, made with its options."""
    name, options = split_spec(text, kind=kind)
    if name not in known:
        raise UserMistake(f"{kind} '{name}' is unknown{nearest(name, known)}")
    return build(known[name], options, kind=kind, name=name)


def build(cls: type[T], options: Mapping[str, Any], *, kind: str, name: str) -> T:
    """Make a thing from raw options: texts as typed, or the values of a TOML table."""
    hints = typing.get_type_hints(cls)
    fields = {field.name: field for field in dataclasses.fields(cls) if field.init}  # type: ignore[arg-type]
    given: dict[str, Any] = {}
    for key, raw in options.items():
        full = key if key in fields else f"{key}_s" if f"{key}_s" in fields else None
        if full is None:
            raise UserMistake(f"{kind} '{name}' has no option '{key}'{nearest(key, fields)}")
        given[full] = _read(hints[full], raw, field_name=full, where=f"{kind} '{name}': {key}")
    for field in fields.values():
        required = field.default is dataclasses.MISSING and field.default_factory is dataclasses.MISSING
        if required and field.name not in given:
            raise UserMistake(f"{kind} '{name}' needs the option '{field.name}'; write {name}:{field.name}=…")
    return cls(**given)


def spell(thing: Any) -> str:
    """A spec that makes the same thing again; options at their default are left out.

    >>> from headgate.policies import Hpa
    >>> spell(Hpa(target=0.7))
    'hpa:target=0.7'
    """
    parts = []
    for field in dataclasses.fields(thing):
        value = getattr(thing, field.name)
        if field.init and value is not None and value != field.default:
            parts.append(f"{field.name}={_write(value)}")
    return f"{thing.name}:{','.join(parts)}" if parts else str(thing.name)


def _write(value: Any) -> str:
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, float):
        return repr(value) if value != int(value) or abs(value) > 1e15 else str(int(value))
    return str(value)


def describe_options(cls: type[Any]) -> list[dict[str, Any]]:
    """Each option with its default and meaning, for help texts and documentation."""
    rows = []
    hints = typing.get_type_hints(cls)
    for field in dataclasses.fields(cls):
        if not field.init:
            continue
        default = None if field.default is dataclasses.MISSING else field.default
        shown = format_duration(default) if field.name.endswith("_s") and isinstance(default, int | float) else default
        rows.append(
            {
                "option": field.name,
                "type": _plain_name(hints[field.name]),
                "default": default,
                "shown": "required" if field.default is dataclasses.MISSING else shown,
                "meaning": field.metadata.get("help", ""),
            }
        )
    return rows


def _alternatives(hint: Any) -> tuple[Any, ...]:
    if typing.get_origin(hint) in (Union, types.UnionType):
        return typing.get_args(hint)
    return (hint,)


def _plain_name(hint: Any) -> str:
    names = [getattr(part, "__name__", str(part)) for part in _alternatives(hint) if part is not type(None)]
    return " or ".join(names)


def _read(hint: Any, raw: Any, *, field_name: str, where: str) -> Any:
    kinds = _alternatives(hint)
    if not isinstance(raw, str):
        raw_kind = float if isinstance(raw, int) and not isinstance(raw, bool) and float in kinds else type(raw)
        if raw_kind not in kinds:
            raise UserMistake(f"{where}={raw!r} is not of the right kind; give a {_plain_name(hint)}")
        return raw_kind(raw)
    if type(None) in kinds and raw.lower() in ("none", "null"):
        return None
    if bool in kinds:
        if raw.lower() in ("true", "yes", "on", "1"):
            return True
        if raw.lower() in ("false", "no", "off", "0"):
            return False
        raise UserMistake(f"{where}={raw} is neither true nor false; write true or false")
    if field_name.endswith("_s") and float in kinds:
        return parse_duration_s(raw, where=where)
    if int in kinds:
        number = parse_number(raw, where=where)
        if number != int(number):
            raise UserMistake(f"{where}={raw} is not a whole number; give one that is")
        return int(number)
    if float in kinds:
        return parse_number(raw, where=where)
    return raw
