"""A bar for work that takes longer than a person likes to wait without a sign."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager

from rich.console import Console
from rich.markup import escape
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

Advance = Callable[[float], None]


@contextmanager
def progress(description: str, total: float, *, console: Console, quiet: bool = False) -> Iterator[Advance]:
    """Yields a function that is told how much more is done; silent when quiet or not on a terminal.

    The bar vanishes at the end: what remains on the terminal is the result.
    """
    if quiet or not console.is_terminal:
        yield lambda _: None
        return
    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeRemainingColumn())
    with Progress(*columns, console=console, transient=True) as bars:
        task = bars.add_task(escape(description), total=total)
        yield lambda amount: bars.advance(task, amount)
