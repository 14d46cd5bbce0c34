"""Profiling runs: each size with a backlog, under rising loads, and with an executor killed.

The largest size comes first and is warmed once, as in ``measurement``. What carries the load is a
``ProfilingBench``: a real app on a real cluster, or a scenario in virtual time (``SimulatedBench``).
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any, Protocol

import numpy as np

from headgate.core.allocation import Bounds
from headgate.core.ports import JournalHeader
from headgate.core.profile import FailurePoint, LoadPoint, Profile, ProfiledSize
from headgate.core.sample import ExecutorState
from headgate.errors import Temporary
from headgate.journal import MemoryJournal
from headgate.report.wording import number, seconds
from headgate.scoring.backlogs import Drain, WarmUp
from headgate.scoring.profiling import failure_point, load_point
from headgate.scoring.run import RunSeries
from headgate.sim import Scenario, SimulatedApp, VirtualClock

Say = Callable[[str], None]

_FIRST_BACKLOG = 500
_SETTLED = 1 / 3
"""Share of a load's time after which it counts."""
_KILLED = 1 / 3
"""Share of a failure's time after which the executor is killed."""
_LONGEST_DRAIN_S = 3600.0
_NEVER = threading.Event()


@dataclass(frozen=True, slots=True, kw_only=True)
class Hold:
    """A constant load that was held for a while: what was recorded, and between which moments."""

    run: RunSeries
    started_s: float
    ended_s: float
    killed_s: float | None = None


class ProfilingBench(Protocol):
    """An app under a load of one's choice, whose executors can be killed."""

    def resize(self, executors: int) -> None:
        """Have so many executors; returns when they are there."""
        ...

    def drain(self, records: int) -> Drain:
        """Send so many records at once and wait until all operators have worked them off."""
        ...

    def observe(self, rate: float, hold_s: float, *, kill_after_s: float | None = None) -> Hold:
        """Send records at a constant rate for so long, and kill an executor on the way if asked to."""
        ...

    def settle(self) -> None:
        """Wait until what is left has been worked off."""
        ...

    @property
    def spent_s(self) -> float:
        """Executors × seconds so far."""
        ...


@dataclass(frozen=True, slots=True, kw_only=True)
class ProfilingWishes:
    """What the user asked for."""

    executors: tuple[int, ...] = (1, 2, 4)
    loads: tuple[float, ...] = (0.2, 0.4, 0.6, 0.8, 0.95, 1.1)
    """Shares of the capacity; one that is too much shows what latency is not normal."""
    failures: tuple[float, ...] = (0.5, 0.8)
    """Shares of the capacity under which an executor is killed."""
    hold_s: float = 30.0
    watch_s: float = 90.0
    """How long a failure is watched, the time before it included."""
    first_backlog: int = _FIRST_BACKLOG
    drain_s: float = 8.0
    """About how long working off a backlog shall take."""

    def with_backlog(self, records: int) -> ProfilingWishes:
        return replace(self, first_backlog=records)


