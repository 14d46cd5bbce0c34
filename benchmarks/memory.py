"""What a controller holds after a day of ticks: it must not grow with the time that it runs."""

from __future__ import annotations

import gc
import tempfile
import tracemalloc
from pathlib import Path

from headgate.control.training import TrainingAtOnce
from headgate.core.allocation import Bounds
from headgate.journal import SqliteJournal
from headgate.sim import SimulatedApp, VirtualClock, load_scenario
from headgate.wiring.specs import make_guards, make_loop, make_policy
from headgate.workloads import arrivals, parse_workload

HOURS = (7, 12, 18, 24)
"""After six hours the history that Daedalus looks back on is full."""


def run() -> None:
    for policy in ("hpa", "daedalus"):
        held = _held(policy)
        first, last = held[0], held[-1]
        shown = ", ".join(f"{hours} h {bytes_ / 1e6:.1f} MB" for hours, bytes_ in zip(HOURS, held, strict=True))
        print(f"  {policy:<12} {shown}   24 h ÷ 7 h: {last / first:.3f}   goal: flat", flush=True)


def _held(policy: str) -> list[int]:
    """Bytes in Python's hands that were not there before the loop began, at each of the hours."""
    workload = parse_workload("sine:period=3h,low=0.1 + noise:sd=0.02", peak=50_000.0, duration_s=24 * 3600.0)
    clock = VirtualClock()
    app = SimulatedApp(load_scenario("spark"), arrivals(workload), bounds=Bounds(1, 12), clock=clock, executors=6)
    with tempfile.TemporaryDirectory() as folder:
        journal = SqliteJournal(Path(folder) / "day.db")
        held: list[int] = []
        marks = [hours * 3600.0 for hours in HOURS]

        def look(_: object) -> None:
            while marks and clock.now_s() >= marks[0]:
                marks.pop(0)
                gc.collect()
                held.append(tracemalloc.get_traced_memory()[0] - before)

        loop = make_loop(
            app,
            policy=make_policy(policy),
            guards=make_guards(()),
            journal=journal,
            clock=clock,
            training=TrainingAtOnce(),
            sampling_interval_s=15.0,
            on_tick=look,
        )
        tracemalloc.start()
        before = tracemalloc.get_traced_memory()[0]
        loop.run(until_s=workload.duration_s)
        tracemalloc.stop()
        journal.close()
    return held
