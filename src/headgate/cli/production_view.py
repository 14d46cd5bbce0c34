"""A production as a person sees it: asked and achieved rate, live and at the end."""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn
from rich.table import Table

if TYPE_CHECKING:
    from headgate.kafka.production import Production, ProductionResult, ProductionStatus

_WINDOW_S = 3.0
"""Rates are shown over so much of the past."""
_LINE_S = 10.0
"""Between two lines where there is no terminal."""


def rate(per_s: float) -> str:
    """
    >>> rate(12345.6)
    '12346 records/s'
    >>> rate(1.25)
    '1.25 records/s'
    """
    return f"{per_s:.0f} records/s" if per_s >= 100 else f"{per_s:.3g} records/s"


@contextmanager
def production_view(production: Production, *, console: Console, quiet: bool) -> Iterator[Callable[[], None]]:
    """Yields a function that shows how far the production is; to be called a few times a second."""
    if quiet:
        yield lambda: None
        return
    recent = _Recent()
    if not console.is_terminal:
        said_s = time.monotonic()

        def line() -> None:
            nonlocal said_s
            status = production.status()
            rates = recent.rates(status)
            if time.monotonic() - said_s >= _LINE_S:
                said_s = time.monotonic()
                console.print(f"{status.sent} of {status.total} records: {rates}", highlight=False, markup=False)

        yield line
        return
    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TextColumn("{task.fields[rates]}"))
    with Progress(*columns, console=console, transient=True) as bars:
        task = bars.add_task("sending", total=production.total, rates="")

        def move() -> None:
            status = production.status()
            bars.update(task, completed=status.sent, rates=recent.rates(status))

        yield move


def summary(result: ProductionResult) -> Table:
    """The end, for people."""
    table = Table(title=f"topic {result.topic}", show_header=False)
    sure = "all of the workload" if result.exact else f"of {result.total} of the workload"
    table.add_row("records acknowledged", f"{result.acknowledged}, {sure}")
    table.add_row("asked", rate(result.asked_per_s))
    table.add_row("achieved", rate(result.achieved_per_s))
    table.add_row("behind schedule at worst", f"{result.most_late_s:.2f} s")
    table.add_row("end after the schedule's", f"{result.ended_late_s:.2f} s")
    return table


class _Recent:
    """Statuses of the last seconds."""

    def __init__(self) -> None:
        self._seen: deque[tuple[float, ProductionStatus]] = deque()

    def rates(self, status: ProductionStatus) -> str:
        now_s = time.monotonic()
        self._seen.append((now_s, status))
        while now_s - self._seen[0][0] > _WINDOW_S:
            self._seen.popleft()
        first_s, first = self._seen[0]
        passed_s = now_s - first_s
        if passed_s <= 0:
            return ""
        shown = (
            f"asked {rate((status.asked - first.asked) / passed_s)}, sent {rate((status.sent - first.sent) / passed_s)}"
        )
        if status.late_s >= 0.1:
            shown += f", {status.late_s:.1f} s late"
        return shown if status.trouble is None else f"{shown} ({status.trouble})"
