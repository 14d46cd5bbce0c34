"""The loop's knowledge between ticks, and how it comes back from a journal."""

from __future__ import annotations

from collections import deque
from collections.abc import Mapping
from typing import Any

from headgate.core.allocation import Allocation
from headgate.core.decision import Levers, Outcome, Tick
from headgate.core.knowledge import AppDescription, Knowledge
from headgate.core.ports import JournalReader
from headgate.core.sample import Sample


class LoopMemory:
    """Holds what ``Knowledge`` is made of, and lets ticks change it."""

    def __init__(self, *, description: AppDescription, looks_back_s: float, started_s: float) -> None:
        self._description = description
        self._looks_back_s = looks_back_s
        self.started_s = started_s
        self._history: deque[Tick] = deque()
        self._memory: Mapping[str, Any] = {}
        self.delivered: Mapping[str, Any] | None = None
        """What a training has brought, for the next decision."""
        self.current = Allocation(
            executors=description.bounds.least if description.executors is None else description.executors
        )
        self.levers = Levers()
        self.ticks = 0
        self.rescalings = 0
        self.last_tick: Tick | None = None

    def found(self, sample: Sample) -> None:
        """Start from the size that the app is held at by itself, for as long as nothing was ordered.

        Executors may still be coming or going when a controller starts. Had it the size of that moment in mind, it
        would take a wish for just that size as granted, and never order it.
        """
        if sample.target_executors:
            self.current = self.current.with_executors(sample.target_executors)

    def recall(self, last: Tick, journal: JournalReader, *, same_policy: bool) -> None:
        """Take over what an earlier run of the same app knew when it ended with a tick."""
        self.ticks = last.index + 1
        self.levers = last.levers
        self.current = target_after(last)
        if same_policy:
            self._memory = last.memory
        if self._looks_back_s > 0:
            self._history.extend(journal.ticks(since_s=last.time_s - self._looks_back_s))

    def knowledge(self, current: Allocation, *, now_s: float, memory: Mapping[str, Any] | None = None) -> Knowledge:
        """What there is to know at a size; with another memory than the recorded one in a replay."""
        return Knowledge(
            description=self._description,
            current=current,
            memory=self._memory if memory is None else memory,
            delivered=self.delivered,
            history=tuple(self._history),
            levers=self.levers,
            started_s=self.started_s,
            now_s=now_s,
        )

    def remember(self, tick: Tick) -> None:
        self.ticks = tick.index + 1
        self.last_tick = tick
        self._memory = tick.memory
        if tick.outcome is Outcome.APPLIED and tick.decision.changes:
            self.rescalings += 1
        history = self._history
        if self._looks_back_s > 0:
            history.append(tick)
            oldest_s = tick.time_s - self._looks_back_s
            while history[0].time_s < oldest_s:
                history.popleft()


def target_after(tick: Tick) -> Allocation:
    """What the agent is held to once a tick is over."""
    return tick.decision.granted if tick.outcome is Outcome.APPLIED else tick.decision.current
