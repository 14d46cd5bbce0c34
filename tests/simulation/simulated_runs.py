"""Runs of the simulator that several test files need."""

from __future__ import annotations

import threading
from collections.abc import Callable
from dataclasses import dataclass, field

import numpy as np

from headgate.core.allocation import Allocation, Bounds
from headgate.core.ports import Order
from headgate.core.sample import AgentEvent, Batch, EventKind, Sample
from headgate.sim import Scenario, SimulatedApp, VirtualClock

_NEVER = threading.Event()


def exact(**values: object) -> Scenario:
    """A Spark scenario without chance: 1000 records/s a slot, 0.1 s of driver time, 12 even tasks."""
    plain: dict[str, object] = {
        "name": "exact",
        "operators": ({"name": "query", "capacity": 1000.0},),
        "overhead_s": 0.1,
        "partitions": 12,
        "startup_s": 10.0,
        "stop_s": 5.0,
    }
    return Scenario.model_validate(plain | values)


@dataclass
class Run:
    app: SimulatedApp
    clock: VirtualClock
    samples: list[Sample] = field(default_factory=list)
    orders: int = 0

    def order(self, allocation: Allocation | int) -> None:
        self.orders += 1
        wanted = Allocation(executors=allocation) if isinstance(allocation, int) else allocation
        self.app.apply(Order(allocation=wanted, epoch=1, request_id=str(self.orders)))

    def go(self, until_s: float, *, every_s: float = 5.0) -> Sample:
        while self.clock.now_s() < until_s:
            self.clock.wait_until(min(until_s, self.clock.now_s() + every_s), _NEVER)
            self.samples.append(self.app.collect())
        return self.samples[-1]

    def batches(self, operator: int = 0) -> list[Batch]:
        return [batch for sample in self.samples for batch in sample.operators[operator].batches]

    def events(self, kind: EventKind) -> list[AgentEvent]:
        return [event for sample in self.samples for event in sample.events if event.kind is kind]


def start(
    scenario: Scenario,
    rate: float | Callable[[np.ndarray], np.ndarray],
    *,
    duration_s: int = 600,
    executors: int = 2,
    seed: int = 0,
    most: int = 20,
) -> Run:
    seconds = np.arange(duration_s, dtype=float)
    rates = rate(seconds) if callable(rate) else np.full(duration_s, float(rate))
    clock = VirtualClock()
    app = SimulatedApp(
        scenario,
        np.concatenate([[0.0], np.cumsum(rates)]),
        bounds=Bounds(1, most),
        clock=clock,
        seed=seed,
        executors=executors,
    )
    return Run(app, clock)
