"""The loop that sends one process' part of a production, at the pace of its schedule.

It knows no Kafka: records leave through an ``Outlet``, and the clock is given, so that hours of it can be
tried in a moment.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Protocol

import numpy as np

from headgate.kafka.pacing import STEP_S, Pacer, Share
from headgate.kafka.partitioning import Partitioning
from headgate.kafka.plan import ProductionPlan
from headgate.workloads.records import event_times_ms, key_bytes

_REPORT_S = 0.1
_PATIENCE_S = 10.0
"""For acknowledgements, once told to stop."""
_MOST_AT_ONCE = 2000
"""Records made before they are sent and something is said."""


class Outlet(Protocol):
    """Where records leave to."""

    @property
    def failed(self) -> int:
        """Records that were taken but will never arrive."""
        ...

    @property
    def waiting(self) -> int:
        """Records that were taken and are not acknowledged yet."""
        ...

    @property
    def trouble(self) -> str | None:
        """What keeps records from arriving at the moment."""
        ...

    def send(self, values: list[bytes], keys: list[bytes] | None, partitions: list[int]) -> int:
        """Take the first so many of these records: fewer than all when there is no more room."""
        ...

    def serve(self) -> None:
        """See what has been acknowledged; raises ``Permanent`` if nothing more ever will be."""
        ...


class Clock(Protocol):
    def now_s(self) -> float: ...

    def sleep(self, seconds: float) -> None: ...


@dataclass(frozen=True, slots=True, kw_only=True)
class SendingReport:
    """How far one process is."""

    sent: int = 0
    acknowledged: int = 0
    failed: int = 0
    late_s: float = 0.0
    most_late_s: float = 0.0
    trouble: str | None = None
    ended_s: float | None = None
    """When everything that was sent had been acknowledged, or was given up."""


class Sender:
    """One process' part of a plan."""

    def __init__(
        self,
        plan: ProductionPlan,
        share: Share,
        *,
        start_time_s: float,
        partitions: int,
        outlet: Outlet,
        clock: Clock,
        stopped: Callable[[], bool],
        report: Callable[[SendingReport], None],
    ) -> None:
        self._plan = plan
        self._share = share
        self._start_time_s = start_time_s
        self._curve = plan.curve()
        self._pacer = Pacer(self._curve, start_time_s)
        self._kind = plan.record_kind()
        self._keys = plan.record_keys()
        self._partitioning = Partitioning(
            partitions=partitions, skew=plan.partition_skew, seed=plan.seed, drift_s=plan.partition_drift_s
        )
        self._outlet = outlet
        self._clock = clock
        self._stopped = stopped
        self._report = report
        self._sent = 0
        self._most_late_s = 0.0
        self._reported_s = -1.0

    def run(self) -> SendingReport:
        """Send everything, or until stopped; ends when all that was sent is acknowledged."""
        total = int(self._curve[-1])
        reached = 0
        while reached < total and not self._stopped():
            looked_s = self._clock.now_s()
            due = max(reached, self._pacer.due(looked_s))
            for first, after in self._share.ranges(reached, due):
                for part in range(first, after, _MOST_AT_ONCE):
                    self._send(part, min(part + _MOST_AT_ONCE, after))
                    self._outlet.serve()
                    self._tell()
            reached = due
            # Some more are always due by now: sent at once, a handful at a time, they would cost several times as much.
            self._pause(since_s=looked_s)
        self._settle()
        return self._tell(ended_s=self._clock.now_s())

    def _send(self, first: int, end: int) -> None:
        numbers = np.arange(first, end)
        sequences = numbers + self._plan.first_sequence
        times_ms = event_times_ms(self._curve, self._start_time_s, numbers)
        values = self._kind.values(first + self._plan.first_sequence, times_ms.tolist())
        key_numbers = self._keys.numbers(sequences)
        keys = None if key_numbers is None else key_bytes(key_numbers)
        partitions = self._partitioning.choose(sequences, key_numbers, times_ms / 1000 - self._start_time_s)
        while values:
            taken = self._outlet.send(values, keys, partitions)
            self._sent += taken
            values, partitions = values[taken:], partitions[taken:]
            keys = None if keys is None else keys[taken:]
            if values:
                if self._stopped():
                    return
                self._pause()

    def _settle(self) -> None:
        """Wait for acknowledgements: for ever, unless somebody wants an end."""
        stopped_s: float | None = None
        while self._outlet.waiting:
            if self._stopped():
                stopped_s = self._clock.now_s() if stopped_s is None else stopped_s
                if self._clock.now_s() - stopped_s > _PATIENCE_S:
                    return
            self._pause()

    def _pause(self, *, since_s: float | None = None) -> None:
        """Until a step has passed, or has since then."""
        self._outlet.serve()
        self._tell()
        passed_s = 0.0 if since_s is None else max(0.0, self._clock.now_s() - since_s)
        if passed_s < STEP_S:
            self._clock.sleep(STEP_S - passed_s)

    def _tell(self, *, ended_s: float | None = None) -> SendingReport:
        now_s = self._clock.now_s()
        late_s = self._pacer.late_s(now_s)
        self._most_late_s = max(self._most_late_s, late_s)
        report = SendingReport(
            sent=self._sent,
            acknowledged=self._sent - self._outlet.waiting - self._outlet.failed,
            failed=self._outlet.failed,
            late_s=late_s,
            most_late_s=self._most_late_s,
            trouble=self._outlet.trouble,
            ended_s=ended_s,
        )
        if ended_s is not None or now_s >= self._reported_s + _REPORT_S:
            self._reported_s = now_s
            self._report(report)
        return report
