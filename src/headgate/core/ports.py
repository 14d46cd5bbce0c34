"""The seams of the system: what each part must offer to the next.

Data has one way through: agent → samples → evaluation → policy → proposal → guards → decision →
agent → journal.
"""

from __future__ import annotations

import threading
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, ClassVar, Protocol, runtime_checkable

from headgate.core.allocation import Allocation, Dimension
from headgate.core.decision import Proposal, Ruling, Tick
from headgate.core.evaluation import Evaluation
from headgate.core.knowledge import AppDescription, Knowledge
from headgate.core.sample import Sample


class Clock(Protocol):
    """Time, injected, so that one program runs on real and on virtual time."""

    def now_s(self) -> float:
        """Seconds; never goes backwards."""
        ...

    def wait_until(self, time_s: float, stop: threading.Event) -> None:
        """Return at that time, at once if it has passed, or as soon as ``stop`` is set."""
        ...


@dataclass(frozen=True, slots=True, kw_only=True)
class Order:
    """An allocation as a controller sends it."""

    allocation: Allocation
    epoch: int
    """Of the controller; an agent refuses an older one than it has seen."""
    request_id: str
    """The same order sent twice has the same id and is obeyed once."""
    checkpoint: bool = False
    """Save the state right before, where that is to be asked for; micro-batches always have."""


class Agent(Protocol):
    """Lives where the app can be measured and changed: the driver, or the simulator."""

    def describe(self) -> AppDescription: ...

    def collect(self) -> Sample:
        """Measure. Raises ``NotReady`` or ``Temporary`` when there is nothing to say."""
        ...

    def apply(self, order: Order) -> None:
        """Accept a new target and return; reaching it goes on in the background.

        Idempotent. Raises ``StaleEpoch`` for an order of a replaced controller.
        """
        ...


@runtime_checkable
class Policy(Protocol):
    """Decides how big the app should be; pure, and its fields are its options."""

    name: ClassVar[str]
    scales: ClassVar[frozenset[Dimension]]
    """What it decides; an app that cannot be scaled so refuses the policy."""
    needs: ClassVar[tuple[str, ...]]
    """Fields of the evaluation that it cannot do without, as ``operators.busy``."""

    @property
    def period_s(self) -> float:
        """Time between two decisions."""
        ...

    @property
    def window_s(self) -> float:
        """Length of the window of samples that an evaluation describes."""
        ...

    def decide(self, evaluation: Evaluation, knowledge: Knowledge) -> Proposal: ...


@runtime_checkable
class Learner(Protocol):
    """A policy that learns from more than the present evaluation, and some of it in the background."""

    @property
    def looks_back_s(self) -> float:
        """How much history it needs."""
        ...

    def lesson(self, evaluation: Evaluation, knowledge: Knowledge) -> Any:
        """What a training needs of all that: little, because the tick that takes it waits for it to be handed over."""
        ...

    def train(self, lesson: Any) -> Mapping[str, Any]:
        """Slow work; the answer, JSON values, is in the knowledge of a later tick."""
        ...


class Training(Protocol):
    """Where policies are trained without holding up the loop; one at a time."""

    def submit(self, learner: Learner, evaluation: Evaluation, knowledge: Knowledge) -> None:
        """Begin, unless a training is under way already."""
        ...

    def take(self) -> Mapping[str, Any] | None:
        """What a training has brought, once; ``None`` as long as there is nothing."""
        ...


class Leadership(Protocol):
    """Decides which of several controllers acts."""

    @property
    def renew_every_s(self) -> float:
        """How often to keep it."""
        ...

    def seek(self, *, newest_epoch: int) -> int | None:
        """Lead, unless somebody else does; the epoch of it is greater than any before, and than the one given."""
        ...

    def keep(self) -> bool:
        """Whether this controller still leads; to be asked often. Raises ``Temporary`` if it cannot be known."""
        ...

    def resign(self) -> None:
        """Let another lead at once."""
        ...


@runtime_checkable
class Guard(Protocol):
    """May alter or veto what a policy wants; pure, and its fields are its options."""

    name: ClassVar[str]

    @property
    def looks_back_s(self) -> float:
        """How much history it needs."""
        ...

    def review(self, ruling: Ruling, evaluation: Evaluation | None, knowledge: Knowledge) -> Ruling:
        """``evaluation`` is ``None`` when nothing could be collected."""
        ...


@dataclass(frozen=True, slots=True, kw_only=True)
class JournalHeader:
    """What a journal says about the run it records."""

    app: str
    policy: str
    """In the grammar of the command line: ``hpa:target=0.8``."""
    description: AppDescription
    guards: tuple[str, ...] = ()
    """In the same grammar."""
    sampling_interval_s: float = 1.0
    dry_run: bool = False
    started_s: float = 0.0
    extra: Mapping[str, Any] = field(default_factory=dict)
    """Workload, scenario, seed, or whatever the run's starter wants to be known (JSON values)."""


class JournalReader(Protocol):
    def header(self) -> JournalHeader: ...

    def samples(self, *, since_s: float | None = None) -> Iterator[Sample]: ...

    def ticks(self, *, since_s: float | None = None) -> Iterator[Tick]: ...

    def last_tick(self) -> Tick | None: ...


class Journal(JournalReader, Protocol):
    def open_run(self, header: JournalHeader) -> None:
        """Begin, or go on with, recording a run."""
        ...

    def append_sample(self, sample: Sample) -> None: ...

    def append_tick(self, tick: Tick) -> None: ...

    def close(self) -> None: ...
