"""The greatest rate that an app can sustain: whether it sustained one, and which to try next.

A rate is held for a while. Lag on micro-batches is a saw, so it is looked at where it is lowest, at
the ends of batches: there it is what arrived while the batch ran, and it grows from batch to batch
only if the app falls behind. Nothing here reads a clock or sends a record, so the whole search runs
in virtual time, too.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum
from itertools import combinations
from statistics import median

import numpy as np

from headgate.core.sample import ArrivalPoint, Batch

_GROWING = 0.05
"""Share of the arrivals that may be left over, batch after batch, before lag counts as growing."""
_FEW_BATCHES = 6
_OVERWHELMED = 0.3
"""Share of the arrivals from which on, after some batches, it need not be asked whether lag will stop growing."""
_BATCHES_BEHIND = 1.5
"""Lag up to so many batches' intake is the rhythm of micro-batches."""
_REACHED = 0.97
"""Share of the asked rate from which a producer counts as having reached it."""
_COUNTED_RECORDS = 2.0
"""Records that may be counted a moment before or after: at two records a second they are many."""
_LEAP = 8.0
_RECORDS_SHARE = 0.4
"""Share of a backlog's time that must be its records', so that its rate says something about them."""
_LONGEST_HOLD_S = 240.0
"""Slow chains take many batches to fill, and these lengthen meanwhile."""
_TELLING_BATCHES = 12
"""After so many batches lag that grows by a twentieth of the arrivals is beyond the rhythm of batches."""
_BATCHES_PER_OPERATOR = 3
"""Further ones for each further operator: what comes down a chain comes in lumps, and late."""
_NEAR = 0.85
"""Share of the limit that is foreseen at which to look first."""
_ROOM = 0.8
"""Share of the time that batches may fill after a step that follows free time instead of a fixed factor."""


class StepOutcome(StrEnum):
    SUSTAINED = "sustained"
    LAG_GREW = "lag grew"
    PRODUCER_SHORT = "producer short"
    """The records could not be sent that fast, so nothing is known about the rate."""


@dataclass(frozen=True, slots=True, kw_only=True)
class OperatorHold:
    """What was seen of one operator while a rate was held."""

    name: str
    arrivals: tuple[ArrivalPoint, ...]
    """Records in its input topics, by time."""
    batches: tuple[Batch, ...]
    """Finished meanwhile, oldest first."""
    done_records: float
    """Position in the input up to which it had finished at the end."""


