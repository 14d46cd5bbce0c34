"""The search for the greatest rate that an app can sustain: which one to hold next, and what is known by now.

Nothing here reads a clock or sends a record, so the whole search runs in virtual time, too.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from headgate.scoring.holds import Step, StepOutcome

_NEAR = 0.85
"""Share of the limit that is foreseen at which to look first."""
_ROOM = 0.8
"""Share of the time that batches may fill after a step that follows free time instead of a fixed factor."""


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
