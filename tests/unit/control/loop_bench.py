"""A loop with everything it needs, in virtual time, for the tests of the loop."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, ClassVar

from headgate.control.loop import Loop
from headgate.control.training import TrainingAtOnce
from headgate.core.allocation import Bounds, Dimension
from headgate.core.decision import Proposal, Reason, Ruling
from headgate.core.evaluation import Evaluation
from headgate.core.knowledge import AppDescription, Engine, Knowledge
from headgate.core.ports import Guard, Order, Policy
from headgate.core.sample import AgentEvent, ArrivalPoint, EventKind, ExecutorSample, OperatorSample, Sample
from headgate.errors import StaleEpoch
from headgate.guards import Bounds as BoundsGuard
from headgate.guards import Levers as LeversGuard
from headgate.journal import MemoryJournal
from headgate.sim import VirtualClock


class FakeAgent:
    """An app that has what it was told to have, at once."""

    def __init__(self, clock: VirtualClock, *, executors: int = 2) -> None:
        self.clock = clock
        self.executors = executors
        self.newest_epoch = 0
        self.orders: list[Order] = []
        self.collected_at: list[float] = []
        self.trouble: Callable[[float], None] = lambda now_s: None
        self.refuse: Exception | None = None

    def describe(self) -> AppDescription:
        return AppDescription(
            app="fake",
            engine=Engine.MICRO_BATCH,
            bounds=Bounds(1, 8),
            executors=self.executors,
            newest_epoch=self.newest_epoch,
        )

    def collect(self) -> Sample:
        now_s = self.clock.now_s()
        self.trouble(now_s)
        self.collected_at.append(now_s)
        return Sample(
            time_s=now_s,
            operators=(
                OperatorSample(name="op", arrivals=(ArrivalPoint(now_s, 100 * now_s),), done_records=90 * now_s),
            ),
            executors=tuple(ExecutorSample(str(n), "", 1, now_s, now_s / 2, None) for n in range(self.executors)),
            target_executors=self.executors,
            events=(AgentEvent(time_s=now_s, kind=EventKind.WARM, message="warm"),),
        )

    def apply(self, order: Order) -> None:
        if self.refuse is not None:
            raise self.refuse
        if order.epoch < self.newest_epoch:
            raise StaleEpoch(offered=order.epoch, newest=self.newest_epoch)
        self.newest_epoch = order.epoch
        self.orders.append(order)
        self.executors = order.allocation.executors


@dataclass(frozen=True)
class Counting:
    """Wants one more at every tick, and remembers how often it was asked."""

    name: ClassVar[str] = "counting"
    scales: ClassVar[frozenset[Dimension]] = frozenset({Dimension.EXECUTORS})
    needs: ClassVar[tuple[str, ...]] = ()
    period_s: float = 10.0
    window_s: float = 10.0

    def decide(self, evaluation: Evaluation, knowledge: Knowledge) -> Proposal:
        asked = knowledge.memory.get("asked", 0) + 1
        return Proposal(
            allocation=knowledge.current.with_executors(knowledge.current.executors + 1),
            reasons=(Reason(by=self.name, code="more", message="always more", inputs={"asked": asked}),),
            memory={"asked": asked},
        )


@dataclass(frozen=True)
class Broken(Counting):
    name: ClassVar[str] = "broken"

    def decide(self, evaluation: Evaluation, knowledge: Knowledge) -> Proposal:
        raise ZeroDivisionError("oops")


@dataclass(frozen=True)
class BrokenGuard:
    name: ClassVar[str] = "broken-guard"
    looks_back_s: float = 0.0

    def review(self, ruling: Ruling, evaluation: Evaluation | None, knowledge: Knowledge) -> Ruling:
        raise KeyError("oops")


@dataclass
class Bench:
    """A loop with everything it needs, in virtual time."""

    policy: Policy = field(default_factory=Counting)
    guards: tuple[Guard, ...] = (BoundsGuard(), LeversGuard())
    clock: VirtualClock = field(default_factory=VirtualClock)
    journal: MemoryJournal = field(default_factory=MemoryJournal)
    options: dict[str, Any] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.agent = FakeAgent(self.clock)
        self.loop = self.new_loop()

    def new_loop(self) -> Loop:
        return Loop(
            agent=self.agent,
            policy=self.policy,
            policy_spec=self.policy.name,
            guards=self.guards,
            journal=self.journal,
            clock=self.clock,
            training=TrainingAtOnce(),
            **self.options,
        )

    @property
    def ticks(self) -> list[Any]:
        return list(self.journal.ticks())
