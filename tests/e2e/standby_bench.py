"""Controllers as real processes, over an agent that is simulated in real time and served as a driver serves its own."""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np

from headgate.core.allocation import Bounds
from headgate.core.knowledge import AppDescription
from headgate.core.ports import Order
from headgate.core.sample import Sample
from headgate.errors import StaleEpoch
from headgate.link import AgentServer, register, running
from headgate.link.registry import RunningPart
from headgate.sim import SimulatedApp, load_scenario

APP = "watched"
POLICY = "threshold-busy:low=0.3,high=0.6,period_s=1,window_s=2"
PATIENCE_S = 60.0


class RealTime:
    """The machine's clock, from the start of the bench on."""

    def __init__(self) -> None:
        self._start_s = time.monotonic()

    def now_s(self) -> float:
        return time.monotonic() - self._start_s

    def wait_until(self, time_s: float, stop: threading.Event) -> None:
        stop.wait(max(0.0, time_s - self.now_s()))


@dataclass
class RecordingAgent:
    """A simulated app, and what was ordered and refused."""

    app: SimulatedApp
    accepted: list[tuple[float, int]] = field(default_factory=list)
    """Moment and epoch of each order that was obeyed."""
    refused: list[tuple[int, int]] = field(default_factory=list)
    """Epoch of each order that was not, and the newest one."""

    def describe(self) -> AppDescription:
        return self.app.describe()

    def collect(self) -> Sample:
        return self.app.collect()

    def apply(self, order: Order) -> None:
        try:
            self.app.apply(order)
        except StaleEpoch as stale:
            self.refused.append((order.epoch, self.describe().newest_epoch))
            raise stale
        self.accepted.append((time.monotonic(), order.epoch))

    @property
    def epoch(self) -> int:
        return self.describe().newest_epoch


@dataclass
class StandbyBench:
    agent: RecordingAgent
    folder: Path
    takeover_s: float
    kafka: str | None = None
    """Brokers by which a leader is found; each controller then has a journal of its own."""
    processes: list[subprocess.Popen[bytes]] = field(default_factory=list)
    started: int = 0

    def start(self) -> None:
        """One more controller."""
        own = f"-{self.started}" if self.kafka is not None else ""
        words = ["--app", APP, "--policy", POLICY, "--journal", str(self.folder / f"watched{own}.db")]
        words += [] if self.kafka is None else ["--kafka", self.kafka]
        self.started += 1
        self.start_with(*words)

    def start_with(self, *words: str) -> None:
        """One more controller, over other apps or with another policy."""
        command = [sys.executable, "-m", "headgate", "control", *words, "--standby", "--quiet"]
        command += ["--takeover", f"{self.takeover_s}s", "--sampling-interval", "0.5s"]
        with (self.folder / "controllers.log").open("ab") as log:
            self.processes.append(subprocess.Popen(command, stdout=log, stderr=log))

    def leader(self) -> subprocess.Popen[bytes]:
        """Whoever has the levers; of several, because one is stopped, the newest."""
        known = {process.pid: process for process in self.processes}

        def leading() -> list[RunningPart]:
            return [part for part in running("controller") if part.pid in known]

        wait_until(lambda: len(leading()) > 0, what="a leader")
        return known[max(leading(), key=lambda part: part.registered_s).pid]

    def wait_for_epoch_after(self, epoch: int) -> float:
        """Until a newer leader has made itself known; when it did."""
        wait_until(lambda: self.agent.epoch > epoch, what=f"an epoch after {epoch}")
        return next(time_s for time_s, each in self.agent.accepted if each > epoch)

    def wait_for_orders(self, count: int) -> None:
        """So many more than there are now."""
        before = len(self.agent.accepted)
        wait_until(lambda: len(self.agent.accepted) >= before + count, what=f"{count} more orders")

    def kill(self) -> float:
        """End the leader; how long it took until another led."""
        leader, epoch = self.leader(), self.agent.epoch
        began_s = time.monotonic()
        leader.kill()
        leader.wait()
        self.processes.remove(leader)
        return self.wait_for_epoch_after(epoch) - began_s

    def pause(self) -> float:
        """Stop the leader until another leads, and let it come back; how long it took."""
        leader, epoch = self.leader(), self.agent.epoch
        began_s = time.monotonic()
        leader.send_signal(signal.SIGSTOP)
        try:
            took_s = self.wait_for_epoch_after(epoch) - began_s
        finally:
            leader.send_signal(signal.SIGCONT)
        return took_s


def wait_until(reached: Callable[[], bool], *, what: str) -> None:
    deadline_s = time.monotonic() + PATIENCE_S
    while not reached():
        assert time.monotonic() < deadline_s, f"{what} did not come within {PATIENCE_S:.0f} s"
        time.sleep(0.05)


@contextlib.contextmanager
def standby_bench(
    folder: Path, *, takeover_s: float, duration_s: int = 3600, kafka: str | None = None, app: str = APP
) -> Iterator[StandbyBench]:
    """With a load that swells and ebbs every twenty seconds, so that there is always something to order."""
    seconds = np.arange(duration_s)
    rates = 20_000 * (1 + np.sin(2 * np.pi * seconds / 20))
    simulated = SimulatedApp(
        load_scenario("spark"),
        np.concatenate([[0.0], np.cumsum(rates)]),
        bounds=Bounds(1, 12),
        clock=RealTime(),
        executors=4,
        app=app,
    )
    agent = RecordingAgent(simulated)
    server = AgentServer(agent, app=app)
    server.start()
    bench = StandbyBench(agent, folder, takeover_s, kafka)
    try:
        with register(role="agent", app=app, address=server.address, token=server.token):
            yield bench
    finally:
        for process in bench.processes:
            with contextlib.suppress(ProcessLookupError):
                os.kill(process.pid, signal.SIGCONT)
            process.kill()
            process.wait()
        server.stop()