@dataclass(frozen=True, slots=True, kw_only=True)
class OperatorCourse:
    """How one operator took a rate."""

    name: str
    growing: bool
    lag_slope: float
    """Growth of its lag as a share of its arrivals: 0.1 means that a tenth of them is left over."""
    lag_records: float
    """At the end, and where the saw is lowest."""
    batch_s: float | None
    """Median duration of its batches; unknown if none ended."""
    longest_batch_s: float | None
    busy: float
    """Share of the time in which it had a batch running."""
    calm_batch_s: float | None = None
    """Median duration of the first ones, before much lag could have lengthened them."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Step:
    """One rate, held."""

    asked_rate: float
    achieved_rate: float
    held_s: float
    outcome: StepOutcome
    operators: tuple[OperatorCourse, ...]

    @property
    def rate(self) -> float:
        """The rate that the outcome is about."""
        return self.asked_rate if _reached(self.asked_rate, self.achieved_rate, self.held_s) else self.achieved_rate

    @property
    def worst(self) -> OperatorCourse:
        """The operator whose lag grew most; of those that count as growing, if any does."""
        return max(self.operators, key=lambda operator: (operator.growing, operator.lag_slope))

    @property
    def unclear(self) -> bool:
        """Whether a longer hold might show something else.

        Batches with a cost of their own lengthen under a new load until they have the length that they keep. Lag that
        grows meanwhile looks like lag that grows for good.
        """
        slope, batch_s = self.worst.lag_slope, self.slowest.batch_s
        if self.outcome is StepOutcome.SUSTAINED:
            return slope > _GROWING
        # Lag that grows lengthens batches, and would make it ever longer until there are enough of them.
        calm_s = max((operator.calm_batch_s or batch_s or math.inf for operator in self.operators), default=math.inf)
        few = batch_s is None or self.held_s < self._batches(_FEW_BATCHES) * min(calm_s, batch_s)
        return self.outcome is StepOutcome.LAG_GREW and (few or slope < _OVERWHELMED)

    @property
    def telling_s(self) -> float:
        """How long it has to be held to see whether lag grows for good; no end of it before a batch has ended."""
        # An operator whose batches are longer than the hold was has said nothing yet.
        batch_s = self.slowest.batch_s
        return math.inf if batch_s is None else self._batches(_TELLING_BATCHES) * batch_s

    def _batches(self, of_one: int) -> int:
        return of_one + _BATCHES_PER_OPERATOR * (len(self.operators) - 1)

    @property
    def slowest(self) -> OperatorCourse:
        return max(self.operators, key=lambda operator: operator.batch_s or math.inf)


def longest_hold_s(hold_s: float) -> float:
    """For how long a rate may be held if it was to be held for so long at first."""
    return max(hold_s, _LONGEST_HOLD_S)


def longer_hold_s(step: Step, *, hold_s: float) -> float | None:
    """How long to hold a rate in all if a hold has left doubts; ``None`` if not, or if it was telling already.

    Batches lengthen while a load goes on, and with them the time that it takes to tell: so this may be asked again.
    """
    if not step.unclear or (step.held_s >= step.telling_s and step.held_s > 1.1 * hold_s):
        return None
    longer_s = min(longest_hold_s(hold_s), max(2 * step.held_s, step.telling_s))
    return longer_s if longer_s > 1.1 * step.held_s else None


def judge(
    holds: Sequence[OperatorHold],
    *,
    asked_rate: float,
    achieved_rate: float,
    started_s: float,
    ended_s: float,
    trigger_s: float,
) -> Step:
    """Whether a rate was sustained.

    It was not if the lag of any operator grew, once the first half was over, by more than 5 % of what
    arrived, and ended beyond one and a half batches' intake. A batch's intake is what arrives while the
    slowest operator works on one: what comes down a chain comes in bursts of that size. A rate that the
    producer did not reach was never sustained, but lag that grew nevertheless is conclusive.
    """
    cycle_s = max([trigger_s, *(_calm_batch_s(hold, started_s, ended_s) for hold in holds)])
    courses = tuple(_course(hold, started_s=started_s, ended_s=ended_s, cycle_s=cycle_s) for hold in holds)
    if any(course.growing for course in courses):
        outcome = StepOutcome.LAG_GREW
    elif not _reached(asked_rate, achieved_rate, ended_s - started_s):
        outcome = StepOutcome.PRODUCER_SHORT
    else:
        outcome = StepOutcome.SUSTAINED
    return Step(
        asked_rate=asked_rate,
        achieved_rate=achieved_rate,
        held_s=ended_s - started_s,
        outcome=outcome,
        operators=courses,
    )


def _reached(asked_rate: float, achieved_rate: float, held_s: float) -> bool:
    return (_REACHED * asked_rate - achieved_rate) * held_s <= _COUNTED_RECORDS


def _calm_batch_s(hold: OperatorHold, started_s: float, ended_s: float, *, share: float = 2 / 3) -> float:
    """How long its batches took before much lag could have lengthened them."""
    early_s = started_s + share * (ended_s - started_s)
    early = [batch.duration_s for batch in hold.batches if batch.finished_s <= early_s]
    return median(early) if early else 0.0


def _course(hold: OperatorHold, *, started_s: float, ended_s: float, cycle_s: float) -> OperatorCourse:
    span_s = ended_s - started_s
    arrived = _arrived(hold, ended_s)
    arrival_rate = (arrived - _arrived(hold, started_s)) / span_s
    troughs = [(batch.finished_s, _arrived(hold, batch.finished_s) - batch.end_record) for batch in hold.batches]
    # The batch that is still running will leave behind at least what arrived since it began.
    last_s = troughs[-1][0] if troughs else started_s
    running = arrived - _arrived(hold, last_s)
    if not troughs or running > troughs[-1][1]:
        troughs.append((ended_s, running if troughs else arrived - hold.done_records))
    slope = _slope(troughs, since_s=started_s + span_s / 2, span_s=span_s) / arrival_rate if arrival_rate else 0.0
    lag = max(0.0, troughs[-1][1])
    durations = [batch.duration_s for batch in hold.batches]
    return OperatorCourse(
        name=hold.name,
        growing=slope > _GROWING and lag > _BATCHES_BEHIND * arrival_rate * cycle_s,
        lag_slope=slope,
        lag_records=lag,
        batch_s=median(durations) if durations else None,
        longest_batch_s=max(durations, default=None),
        busy=min(1.0, (sum(durations) + (0.0 if durations else span_s)) / span_s),
        calm_batch_s=_calm_batch_s(hold, started_s, ended_s, share=1 / 3) or None,
    )


def _arrived(hold: OperatorHold, time_s: float) -> float:
    times = [point.time_s for point in hold.arrivals]
    return float(np.interp(time_s, times, [point.records for point in hold.arrivals]))


def _slope(troughs: Sequence[tuple[float, float]], *, since_s: float, span_s: float) -> float:
    """The median of the slopes between any two ends of batches, so that one hiccup does not decide."""
    late = [point for point in troughs if point[0] >= since_s]
    early = troughs[: len(troughs) - len(late)]
    points = [*early[-1:], *late] if len(late) < 3 else late
    slopes = [(y1 - y0) / (x1 - x0) for (x0, y0), (x1, y1) in combinations(points, 2) if x1 > x0]
    return median(slopes) if slopes else points[-1][1] / span_s


@dataclass(frozen=True, slots=True, kw_only=True)
class Drain:
    """A backlog that was sent at once, and how long it took until all operators had worked it off."""

    records: int
    seconds: float

    @property
    def rate(self) -> float:
        return self.records / self.seconds


def rate_of_more(drains: Sequence[Drain]) -> float | None:
    """The rate at which what a larger backlog had more than a smaller one was worked off.

    What every backlog takes, a chain's many batches one after the other and windows' watermarks, is in both.

    >>> rate_of_more([Drain(records=100, seconds=12.0), Drain(records=1100, seconds=17.0)])
    200.0
    """
    largest = max(drains, key=lambda drain: drain.records)
    smaller = [drain for drain in drains if drain.records <= largest.records / 2]
    if not smaller:
        return None
    before = max(smaller, key=lambda drain: drain.records)
    quickest_s = min(drain.seconds for drain in drains if drain.records == largest.records)
    more_s = quickest_s - before.seconds
    return (largest.records - before.records) / more_s if more_s > 0 else None


@dataclass(frozen=True, slots=True, kw_only=True)
class WarmUp:
    """Backlogs that make new executors warm and tell roughly what they can carry.

    Code is compiled while it runs, so a new executor gets faster for up to a minute: backlogs follow
    each other until the app no longer gets faster.
    """

    first_records: int
    round_s: float = 8.0
    """How long working off a backlog should take."""
    settled: float = 0.12
    most_rounds: int = 10
    most_rate: float = math.inf
    """More than that need not be known."""

    def next_records(self, drains: Sequence[Drain]) -> int | None:
        if not drains:
            return self.first_records
        last = drains[-1]
        most = self.most_rate * self.round_s
        if len(drains) >= self.most_rounds or (last.records >= most and last.rate > self.most_rate):
            return None
        if len(drains) == 1 and last.seconds >= self.round_s:
            # The first backlog also waited for what is only done once.
            return last.records
        fewer = [drain for drain in drains[:-1] if drain.records < last.records]
        if fewer:
            # What more records took longer is theirs. The rest is what batches cost by themselves, of which a chain
            # of operators has many one after the other, and windows wait for their watermarks besides.
            record_s = (last.seconds - fewer[-1].seconds) / (last.records - fewer[-1].records)
            records_s = max(0.0, record_s * last.records)
            if records_s < _RECORDS_SHARE * last.seconds:
                leap = _LEAP if records_s <= 0 else min(_LEAP, max(2.0, self.round_s / records_s))
                return math.ceil(min(most, leap * last.records))
        best = max((drain.rate for drain in drains[:-1]), default=0.0)
        if fewer and last.seconds >= self.round_s / 2 and last.rate <= best * (1 + self.settled):
            return None
        if fewer and last.seconds >= 1.5 * self.round_s:
            return last.records
        return math.ceil(min(most, last.records * min(_LEAP, max(2.0, self.round_s / last.seconds))))


@dataclass(frozen=True, slots=True, kw_only=True)
class Bracket:
    """What is known of the greatest sustainable rate."""

    sustained: float | None
    """The greatest rate that was."""
    exceeded: float | None
    """The smallest rate that was not; ``None``: the limit was not found, the rate is at least that."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RateSearch:
    """Up from a start until the lag grows, then between what was sustained and what was not."""

    start: float
    expected: float = 0.0
    """Where the limit is thought to be: steps get longer below it, and again some steps beyond it."""
    most: float = math.inf
    growth: float = 1.3
    precision: float = 0.1
    """How far apart the two ends of the answer may be."""
    most_steps: int = 10
    least: float = 0.1

    def bracket(self, steps: Sequence[Step]) -> Bracket:
        grew = [step.rate for step in steps if step.outcome is StepOutcome.LAG_GREW]
        exceeded = min(grew, default=None)
        sustained = [
            step.rate
            for step in steps
            if step.outcome is StepOutcome.SUSTAINED and (exceeded is None or step.rate < exceeded)
        ]
        return Bracket(sustained=max(sustained, default=None), exceeded=exceeded)

    def next_rate(self, steps: Sequence[Step]) -> float | None:
        """The rate to hold next; ``None`` when the answer is as good as it gets."""
        if len(steps) >= self.most_steps:
            return None
        reach = min([self.most, *(0.95 * s.achieved_rate for s in steps if s.outcome is StepOutcome.PRODUCER_SHORT)])
        known = self.bracket(steps)
        match known.sustained, known.exceeded:
            case None, None:
                wanted = self.start
            case None, float(exceeded):
                wanted = min(0.9 * exceeded, max(0.4 * exceeded, 0.95 * _served(steps, exceeded)))
            case float(sustained), None:
                wanted = sustained * self._growth(steps)
            case float(sustained), float(exceeded):
                if exceeded <= sustained * (1 + self.precision):
                    return None
                wanted, served = math.sqrt(sustained * exceeded), _served(steps, exceeded)
                if sustained * (1 + self.precision) < served < wanted:
                    wanted = served
        wanted = min(wanted, reach)
        pointless = known.sustained is not None and wanted < known.sustained * 1.02
        return None if pointless or wanted < self.least else wanted

    def _growth(self, steps: Sequence[Step]) -> float:
        """How much more to try: the longer nothing happens, or the more time batches leave free, the more.

        Once two rates have made batches of different length, these tell how far it still goes.
        """
        held = [step for step in steps if step.outcome is StepOutcome.SUSTAINED]
        sustained, limit = max(step.rate for step in held), limit_by_batches(held)
        if limit is not None:
            return min(2.5, max(1.1, (_NEAR if sustained < _NEAR * limit / 1.1 else 1.0) * limit / sustained))
        if len(held) > 1:
            # Batches are as long as before, so records are the least of what they take.
            return 2.0
        below = sustained < self.expected
        rises = sum(step.outcome is StepOutcome.SUSTAINED and (below or step.rate >= self.expected) for step in steps)
        busy = max(operator.busy for operator in steps[-1].operators)
        factor = min(2.5, max(self.growth**2 ** max(0, rises - 2), _ROOM / max(busy, 0.01)))
        return float(max(self.growth, min(factor, self.expected / sustained)) if below else factor)


def limit_by_batches(sustained: Sequence[Step]) -> float | None:
    """The rate beyond which batches would get longer and longer, as two rates show it that were sustained.

    A batch takes a time of its own and a time for each record, and with batches one after the other the next one has
    what came meanwhile. So what the longer batches of a higher rate had more of records, by how much longer they took,
    is the rate at which records are worked off. Of several operators the slowest counts; one whose batches are hardly
    longer than before says nothing.
    """
    if len(sustained) < 2:
        return None
    before, after = sorted(sustained, key=lambda step: step.rate)[-2:]
    durations = {operator.name: operator.batch_s for operator in before.operators}
    found = []
    for operator in after.operators:
        short_s, long_s = durations.get(operator.name), operator.batch_s
        if short_s is not None and long_s is not None and long_s > 1.15 * short_s:
            found.append((after.rate * long_s - before.rate * short_s) / (long_s - short_s))
    return min(found, default=None)


def _served(steps: Sequence[Step], rate: float) -> float:
    """What the app kept up with, of a rate that was too high for it."""
    slope = next(step.worst.lag_slope for step in steps if step.rate == rate)
    return rate * (1 - slope)
