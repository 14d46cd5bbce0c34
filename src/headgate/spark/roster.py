"""Who came and who went: turns what is observed of executors into events with their figures.

What was asked and what came are both recorded, with the time to join, the time to the first
finished task and the slow batch that a newcomer caused, because later decisions learn from them.
"""

from __future__ import annotations

import statistics
import threading
from collections import deque
from collections.abc import Collection, Iterable, Mapping

from headgate.core.sample import AgentEvent, Batch, EventKind
from headgate.spark.facts import ExecutorFact
from headgate.spark.queries import FinishedBatch

_BATCHES_FOR_MEDIAN = 15
_MOST_EVENTS = 1000


class Roster:
    """Executors over time; used by the reconciling thread and by ``collect``, hence the lock."""

    def __init__(
        self,
        *,
        short_after_s: float = 45.0,
        size_limit: int | None = None,
        durations_s: Mapping[str, Iterable[float]] | None = None,
    ) -> None:
        self._lock = threading.Lock()
        self._short_after_s = short_after_s
        self._size_limit = size_limit
        self._events: deque[AgentEvent] = deque(maxlen=_MOST_EVENTS)
        self._present: dict[str, float] | None = None
        self._sent_off: dict[str, float] = {}
        self._cold: dict[str, float] = {}
        self._unproven: dict[str, float] = {}
        """Newcomers whose first batch has not been seen."""
        self._expected: deque[float] = deque()
        self._cancelled: deque[float] = deque()
        self._missing_since_s: float | None = None
        self._said_short = False
        self._durations_s: dict[str, deque[float]] = {
            query: deque(past_s, maxlen=_BATCHES_FOR_MEDIAN) for query, past_s in (durations_s or {}).items()
        }
        """Of the batches without newcomers, by query."""

    def take_events(self) -> tuple[AgentEvent, ...]:
        """Everything since the previous call, oldest first."""
        with self._lock:
            events = tuple(sorted(self._events, key=lambda event: event.time_s))
            self._events.clear()
            return events

    def requested(self, now_s: float, *, target: int, present: int) -> None:
        """The cluster manager was told a new total."""
        with self._lock:
            missing = max(0, target - present)
            while len(self._expected) > missing:
                self._cancelled.append(self._expected.pop())
            wanted = missing - len(self._expected)
            if wanted <= 0:
                return
            self._expected.extend([now_s] * wanted)
            message = f"asked for {wanted} more, for {target} executors in all"
            self._say(now_s, EventKind.REQUESTED, message, figures={"executors": wanted, "target": target})

    def sent_off(self, now_s: float, executor: str) -> None:
        """An executor gets no more tasks."""
        with self._lock:
            self._leave(now_s, executor)

    def operator(self, now_s: float, name: str, *, joined: bool) -> None:
        """An operator has begun or ended while the app runs."""
        with self._lock:
            if joined:
                self._say(now_s, EventKind.OPERATOR_JOINED, f"operator '{name}' has joined the app")
            else:
                self._say(now_s, EventKind.OPERATOR_LEFT, f"operator '{name}' has ended, and the others go on")

    def ended(self, now_s: float, query: str, failure: str | None) -> None:
        """A query has terminated."""
        if failure is not None:
            with self._lock:
                self._say(now_s, EventKind.QUERY_FAILED, f"query '{query}' failed: {failure}")

    def observe(
        self,
        now_s: float,
        registered: Mapping[str, float],
        *,
        leaving: Collection[str],
        target: int | None,
    ) -> None:
        """What is registered now, against what was before."""
        with self._lock:
            if self._present is None:
                self._present = dict(registered)
            for executor in sorted(leaving):
                if executor not in self._sent_off:
                    self._leave(now_s, executor)
            for executor in sorted(self._present.keys() - registered.keys()):
                self._gone(now_s, executor, replaced=target is not None)
            for executor in sorted(registered.keys() - self._present.keys()):
                self._joined(executor, registered[executor])
            self._present = dict(registered)
            self._check_short(now_s, len(registered.keys() - set(leaving)), target)

    def worked(self, now_s: float, facts: Iterable[ExecutorFact]) -> None:
        """What executors have done by now."""
        with self._lock:
            for fact in facts:
                if fact.tasks_done == 0 or fact.id not in self._cold:
                    continue
                warm_s = max(0.0, now_s - self._cold.pop(fact.id))
                message = f"executor {fact.id} finished its first task {warm_s:.1f} s after it joined"
                self._say(now_s, EventKind.WARM, message, executor=fact.id, figures={"warm_s": warm_s})

    def finished(self, batches: Iterable[FinishedBatch]) -> None:
        """Batches in the order in which they ended."""
        with self._lock:
            for query, batch, executors in batches:
                usual_s = self._durations_s.setdefault(query, deque(maxlen=_BATCHES_FOR_MEDIAN))
                newcomers = [
                    executor
                    for executor, since_s in self._unproven.items()
                    if (executor in executors if executors is not None else batch.started_s >= since_s)
                ]
                if newcomers:
                    self._slow(batch, newcomers, usual_s)
                else:
                    usual_s.append(batch.duration_s)

    def _leave(self, now_s: float, executor: str) -> None:
        self._sent_off[executor] = now_s
        self._say(now_s, EventKind.LEAVING, f"executor {executor} gets no more tasks and leaves", executor=executor)

    def _gone(self, now_s: float, executor: str, *, replaced: bool) -> None:
        self._cold.pop(executor, None)
        self._unproven.pop(executor, None)
        since_s = self._sent_off.pop(executor, None)
        if since_s is not None:
            took_s = max(0.0, now_s - since_s)
            message = f"executor {executor} is gone, {took_s:.1f} s after it was told to leave"
            self._say(now_s, EventKind.REMOVED, message, executor=executor, figures={"took_s": took_s})
            return
        self._say(
            now_s, EventKind.LOST, f"executor {executor} was lost without being asked to leave", executor=executor
        )
        if replaced:
            self._expected.append(now_s)

    def _joined(self, executor: str, since_s: float) -> None:
        asked_s = None
        if self._expected:
            asked_s = self._expected.popleft()
        elif self._cancelled:
            asked_s = self._cancelled.popleft()
        self._cold[executor] = self._unproven[executor] = since_s
        figures, after = {}, ""
        if asked_s is not None:
            figures["join_s"] = max(0.0, since_s - asked_s)
            after = f", {figures['join_s']:.1f} s after it was requested"
        self._say(since_s, EventKind.JOINED, f"executor {executor} joined{after}", executor=executor, figures=figures)

    def _slow(self, batch: Batch, newcomers: list[str], usual_s: Collection[float]) -> None:
        for executor in newcomers:
            del self._unproven[executor]
        if not usual_s:
            return
        extra_s = max(0.0, batch.duration_s - statistics.median(usual_s))
        names = ", ".join(newcomers)
        self._say(
            batch.finished_s,
            EventKind.SLOW_BATCH,
            f"batch {batch.id}, the first with executor {names}, took {extra_s:.1f} s longer than usual",
            executor=newcomers[0],
            figures={"extra_s": extra_s, "executors": len(newcomers)},
        )

    def _check_short(self, now_s: float, present: int, target: int | None) -> None:
        if target is None or present >= target:
            self._missing_since_s, self._said_short = None, False
            return
        if self._missing_since_s is None:
            self._missing_since_s = now_s
        waited_s = now_s - self._missing_since_s
        if self._said_short or waited_s < self._short_after_s:
            return
        self._said_short = True
        why = "the cluster may have no free node, or a quota or spark.cores.max may forbid more"
        if self._size_limit is not None and target > self._size_limit:
            why = f"the app's settings allow no more than {self._size_limit}"
        self._say(
            now_s,
            EventKind.SHORT,
            f"{present} of {target} executors are there after {waited_s:.0f} s; {why}",
            figures={"missing": target - present, "waited_s": waited_s},
        )

    def _say(
        self,
        time_s: float,
        kind: EventKind,
        message: str,
        *,
        executor: str | None = None,
        figures: Mapping[str, float] | None = None,
    ) -> None:
        self._events.append(
            AgentEvent(time_s=time_s, kind=kind, message=message, executor=executor, figures=figures or {})
        )
