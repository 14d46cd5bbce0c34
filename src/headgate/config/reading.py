"""From a file to an app, or to one sentence about what is wrong with it."""

from __future__ import annotations

import tomllib
from collections.abc import Sequence
from pathlib import Path
from typing import Any, TypeVar

from pydantic import BaseModel, ValidationError

from headgate.config.app import AppFile
from headgate.config.consumers import ConsumersTable
from headgate.config.flow import OperatorTable
from headgate.config.tables import PipelineTable
from headgate.errors import UserMistake, nearest

_SCHEMA = "`headgate schema app`"

_WithFile = TypeVar("_WithFile", PipelineTable, OperatorTable, ConsumersTable)


def load_app(path: Path) -> AppFile:
    """Read and check an app file; its paths become absolute."""
    try:
        text = path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        reason = error.strerror if isinstance(error, OSError) else "it is not UTF-8 text"
        raise UserMistake(f"app file {path} cannot be read: {reason}; check the path") from None
    app = parse_app(text, where=str(path))
    home = path.resolve().parent
    pipeline = None if app.pipeline is None else _found(app.pipeline, home, where=f"{path}: pipeline.file")
    operators = tuple(
        _found(operator, home, where=f"{path}: file of operator '{operator.name}',") for operator in app.operators
    )
    consumers = None if app.consumers is None else _found(app.consumers, home, where=f"{path}: consumers.file")
    kafka = app.kafka
    if kafka.config is not None:
        kafka = kafka.model_copy(update={"config": home / kafka.config})
    found = {"pipeline": pipeline, "operators": operators, "consumers": consumers, "kafka": kafka}
    return app.model_copy(update={"folder": home / app.folder, **found})


def _found(table: _WithFile, home: Path, *, where: str) -> _WithFile:
    if table.file is None:
        return table
    file = home / table.file
    if not file.is_file():
        raise UserMistake(f"{where} {file} does not exist; give the path of a Python file")
    return table.model_copy(update={"file": file})


def parse_app(text: str, *, where: str) -> AppFile:
    try:
        data = tomllib.loads(text)
    except (tomllib.TOMLDecodeError, RecursionError) as error:
        raise UserMistake(f"{where} is not valid TOML: {error}; correct it there") from None
    try:
        return AppFile.model_validate(data)
    except ValidationError as error:
        raise UserMistake(f"{where}: {_sentence(error, data)}") from None


def _sentence(error: ValidationError, data: Any) -> str:
    # An unknown key is often the misspelling of one that is then missing, so it is the better one to name.
    first = min(error.errors(), key=lambda one: one["type"] != "extra_forbidden")
    key = _spelled(first["loc"], data) or "the file"
    if first["type"] == "extra_forbidden":
        known = _keys_beside(first["loc"])
        return f"{key} is not a known key{nearest(str(first['loc'][-1]), known)}"
    if first["type"] == "missing":
        return f"{key} is missing; add it ({_SCHEMA} lists every key)"
    message = first["msg"].removeprefix("Value error, ")
    return f"{key}: {message[0].lower() + message[1:]} ({_SCHEMA} lists what each key takes)"


def _spelled(place: Sequence[int | str], data: Any) -> str:
    """A key as people find it: one of several tables goes by its name, or by its number from 1."""
    words = []
    for part in place:
        data = _inside(data, part)
        name = data.get("name") if isinstance(data, dict) else None
        words.append(str(part) if isinstance(part, str) else name if isinstance(name, str) else f"{part + 1}")
    return ".".join(words)


def _inside(data: Any, part: int | str) -> Any:
    try:
        return data[part]
    except (LookupError, TypeError):
        return None


def _keys_beside(place: tuple[int | str, ...]) -> list[str]:
    """The keys that the table of an unknown key does have."""
    table: Any = AppFile
    for part in place[:-1]:
        if isinstance(part, int):
            continue
        annotation = table.model_fields[part].annotation
        options = [annotation, *getattr(annotation, "__args__", ())]
        table = next(option for option in options if isinstance(option, type) and issubclass(option, BaseModel))
    return list(table.model_fields)