class Profiling:
    """Profiling runs in progress; what they have found so far can be asked for at any time."""

    def __init__(
        self, bench: ProfilingBench, wishes: ProfilingWishes, *, app: str, about: Mapping[str, Any], say: Say
    ) -> None:
        self._bench = bench
        self._wishes = wishes
        self._app = app
        self._about = about
        self._say = say
        self._sizes: list[ProfiledSize] = []
        self.complete = False

    def run(self) -> Profile | None:
        """All sizes, or as many as there were until the interrupt; ``None`` if there was none."""
        try:
            for executors in sorted(set(self._wishes.executors), reverse=True):
                self._sizes.append(self._size(executors))
            self.complete = True
        except KeyboardInterrupt:
            self._say("interrupted; the sizes that are complete are kept")
        if not self._sizes:
            return None
        return Profile(
            app=self._app,
            sizes=tuple(sorted(self._sizes, key=lambda size: size.executors)),
            executor_seconds=self._bench.spent_s,
            about=self._about,
        )

    def _size(self, executors: int) -> ProfiledSize:
        named = f"{executors} executor{'' if executors == 1 else 's'}"
        self._say(f"{named}: waiting for them …")
        self._bench.resize(executors)
        capacity = self._capacity()
        self._say(f"{named}: a backlog is worked off at {number(capacity)} records/s")
        loads = [found for share in self._wishes.loads if (found := self._load(named, share * capacity)) is not None]
        failures = []
        for share in self._wishes.failures:
            failures.append(self._failure(named, share * capacity))
            self._bench.resize(executors)
        return ProfiledSize(
            executors=executors,
            capacity=capacity,
            loads=tuple(sorted(loads, key=lambda load: load.rate)),
            failures=tuple(failures),
        )

    def _capacity(self) -> float:
        """Until the app does not get faster any more."""
        wishes, drains = self._wishes, list[Drain]()
        warm_up = WarmUp(first_records=wishes.first_backlog, round_s=wishes.drain_s)
        while (records := warm_up.next_records(drains)) is not None:
            drains.append(self._bench.drain(records))
        return max(drain.rate for drain in drains[-2:])

    def _load(self, named: str, rate: float) -> LoadPoint | None:
        hold = self._bench.observe(rate, self._wishes.hold_s)
        since_s = hold.started_s + _SETTLED * (hold.ended_s - hold.started_s)
        found = load_point(hold.run, since_s=since_s, until_s=hold.ended_s)
        latency = "no record was finished" if found is None else f"latency {seconds(found.latency_s)}"
        self._say(f"{named}: {number(rate)} records/s for {seconds(self._wishes.hold_s)}: {latency}")
        self._bench.settle()
        return found

    def _failure(self, named: str, rate: float) -> FailurePoint:
        hold = self._bench.observe(rate, self._wishes.watch_s, kill_after_s=_KILLED * self._wishes.watch_s)
        assert hold.killed_s is not None
        found = failure_point(
            hold.run,
            since_s=(hold.started_s + hold.killed_s) / 2,
            killed_s=hold.killed_s,
            until_s=hold.ended_s,
        )
        recovered = (
            "not seen to recover" if found.recovery_s is None else f"recovered after {seconds(found.recovery_s)}"
        )
        self._say(
            f"{named}: an executor killed at {number(rate)} records/s: {seconds(found.downtime_s)} without work, "
            f"{recovered}"
        )
        self._bench.settle()
        return found


@dataclass(slots=True, kw_only=True)
class SimulatedBench:
    """A scenario under loads of one's choice: each on a new app, in virtual time."""

    scenario: Scenario
    seed: int = 0
    spent_s: float = 0.0
    _executors: int = field(default=1, init=False)

    def resize(self, executors: int) -> None:
        self._executors = executors

    def settle(self) -> None:
        """Each load has an app of its own."""

    def drain(self, records: int) -> Drain:
        clock = VirtualClock()
        app = self._app(np.full(2, records), clock)
        while not app.drained:
            clock.wait_until(clock.now_s() + 0.5, _NEVER)
            if clock.now_s() > _LONGEST_DRAIN_S:
                raise Temporary(f"a backlog of {records} records was not worked off within an hour; check the scenario")
        self.spent_s += self._executors * clock.now_s()
        return Drain(records=records, seconds=clock.now_s())

    def observe(self, rate: float, hold_s: float, *, kill_after_s: float | None = None) -> Hold:
        clock, journal = VirtualClock(), MemoryJournal()
        length = round(hold_s)
        app = self._app(np.floor(rate * np.arange(length + 1)).astype(np.int64), clock)
        description = app.describe()
        journal.open_run(JournalHeader(app=description.app, policy="static", description=description))
        killed_s: float | None = None
        for second in range(length + 1):
            clock.wait_until(float(second), _NEVER)
            sample = app.collect()
            journal.append_sample(sample)
            if kill_after_s is not None and killed_s is None and second >= kill_after_s:
                active = [one.id for one in sample.executors if one.state is ExecutorState.ACTIVE]
                app.kill_executor(active[-1])
                killed_s = float(second)
        self.spent_s += self._executors * hold_s
        return Hold(run=RunSeries.from_journal(journal), started_s=0.0, ended_s=float(length), killed_s=killed_s)

    def _app(self, arrivals: Any, clock: VirtualClock) -> SimulatedApp:
        return SimulatedApp(
            self.scenario,
            arrivals,
            bounds=Bounds(self._executors, self._executors),
            clock=clock,
            seed=self.seed,
            executors=self._executors,
        )
