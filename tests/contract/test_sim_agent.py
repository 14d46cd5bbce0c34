"""The simulator keeps the agent's contract, on every engine."""

from __future__ import annotations

import threading

import numpy as np
import pytest
from agent_contract import AgentContract, Harness

from headgate.core.allocation import Bounds
from headgate.sim import SCENARIOS, SimulatedApp, VirtualClock


def simulated(name: str, *, rate: float = 3000.0, duration_s: int = 3600) -> Harness:
    clock = VirtualClock()
    bounds = Bounds(1, 6)
    app = SimulatedApp(
        SCENARIOS[name], np.arange(duration_s + 1) * rate, bounds=bounds, clock=clock, seed=7, executors=2
    )
    stop = threading.Event()
    return Harness(
        agent=app,
        advance=lambda seconds: clock.wait_until(clock.now_s() + seconds, stop),
        bounds=bounds,
        patience_s=600.0,
    )


class TestSimulatedAgents(AgentContract):
    @pytest.fixture(params=sorted(SCENARIOS))
    def harness(self, request: pytest.FixtureRequest) -> Harness:
        return simulated(request.param, rate=1500.0 if request.param == "chain" else 3000.0)


@pytest.fixture(scope="module")
def shared() -> Harness:
    return simulated("spark", duration_s=20_000)


class TestASharedSimulatedAgent(AgentContract):
    """The suite must also hold when all its tests use one agent, as they do on a real cluster."""

    @pytest.fixture
    def harness(self, shared: Harness) -> Harness:
        return shared
