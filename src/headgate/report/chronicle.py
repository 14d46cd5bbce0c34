"""What was decided and what happened, told so that a person can read it.

Every change of size has a row of its own. Ticks in which nothing changed are told together, as long
as they have the same cause; a day of "nothing to do" is one row.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from enum import StrEnum

from headgate.core.allocation import Allocation
from headgate.core.decision import Outcome, Reason, Tick
from headgate.core.sample import EventKind


class RowKind(StrEnum):
    CHANGE = "change"
    QUIET = "quiet"
    HELD = "held"
    """The policy wanted another size; a guard or a person kept the present one."""
    PROBLEM = "problem"


@dataclass(frozen=True, slots=True, kw_only=True)
class DecisionRow:
    """One change, or several ticks that can be told as one."""

    kind: RowKind
    first_s: float
    last_s: float
    ticks: int
    before: Allocation
    wanted: Allocation
    granted: Allocation
    outcome: Outcome
    reasons: tuple[Reason, ...]
    """Of the last of the ticks."""
    problem: str | None = None


def decision_rows(ticks: Iterable[Tick]) -> Iterator[DecisionRow]:
    """Rows, oldest first."""
    pending: DecisionRow | None = None
    for tick in ticks:
        row = _row(tick)
        if pending is not None and _tells_the_same(pending, row):
            pending = replace(row, first_s=pending.first_s, ticks=pending.ticks + 1)
            continue
        if pending is not None:
            yield pending
        pending = row
    if pending is not None:
        yield pending


def _row(tick: Tick) -> DecisionRow:
    decision = tick.decision
    if tick.outcome in (Outcome.NOT_READY, Outcome.FAILED, Outcome.REFUSED):
        kind = RowKind.PROBLEM
    elif decision.changes:
        kind = RowKind.CHANGE
    elif decision.wanted != decision.granted:
        kind = RowKind.HELD
    else:
        kind = RowKind.QUIET
    return DecisionRow(
        kind=kind,
        first_s=tick.time_s,
        last_s=tick.time_s,
        ticks=1,
        before=decision.current,
        wanted=decision.wanted,
        granted=decision.granted,
        outcome=tick.outcome,
        reasons=decision.reasons,
        problem=tick.problem,
    )


def _tells_the_same(earlier: DecisionRow, later: DecisionRow) -> bool:
    return (
        earlier.kind is later.kind
        and earlier.kind is not RowKind.CHANGE
        and earlier.outcome is later.outcome
        and earlier.problem == later.problem
        and earlier.granted == later.granted
        and [(reason.by, reason.code) for reason in earlier.reasons]
        == [(reason.by, reason.code) for reason in later.reasons]
    )


ALARMING = frozenset({EventKind.LOST, EventKind.SHORT, EventKind.STOPPED, EventKind.RESTARTED, EventKind.QUERY_FAILED})
"""Events that are worth a mark in a figure."""

GLYPHS = {
    EventKind.LOST: "✖",
    EventKind.SHORT: "▲",
    EventKind.STOPPED: "■",
    EventKind.RESTARTED: "↻",
    EventKind.QUERY_FAILED: "⚡",
}

EVENT_NAMES = {
    EventKind.REQUESTED: "executors requested",
    EventKind.JOINED: "executor joined",
    EventKind.WARM: "executor warm",
    EventKind.SLOW_BATCH: "slow batch",
    EventKind.LEAVING: "executor leaving",
    EventKind.REMOVED: "executor removed",
    EventKind.LOST: "executor lost",
    EventKind.SHORT: "fewer executors than asked for",
    EventKind.STOPPED: "engine stopped",
    EventKind.RESTARTED: "engine restarted",
    EventKind.QUERY_FAILED: "query failed",
    EventKind.OPERATOR_JOINED: "operator joined",
    EventKind.OPERATOR_LEFT: "operator left",
}
