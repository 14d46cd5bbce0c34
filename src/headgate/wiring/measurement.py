"""How the greatest sustainable rate is found: size by size, warm first, then rate after rate.

The largest size comes first and is warmed once; the smaller ones keep its oldest executors. A new executor
gets faster for minutes, so the other way round every size would be judged by colder ones than the next.

What carries the load is a ``Bench``: a real app on a real cluster, or a queue in virtual time.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Protocol

from headgate.config import AppFile
from headgate.report.wording import number, seconds, share
from headgate.scoring.backlogs import Drain, WarmUp, rate_of_more
from headgate.scoring.holds import Step, StepOutcome, longer_hold_s
from headgate.scoring.scalability import MeasuredSize, Measurement
from headgate.scoring.sustainable import Bracket, RateSearch
from headgate.wiring.loads import production_plan

Say = Callable[[str], None]
GoOn = Callable[[Step], float | None]
"""Given what a hold has shown: how long to hold in all, without a break; ``None`` when that was enough."""

_FIRST_BACKLOG = 500
"""Records to begin with where nothing is known yet."""
_START_SHARE = 0.7
"""Where to start below the rate at which a backlog was worked off: large batches flatter it."""
_LESS_OF_MORE = 0.7
"""What a chain sustains, about, of the rate at which more records in a backlog are worked off."""
_NEXT_START_SHARE = 0.95
"""Where to start below what executors carried on the next larger size."""
_NEXT_GROWTH = 1.2
"""How much more to try at a time where it is known what an executor carries."""
_LEAST_BATCHES = 6
"""Batches that a hold should last for, up to twice its length."""


class Bench(Protocol):
    """An app under a load of one's choice."""

    def resize(self, executors: int) -> None:
        """Have so many executors; returns when they are there."""
        ...

    def drain(self, records: int) -> Drain:
        """Send so many records at once and wait until all operators have worked them off."""
        ...

    def hold(self, rate: float, hold_s: float, go_on: GoOn) -> Step:
        """Send records at a constant rate and see how the operators take it, as long as ``go_on`` wants to."""
        ...

    def settle(self) -> None:
        """Wait until what is left has been worked off."""
        ...


@dataclass(frozen=True, slots=True, kw_only=True)
class Wishes:
    """What the user asked for."""

    executors: tuple[int, ...] = (1, 2, 4)
    hold_s: float = 12.0
    expected_rate: float | None = None
    """What the app's own producer sends at most, as a first guess."""
    start_rate: float | None = None
    most_rate: float = math.inf
    precision: float = 0.1
    """How far apart the greatest rate that was sustained and the smallest that was not may be."""


