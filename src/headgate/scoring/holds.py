"""A rate that was held for a while: whether it was sustained, and how long to hold it to see that.

Lag on micro-batches is a saw, so it is looked at where it is lowest, at the ends of batches: there it is what arrived
while the batch ran, and it grows from batch to batch only if the app falls behind.
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
_LONGEST_HOLD_S = 240.0
"""Slow chains take many batches to fill, and these lengthen meanwhile."""
_TELLING_BATCHES = 12
"""After so many batches lag that grows by a twentieth of the arrivals is beyond the rhythm of batches."""
_LEAST_BATCHES = 3
"""So many batches show what longer ones work off."""
_LONGER = 1.15
"""Batches whose durations are closer than that are of one length."""
_BATCHES_PER_OPERATOR = 3
"""Further ones for each further operator: what comes down a chain comes in lumps, and late."""


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
    lengthening: bool = False
    """Whether its longer batches work off more in the time than arrives: then they get longer, and lag grows with them,
    only until they take in what comes."""


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
        return self.outcome is StepOutcome.LAG_GREW and (few or slope < _OVERWHELMED or self.worst.lengthening)

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
    # As long as no batch has ended it is not known how long that will be: then it is looked again soon.
    telling_s = step.telling_s if math.isfinite(step.telling_s) else 0.0
    longer_s = min(longest_hold_s(hold_s), max(2 * step.held_s, telling_s))
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
        lengthening=_rate_of_longer(hold.batches) > (1 + _GROWING) * arrival_rate,
    )


def _rate_of_longer(batches: Sequence[Batch]) -> float:
    """Records a second that longer batches had more than shorter ones; 0 where that cannot be told."""
    durations = [batch.duration_s for batch in batches]
    if len(batches) < _LEAST_BATCHES or max(durations) < _LONGER * min(durations):
        return 0.0
    records = np.array([batch.records for batch in batches])
    records_s = float(np.cov(records, durations)[0, 1])
    return float(records.var(ddof=1)) / records_s if records_s > 0 else 0.0


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
