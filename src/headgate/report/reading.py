"""The few figures of a running app that fit on one line.

A status may know little (a controller that has just started, an agent that does not answer); every
figure can be missing.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from headgate.core.decision import Reason
from headgate.core.status import Status

_BLOCKS = "▁▂▃▄▅▆▇█"


@dataclass(frozen=True, slots=True, kw_only=True)
class Reading:
    """An app at one moment."""

    time_s: float
    rate: float | None = None
    """Records that arrive from outside, per second."""
    throughput: float | None = None
    """Records that are finished, per second."""
    lag_records: float | None = None
    latency_mean_s: float | None = None
    latency_p95_s: float | None = None
    busy: float | None = None
    executors: int | None = None
    wanted: int | None = None
    arriving: int = 0

    @classmethod
    def of(cls, status: Status) -> Reading:
        now = status.now
        observed = status.observed.executors if status.observed is not None else None
        wanted = status.target.executors if status.target is not None else None
        if now is None:
            return cls(time_s=status.time_s, executors=observed, wanted=wanted, arriving=status.pending_executors)
        latencies = [operator.latency_s for operator in now.operators if operator.latency_s is not None]
        slowest = max(latencies, key=lambda latency: latency.p95, default=None)
        busy = [executor.busy for executor in now.working_executors if executor.busy is not None]
        return cls(
            time_s=status.time_s,
            rate=_sum(operator.arrival_rate for operator in now.sources),
            throughput=_sum(operator.input_rate for operator in now.sources),
            lag_records=_sum(operator.lag_records for operator in now.operators),
            latency_mean_s=slowest.mean if slowest else None,
            latency_p95_s=slowest.p95 if slowest else None,
            busy=sum(busy) / len(busy) if busy else None,
            executors=observed if observed is not None else len(now.working_executors),
            wanted=wanted,
            arriving=status.pending_executors,
        )


def _sum(values: Iterable[float | None]) -> float | None:
    known = [value for value in values if value is not None]
    return sum(known) if known else None


def size(reading: Reading) -> str:
    """
    >>> size(Reading(time_s=0, executors=2, wanted=3, arriving=1))
    '2→3 (1 arriving)'
    >>> size(Reading(time_s=0, executors=2, wanted=2)), size(Reading(time_s=0))
    ('2', '–')
    """
    now = "–" if reading.executors is None else str(reading.executors)
    change = f"→{reading.wanted}" if reading.wanted is not None and reading.wanted != reading.executors else ""
    arriving = f" ({reading.arriving} arriving)" if reading.arriving else ""
    return f"{now}{change}{arriving}"


def why(reasons: Sequence[Reason]) -> str:
    """The reasons of a decision in one sentence."""
    return "; ".join(f"{reason.by}: {reason.message}" for reason in reasons)


def sparkline(values: Sequence[float | None], *, width: int = 40) -> str:
    """The course of a figure in one line of text, from zero to its highest value.

    >>> sparkline([0, 1, 2, 4, None, 8])
    '▁▂▃▅ █'
    """
    if len(values) > width:
        groups = [values[index * len(values) // width : (index + 1) * len(values) // width] for index in range(width)]
        values = [max((value for value in group if value is not None), default=None) for group in groups]
    top = max((value for value in values if value is not None), default=0.0)
    return "".join(
        " " if value is None else _BLOCKS[round(value / top * (len(_BLOCKS) - 1)) if top > 0 else 0] for value in values
    )
