"""Stops adding executors when the last ones brought nothing.

Source: the effectiveness check of the Flink autoscaler: a scale-up whose gain in processing rate is
below a tenth of what was expected blocks further ones.

    gain = (rate after − rate before) ÷ (rate before × (executors after ÷ executors before − 1))

The rate is the true processing rate. An app that was behind is judged by what counts then: its
processed rate, or how much of its backlog went away against the share 1 − before ÷ after of
executors; the better of the two, because one executor more may serve either. It is judged only once
the executors are there and the step has settled. Judged afresh at every tick, so a late gain lifts
the block; deviation: the block ends by itself, because the cause may have been removed.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import ClassVar

from headgate.core.decision import Reason, Ruling, Tick
from headgate.core.evaluation import Evaluation
from headgate.core.knowledge import Knowledge
from headgate.core.options import check_options, option
from headgate.guards import figures
from headgate.guards.step import last_applied, resized

_BEHIND_SHARE = 1.05
"""Arrivals over processed records from which an app was falling behind."""


@dataclass(frozen=True, slots=True, kw_only=True)
class IneffectiveScaling:
    """Holds the size for a time when more executors did not help."""

    name: ClassVar[str] = "ineffective-scaling"

    least_gain: float = option(0.1, "share of the expected gain that counts as effective", least=0, most=1)
    settle_s: float = option(120.0, "time after the step before it is judged", least=0)
    block_s: float = option(1800.0, "time after the step during which nothing more is added", above=0)
    behind_s: float = option(30.0, "backlog, in seconds of work, from which an app counts as behind", above=0)

    def __post_init__(self) -> None:
        check_options(f"guard '{self.name}'", self)

    @property
    def looks_back_s(self) -> float:
        return max(self.block_s, self.settle_s)

    def review(self, ruling: Ruling, evaluation: Evaluation | None, knowledge: Knowledge) -> Ruling:
        current, wanted = knowledge.current.executors, ruling.allocation.executors
        step = _last_scale_up(knowledge)
        if evaluation is None or wanted <= current or step is None:
            return ruling
        since_s = evaluation.time_s - step.time_s
        if not self.settle_s <= since_s <= self.block_s:
            return ruling
        judged = self._gain(step, evaluation)
        if judged is None or judged[0] >= self.least_gain:
            return ruling
        gain, measure = judged
        before, after = step.decision.current.executors, step.decision.granted.executors
        reason = Reason(
            by=self.name,
            code="last-scale-up-was-ineffective",
            message=(
                f"{wanted} executors are wanted, but going from {before} to {after} {since_s:.0f} s ago brought "
                f"{max(0.0, gain):.0%} of the expected gain in {measure}: {current} stay for "
                f"{self.block_s - since_s:.0f} s more; look for another bottleneck"
            ),
            inputs={
                "wanted": wanted,
                "current": current,
                "before": before,
                "after": after,
                "gain": gain,
                "least_gain": self.least_gain,
                "measure": measure,
                "since_s": since_s,
            },
        )
        return ruling.changed(resized(ruling, current, knowledge), reason)

    def _gain(self, step: Tick, now: Evaluation) -> tuple[float, str] | None:
        """The gain as a share of the expected one, and in what; ``None`` if it cannot be judged."""
        earlier = step.evaluation
        before, after = step.decision.current.executors, step.decision.granted.executors
        arriving = now.pending_executors > 0 or len(now.working_executors) < after
        if earlier is None or before < 1 or arriving:
            return None
        growth = after / before - 1
        if not self._was_behind(earlier):
            gain = _relative(figures.true_rate(earlier), figures.true_rate(now), growth)
            return None if gain is None else (gain, "true processing rate")
        gains = []
        processed = _relative(figures.processed_rate(earlier), figures.processed_rate(now), growth)
        if processed is not None:
            gains.append((processed, "processed rate"))
        backlog = _relative(figures.lag_records(earlier), figures.lag_records(now), before / after - 1)
        if backlog is not None:
            gains.append((backlog, "backlog"))
        return max(gains, default=None)

    def _was_behind(self, earlier: Evaluation) -> bool:
        arriving, processed = figures.arrival_rate(earlier), figures.processed_rate(earlier)
        if arriving is not None and processed is not None and arriving > _BEHIND_SHARE * processed:
            return True
        lag_s = figures.lag_s(earlier)
        return lag_s is not None and lag_s > self.behind_s


def _last_scale_up(knowledge: Knowledge) -> Tick | None:
    """The newest change of size, if it was a scale-up: after a scale-down there is nothing to judge."""
    step = last_applied(knowledge)
    if step is None or step.decision.granted.executors < step.decision.current.executors:
        return None
    return step


def _relative(before: float | None, after: float | None, expected: float) -> float | None:
    """Relative change as a share of the expected one."""
    if before is None or after is None or before <= 0 or expected == 0:
        return None
    share = (after / before - 1) / expected
    return share if math.isfinite(share) else None
