"""Functions of users' files and of modules, brought in by their names, with their mistakes told in a sentence."""

from __future__ import annotations

import contextlib
import importlib
import importlib.util
import inspect
import sys
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from types import ModuleType
from typing import Any

from pyspark import cloudpickle
from pyspark.sql import DataFrame

from headgate.config import ConsumersTable, OperatorTable
from headgate.errors import UserMistake, nearest

Transform = Callable[[DataFrame], DataFrame]
"""From records to results."""


def operator_function(table: OperatorTable | ConsumersTable, *, folder: Path) -> Transform:
    """The function of an operator or of consumers with its options, checked before anything is started for it."""
    where = "consumers" if isinstance(table, ConsumersTable) else f"operator '{table.name}'"
    module, name = _module_of(table, where=where)
    function = getattr(module, name, None)
    if not callable(function):
        names = [key for key, value in vars(module).items() if inspect.isfunction(value) and not key.startswith("_")]
        raise UserMistake(f"{where}: {module.__name__} has no function '{name}'{nearest(name, names)}")
    options = filled(table.options, folder=folder)
    _check_call(function, options, where=where)

    def transform(records: DataFrame) -> DataFrame:
        with blaming(f"{where}: {table.function}"):
            result: DataFrame = function(records, **options)
        return result

    return transform


def _module_of(table: OperatorTable | ConsumersTable, *, where: str) -> tuple[ModuleType, str]:
    if table.file is not None:
        return imported_file(table.file), table.function
    module, _, name = table.function.partition(":")
    try:
        return importlib.import_module(module), name
    except ModuleNotFoundError as error:
        if error.name is not None and not f"{module}.".startswith(f"{error.name}."):
            raise UserMistake(
                f"{where}: {module} needs the library {error.name}, which is not installed; install it"
            ) from None
        raise UserMistake(f"{where}: there is no module '{module}'; correct its function") from None


def _check_call(function: Callable[..., Any], options: Mapping[str, Any], *, where: str) -> None:
    try:
        inspect.signature(function).bind(None, **options)
    except TypeError as error:
        raise UserMistake(f"{where}: options do not fit {function.__name__}: {error}; correct its options") from None


def imported_file(file: Path) -> ModuleType:
    """A user's module, which may import its neighbours, and whose functions reach the executors by value."""
    name = f"headgate_pipeline_{file.stem}"
    spec = importlib.util.spec_from_file_location(name, file)
    if spec is None or spec.loader is None:
        raise UserMistake(f"{file} is not a Python file; give one whose name ends in .py")
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module
    if str(file.parent) not in sys.path:
        sys.path.append(str(file.parent))
    cloudpickle.register_pickle_by_value(module)  # type: ignore[no-untyped-call]
    with blaming(str(file)):
        spec.loader.exec_module(module)
    return module


def filled(options: Mapping[str, Any], *, folder: Path) -> dict[str, Any]:
    """Options with the app's folder in place of ``{folder}``."""
    return {
        key: value.replace("{folder}", str(folder)) if isinstance(value, str) else value
        for key, value in options.items()
    }


@contextlib.contextmanager
def blaming(place: str) -> Iterator[None]:
    """Whatever is raised inside is the user's to correct, in one sentence that names the place."""
    try:
        yield
    except Exception as error:
        first = (str(error).splitlines() or [""])[0]
        raise UserMistake(f"{place} failed with {type(error).__name__}: {first}; correct it there") from error
