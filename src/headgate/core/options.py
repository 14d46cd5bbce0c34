"""Options of policies, guards and workloads: dataclass fields that know their meaning and limits.

An option is declared once, and from that declaration come its default, its check, its line in the
command line's help and its place in the documentation.
"""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Callable
from typing import Any

from headgate.errors import UserMistake


def option(
    default: Any,
    help: str,  # noqa: A002 - reads as prose where it is used
    *,
    least: float | None = None,
    most: float | None = None,
    above: float | None = None,
    choices: tuple[str, ...] | None = None,
    reads: Callable[[str], object] | None = None,
) -> Any:
    """A dataclass field with a default, a meaning and limits (``above`` excludes its end).

    A name that ends in ``_s`` is a duration, and the grammar accepts ``5m`` for it. A text that names a file has
    ``reads``, by which whoever makes the thing can see at once that the file is not what it should be.
    """
    metadata = {"help": help, "least": least, "most": most, "above": above, "choices": choices, "reads": reads}
    return dataclasses.field(default=default, metadata=metadata)


def check_options(owner: str, instance: Any) -> None:
    """Refuse values outside an option's limits; to be called in ``__post_init__``."""
    for field in dataclasses.fields(instance):
        if "help" not in field.metadata:
            continue
        _check(f"{owner}: {field.name}", getattr(instance, field.name), field.metadata)


def check_files(owner: str, instance: Any) -> None:
    """Refuse files that are not named or cannot be read; not pure, so it is for whoever starts something."""
    for field in dataclasses.fields(instance):
        reads, name = field.metadata.get("reads"), getattr(instance, field.name)
        if reads is None:
            continue
        if not name:
            raise UserMistake(f"{owner} does nothing without a {field.metadata['help']}; give {field.name}=FILE")
        try:
            reads(name)
        except UserMistake as mistake:
            raise UserMistake(f"{owner}: {mistake}") from None


def _check(where: str, value: Any, limits: Any) -> None:
    if value is None:
        return
    if limits["choices"] is not None and value not in limits["choices"]:
        raise UserMistake(f"{where}={value} is not possible; choose one of {', '.join(limits['choices'])}")
    if isinstance(value, bool) or not isinstance(value, int | float):
        return
    if not math.isfinite(value):
        raise UserMistake(f"{where}={value} is not a finite number; give one that is")
    if limits["least"] is not None and value < limits["least"]:
        raise UserMistake(f"{where}={value:g} is too small; give {limits['least']:g} or more")
    if limits["above"] is not None and value <= limits["above"]:
        raise UserMistake(f"{where}={value:g} is too small; give more than {limits['above']:g}")
    if limits["most"] is not None and value > limits["most"]:
        raise UserMistake(f"{where}={value:g} is too large; give {limits['most']:g} or less")