class Measuring:
    """A measurement in progress; what it has found so far can be asked for at any time."""

    def __init__(self, bench: Bench, wishes: Wishes, *, app: str, quota: float | None, say: Say) -> None:
        self._bench = bench
        self._wishes = wishes
        self._order = sorted(set(wishes.executors), reverse=True)
        self._app = app
        self._quota = quota
        self._say = say
        self._sizes: list[MeasuredSize] = []
        self._drains: list[Drain] = []
        self._steps: list[Step] = []

    def run(self) -> Measurement:
        """All sizes, or as many as there were until the interrupt."""
        try:
            for executors in self._order:
                self._drains, self._steps = [], []
                bracket = self._size(executors)
                self._sizes.append(self._measured(executors, bracket))
        except KeyboardInterrupt:
            if self._steps:
                unfinished = self._order[len(self._sizes)]
                bracket = RateSearch(start=1.0).bracket(self._steps)
                self._sizes.append(self._measured(unfinished, bracket, finished=False))
            return self._measurement(complete=False)
        return self._measurement(complete=True)

    def _size(self, executors: int) -> Bracket:
        named = f"{executors} executor{'' if executors == 1 else 's'}"
        self._say(f"{named}: waiting for them …")
        self._bench.resize(executors)
        search = self._search(executors, named)
        while (rate := search.next_rate(self._steps)) is not None:
            step = self._held(rate, named)
            self._steps.append(step)
        return search.bracket(self._steps)

    def _held(self, rate: float, named: str) -> Step:
        """The rate held, and if that leaves doubts, held on for as long as it takes to see."""

        def go_on(so_far: Step) -> float | None:
            longer_s = longer_hold_s(so_far, hold_s=hold_s)
            if longer_s is not None:
                self._say(
                    f"{named}: {told(so_far)}; that may be a beginning only, so it is held for {seconds(longer_s)}"
                )
            return longer_s

        hold_s = self._hold_s()
        step = self._bench.hold(rate, hold_s, go_on)
        self._say(f"{named}: {told(step)}")
        # Each rate meets an app without lag, or a rate a little too high would lengthen the batches of the next.
        self._bench.settle()
        return step

    def _search(self, executors: int, named: str) -> RateSearch:
        """From what the next larger size has taught, or else from what backlogs tell, which warm the executors, too."""
        wishes, before = self._wishes, self._before
        search = partial(RateSearch, most=wishes.most_rate, precision=wishes.precision)
        if before is not None and before.rate_per_executor is not None:
            return search(start=_NEXT_START_SHARE * before.rate_per_executor * executors, growth=_NEXT_GROWTH)
        drained_rate = self._warm()
        more = rate_of_more(self._drains)
        self._say(f"{named}: backlogs are worked off at {number(drained_rate)} records/s")
        # Under a steady load batches are longer than their own costs make them, but not endless.
        expected = drained_rate if more is None else max(drained_rate, min(_LESS_OF_MORE * more, 4 * drained_rate))
        start = _START_SHARE * expected if wishes.start_rate is None else wishes.start_rate
        return search(start=start, expected=expected)

    def _warm(self) -> float:
        warm_up = WarmUp(first_records=self._first_backlog(), most_rate=self._wishes.most_rate)
        while (records := warm_up.next_records(self._drains)) is not None:
            drain = self._bench.drain(records)
            self._drains.append(drain)
            self._say(f"  a backlog of {number(drain.records)} records was worked off in {seconds(drain.seconds)}")
        return max(drain.rate for drain in self._drains[-2:])

    @property
    def _before(self) -> MeasuredSize | None:
        """The next larger size."""
        return self._sizes[-1] if self._sizes else None

    def _first_backlog(self) -> int:
        return max(1, round(self._wishes.start_rate or self._wishes.expected_rate or _FIRST_BACKLOG))

    def _hold_s(self) -> float:
        """Long enough for some batches, however long they take, but not more than twice what was asked for."""
        before = self._steps or (self._before.steps if self._before is not None else ())
        if not before:
            return self._wishes.hold_s
        batch_s = before[-1].slowest.batch_s
        telling_s = math.inf if batch_s is None else _LEAST_BATCHES * batch_s
        return min(2 * self._wishes.hold_s, max(self._wishes.hold_s, telling_s))

    def _measured(self, executors: int, bracket: Bracket, *, finished: bool = True) -> MeasuredSize:
        return MeasuredSize(
            executors=executors,
            bracket=bracket,
            drains=tuple(self._drains),
            steps=tuple(self._steps),
            finished=finished,
        )

    def _measurement(self, *, complete: bool) -> Measurement:
        return Measurement(
            app=self._app,
            sizes=tuple(sorted(self._sizes, key=lambda size: size.executors)),
            quota=self._quota,
            hold_s=self._wishes.hold_s,
            notes=_notes(self._sizes),
            complete=complete,
        )


def expected_rate(app: AppFile) -> float | None:
    """The most that the app's producer sends by itself; its author will have had a reason."""
    return production_plan(app.producers[0]).load().peak if app.producers else None


def told(step: Step) -> str:
    """A step in a line.

    >>> from headgate.scoring.holds import OperatorCourse
    >>> counter = OperatorCourse(
    ...     name="counter", growing=False, lag_slope=0.004, lag_records=90, batch_s=0.8, longest_batch_s=1.1, busy=0.8
    ... )
    >>> print(told(Step(asked_rate=120, achieved_rate=120, held_s=12, outcome=StepOutcome.SUSTAINED,
    ...     operators=(counter,))))
    120 records/s for 12 s: sustained; lag slope 0.4 %, batches of 800 ms
    """
    head = f"{number(step.asked_rate)} records/s for {seconds(step.held_s)}"
    if step.outcome is StepOutcome.PRODUCER_SHORT:
        return f"{head}: inconclusive, because only {number(step.achieved_rate)} records/s could be sent"
    figures = f"lag slope {share(step.worst.lag_slope)}, batches of {seconds(step.slowest.batch_s)}"
    if step.outcome is StepOutcome.LAG_GREW:
        return f"{head}: the lag of '{step.worst.name}' grew; {figures}"
    return f"{head}: sustained; {figures}"


def _notes(sizes: Sequence[MeasuredSize]) -> tuple[str, ...]:
    notes = []
    for size in sizes:
        if size.producer_short:
            notes.append(f"on {size.executors}, some rates were inconclusive: the records could not be sent that fast")
        if size.finished and size.rate is None:
            notes.append(f"on {size.executors}, no rate that was tried was sustained; give a lower --start-rate")
        if size.finished and size.at_least:
            notes.append(f"on {size.executors}, the limit was not reached: the rate is at least that")
    return tuple(notes)
