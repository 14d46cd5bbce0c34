"""Decisions on a terminal: one with its reasons, or a replay beside its record."""

from __future__ import annotations

from collections.abc import Sequence

from rich import box
from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text

from headgate.control.replay import ReplayedTick
from headgate.core.decision import Decision

_ROWS_SHOWN = 40


def decision_lines(decision: Decision) -> RenderableType:
    """Sizes on the first line, every reason on a line of its own."""
    head = Text(f"at {decision.time_s:g} s: {_sizes(decision)}", style="bold")
    reasons = [Text(f"  {reason.by} [{reason.code}]: {reason.message}") for reason in decision.reasons]
    return Group(head, *reasons)


def replay_table(spec: str, ticks: Sequence[ReplayedTick]) -> RenderableType:
    """Where a replayed policy decided otherwise than the record, and how often it did not."""
    same = sum(tick.same for tick in ticks)
    head = Text(f"{spec}: {same} of {len(ticks)} decisions as recorded", style="bold")
    if same == len(ticks):
        return head
    table = Table(box=box.SIMPLE)
    for column in ("tick", "time", "recorded", "replayed", "why"):
        table.add_column(column)
    others = [tick for tick in ticks if not tick.same]
    for tick in others[:_ROWS_SHOWN]:
        last = tick.decision.reasons[-1].message if tick.decision.reasons else ""
        table.add_row(
            str(tick.recorded.index),
            f"{tick.recorded.time_s:.0f}",
            Text(_sizes(tick.recorded.decision)),
            Text(_sizes(tick.decision)),
            Text(last),
        )
    if len(others) > _ROWS_SHOWN:
        table.caption = f"and {len(others) - _ROWS_SHOWN} more; --json has all of them"
    return Group(head, table)


def _sizes(decision: Decision) -> str:
    text = f"{decision.current.executors} → {decision.granted.executors} executors"
    if decision.wanted != decision.granted:
        text += f" (wanted {decision.wanted.executors})"
    if decision.granted.parallelism:
        text += ", " + ", ".join(f"{name} ×{count}" for name, count in decision.granted.parallelism.items())
    return text
