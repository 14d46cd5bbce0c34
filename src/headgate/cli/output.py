"""Where the command line speaks: results to stdout, everything else to stderr.

With ``--json`` stdout carries one JSON document and nothing else.
"""

from __future__ import annotations

import functools
import json
import logging
import sys
from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass
from typing import Any, TypeVar

import click
from rich.console import Console, RenderableType
from rich.logging import RichHandler

F = TypeVar("F", bound=Callable[..., Any])


@dataclass(frozen=True, slots=True, kw_only=True)
class Output:
    """What a command was told about how to speak."""

    as_json: bool
    quiet: bool
    seed: int
    out: Console
    err: Console

    def document(self, document: Any) -> None:
        """The machine's answer."""
        sys.stdout.write(json.dumps(document, allow_nan=False, indent=2 if sys.stdout.isatty() else None) + "\n")

    def show(self, what: RenderableType) -> None:
        """The person's answer."""
        if not self.as_json:
            self.out.print(what)

    def narrate(self) -> None:
        """Let the parts of a real run say what happens to them."""
        if not self.quiet:
            logging.getLogger("headgate").setLevel(logging.INFO)

    def working(self, what: str) -> AbstractContextManager[object]:
        """A sign of life on the terminal during work whose length is not known."""
        if self.quiet or not self.err.is_terminal:
            return nullcontext()
        return self.err.status(what)

    def say(self, message: str) -> None:
        """What is going on, unless it should be quiet."""
        if not self.quiet:
            self.err.print(message, highlight=False, markup=False)


def everywhere(command: F) -> Any:
    """The options that every command has; the command gets them as one ``output``."""

    @click.option("--json", "as_json", is_flag=True, help="One JSON document on stdout, nothing else.")
    @click.option("--seed", type=int, default=0, show_default=True, help="Seed of everything random.")
    @click.option("--quiet", "-q", is_flag=True, help="No progress and no chatter.")
    @functools.wraps(command)
    def wrapped(*args: Any, as_json: bool, seed: int, quiet: bool, **options: Any) -> Any:
        err = Console(stderr=True)
        output = Output(as_json=as_json, quiet=quiet, seed=seed, out=Console(), err=err)
        logger = logging.getLogger("headgate")
        logger.handlers[:] = [RichHandler(console=err, show_path=False, show_level=False, markup=False)]
        logger.setLevel(logging.WARNING)
        logger.propagate = False
        return command(*args, output=output, **options)

    return wrapped
