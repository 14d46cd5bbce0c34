"""A policy in virtual time: the same loop, a simulated app, a journal in memory."""

from __future__ import annotations

import gc
import multiprocessing
import os
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor, as_completed
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TypeVar

import numpy as np
from numpy.typing import NDArray

from headgate.control.training import TrainingAtOnce
from headgate.core.allocation import Bounds
from headgate.core.ports import Guard, JournalReader, Policy
from headgate.errors import UserMistake
from headgate.journal import MemoryJournal, SqliteJournal
from headgate.scoring import Result, RunSeries, score
from headgate.sim import Scenario, SimulatedApp, VirtualClock
from headgate.wiring.specs import make_guards, make_loop, make_policy
from headgate.workloads import Workload, arrivals

R = TypeVar("R")
S = TypeVar("S")

_SIMULATED_INTERVAL_S = 15.0


@dataclass(frozen=True, slots=True, kw_only=True)
class SimulatedRun:
    """A finished simulation: its journal and its figures."""

    journal: MemoryJournal
    result: Result


@dataclass(frozen=True, slots=True, kw_only=True)
class Simulation:
    """One policy on one workload, still to be run: what a process of its own is sent."""

    policy: str
    workload: Workload
    scenario: Scenario
    bounds: Bounds
    guards: tuple[str, ...] = ()
    executors: int | None = None
    process: str = "even"
    seed: int = 0
    slo_latency_s: float = 10.0

    def run(self) -> SimulatedRun:
        return simulate(
            policy=self.policy,
            workload=self.workload,
            scenario=self.scenario,
            bounds=self.bounds,
            guards=self.guards,
            executors=self.executors,
            process=self.process,
            seed=self.seed,
            slo_latency_s=self.slo_latency_s,
        )


def simulate_all(simulations: Sequence[S], run: Callable[[S], R], *, advance: Callable[[], None]) -> list[R]:
    """What ``run`` makes of each, on all processors, in the order given; ``run`` is sent to processes, too."""
    if len(simulations) == 1:
        return [run(simulations[0])]
    processors = min(len(simulations), os.cpu_count() or 1)
    with ProcessPoolExecutor(processors, mp_context=_single_threaded_parent()) as pool:
        futures = {pool.submit(run, simulation): index for index, simulation in enumerate(simulations)}
        done: dict[int, R] = {}
        for future in as_completed(futures):
            done[futures[future]] = future.result()
            advance()
    return [done[index] for index in range(len(simulations))]


def _single_threaded_parent() -> multiprocessing.context.ForkServerContext:
    """A copy of this process would hold locks of threads that it does not have: those of progress bars and Kafka."""
    context = multiprocessing.get_context("forkserver")
    context.set_forkserver_preload(["__main__", __name__])
    return context


def simulate(
    *,
    policy: str | Policy,
    workload: Workload,
    scenario: Scenario,
    bounds: Bounds,
    guards: Sequence[str | Guard] = (),
    executors: int | None = None,
    process: str = "even",
    seed: int = 0,
    sampling_interval_s: float = _SIMULATED_INTERVAL_S,
    slo_latency_s: float = 10.0,
    advance: Callable[[float], None] | None = None,
) -> SimulatedRun:
    """One policy on one workload in virtual time; ``advance`` is told how many more seconds have passed."""
    made = make_policy(policy)
    with _uncollected():
        clock = VirtualClock()
        app = SimulatedApp(
            scenario,
            arrivals(workload, process=process, seed=seed),
            bounds=bounds,
            clock=clock,
            seed=seed,
            executors=executors,
        )
        journal = MemoryJournal()
        loop = make_loop(
            app,
            policy=made,
            guards=make_guards(guards),
            journal=journal,
            clock=clock,
            training=TrainingAtOnce(),
            sampling_interval_s=sampling_interval_s,
            extra={"workload": workload.name, "scenario": scenario.name, "seed": seed},
            on_tick=None if advance is None else lambda _: advance(made.period_s),
        )
        loop.run(until_s=workload.duration_s)
        result = score(journal, workload=workload.name, scenario=scenario.name, seed=seed, slo_latency_s=slo_latency_s)
    return SimulatedRun(journal=journal, result=result)


@contextmanager
def _uncollected() -> Iterator[None]:
    """A run makes a hundred thousand small values and no cycles: looking for garbage takes a fifth of its time."""
    was_on = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was_on:
            if not gc.get_freeze_count():
                # Count all that there is as old; else the collector would go through the whole run at once.
                gc.freeze()
                gc.unfreeze()
            gc.enable()


def simulate_recorded(
    reader: JournalReader,
    *,
    policy: str | Policy,
    scenario: Scenario,
    guards: Sequence[str | Guard] = (),
    seed: int = 0,
    slo_latency_s: float = 10.0,
) -> Result:
    """How a policy would have fared on the arrivals of a recorded run, on a simulated app."""
    header = reader.header()
    workload = recorded_workload(reader)
    return simulate(
        policy=policy,
        workload=workload,
        scenario=scenario,
        bounds=header.description.bounds,
        guards=guards,
        executors=header.description.executors,
        seed=seed,
        slo_latency_s=slo_latency_s,
    ).result


def recorded_workload(reader: JournalReader) -> Workload:
    """The arrivals of a recorded run, as a workload that begins at zero."""
    series = RunSeries.from_journal(reader)
    if len(series.arrival_curve_s) < 2:
        raise UserMistake("the journal holds no arrivals to simulate; let the app run for a while first")
    seconds = np.arange(0.0, series.arrival_curve_s[-1] - series.arrival_curve_s[0] + 1.0)
    counts = np.interp(seconds, series.arrival_curve_s - series.arrival_curve_s[0], series.arrival_curve)
    rates: NDArray[np.float64] = np.diff(counts)
    return Workload(name=f"recorded: {reader.header().app}", rates=np.maximum(rates, 0.0))


def save_journal(reader: JournalReader, path: Path) -> None:
    """Copy a journal into a file of its own."""
    if path.exists():
        raise UserMistake(f"journal {path} exists already; give another name or remove it")
    journal = SqliteJournal(path)
    try:
        journal.open_run(reader.header())
        for sample in reader.samples():
            journal.append_sample(sample)
        for tick in reader.ticks():
            journal.append_tick(tick)
    finally:
        journal.close()
