"""What a person sees of a running controller, and the levers in the person's hand."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Protocol

from headgate.core.allocation import Allocation, Bounds
from headgate.core.decision import Levers, Tick
from headgate.core.evaluation import Evaluation


@dataclass(frozen=True, slots=True, kw_only=True)
class Status:
    """A controller at one moment."""

    app: str
    policy: str
    """In the grammar of the command line."""
    time_s: float
    started_s: float
    epoch: int
    bounds: Bounds
    dry_run: bool = False
    running: bool = True
    """False once the loop has ended: with its query, by ``stop``, or by a permanent error."""
    levers: Levers = field(default_factory=Levers)
    target: Allocation | None = None
    observed: Allocation | None = None
    pending_executors: int = 0
    now: Evaluation | None = None
    """The last few seconds, evaluated afresh."""
    last_tick: Tick | None = None
    next_tick_s: float | None = None
    rescalings: int = 0
    problem: str | None = None
    """What keeps the controller from its work at present, in a sentence."""


class Controls(Protocol):
    """A person's hand on a running controller."""

    def status(self) -> Status: ...

    def pause(self) -> None:
        """Hold the present size until ``resume``."""
        ...

    def resume(self) -> None: ...

    def pin(self, executors: int) -> None:
        """Go to that size at once and stay there until ``unpin``."""
        ...

    def unpin(self) -> None: ...
