"""Arrivals of the embedded trace source at any moment, because its schedule is known.

Other sources are asked by a probe that the agent is given, or are known from batch to batch only.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence

from headgate.errors import UserMistake
from headgate.spark.trace_options import TraceOptions
from headgate.workloads import count_at


class TraceProbe:
    """``queries.ArrivalProbe`` of one trace."""

    def __init__(self, options: TraceOptions, *, now_s: Callable[[], float] = time.time) -> None:
        self._start_time_s = options.start_time_s
        self._curve = options.curve()
        self._now_s = now_s

    def probe(self) -> float:
        return float(count_at(self._curve, self._now_s() - self._start_time_s))


def trace_probe(options: Sequence[Mapping[str, str]], *, now_s: Callable[[], float] = time.time) -> TraceProbe | None:
    """The probe of a query's only source, if that is a trace; ``None`` for any other."""
    if len(options) != 1 or not {"workload", "start_time_s"} <= options[0].keys():
        return None
    try:
        return TraceProbe(TraceOptions.read(options[0]), now_s=now_s)
    except UserMistake:
        return None
