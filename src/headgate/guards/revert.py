"""Undoes a scale-down that did harm.

Harm is a 95th percentile of latency, or a backlog, that got materially worse within a window after
the step while the load did not rise. The previous size is then restored, past cooldown and step
limit, and not shrunk to the harmful size again for a time, unless the load has fallen since.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

from headgate.core.decision import Outcome, Reason, Ruling, Tick
from headgate.core.evaluation import Evaluation
from headgate.core.knowledge import Knowledge
from headgate.core.options import check_options, option
from headgate.guards import figures
from headgate.guards.step import last_applied, present_s, resized

REVERTED = "scale-down-reverted"


@dataclass(frozen=True, slots=True, kw_only=True)
class Revert:
    """Goes back to the previous size, and remembers which size was too small."""

    name: ClassVar[str] = "revert"

    window_s: float = option(300.0, "time after a scale-down in which harm is put down to it", above=0)
    settle_s: float = option(30.0, "time after the step before it is judged", least=0)
    latency_factor: float = option(2.0, "latency after ÷ before that is harm", above=1)
    latency_least_s: float = option(5.0, "latency below which nothing is harm", least=0)
    lag_factor: float = option(2.0, "backlog after ÷ before that is harm", above=1)
    lag_least_s: float = option(30.0, "backlog, in seconds of work, below which nothing is harm", least=0)
    load_tolerance: float = option(0.1, "share by which the load may have changed and still be the same", least=0)
    hold_s: float = option(900.0, "time after a revert in which the harmful size is avoided", least=0)

    def __post_init__(self) -> None:
        check_options(f"guard '{self.name}'", self)

    @property
    def looks_back_s(self) -> float:
        return max(self.window_s, self.hold_s)

    def review(self, ruling: Ruling, evaluation: Evaluation | None, knowledge: Knowledge) -> Ruling:
        if evaluation is None:
            return ruling
        undone = self._undo(ruling, evaluation, knowledge)
        return self._avoid(ruling, evaluation, knowledge) if undone is None else undone

    def _undo(self, ruling: Ruling, evaluation: Evaluation, knowledge: Knowledge) -> Ruling | None:
        step = last_applied(knowledge)
        if step is None or step.evaluation is None:
            return None
        before, after = step.decision.current.executors, step.decision.granted.executors
        since_s = evaluation.time_s - step.time_s
        if after > before or not self.settle_s <= since_s <= self.window_s:
            return None
        wanted = ruling.allocation.executors
        if wanted >= before or self._load_rose(step.evaluation, evaluation):
            return None
        harm = self._harm(step.evaluation, evaluation)
        if harm is None:
            return None
        reason = Reason(
            by=self.name,
            code=REVERTED,
            message=(
                f"since the step from {before} to {after} executors {since_s:.0f} s ago {harm['said']} without more "
                f"load: back to {before} ({wanted} were wanted)"
            ),
            inputs={
                "wanted": wanted,
                "before": before,
                "after": after,
                "since_s": since_s,
                "arrival_rate": figures.arrival_rate(evaluation),
                **harm["figures"],
            },
        )
        return ruling.changed(resized(ruling, before, knowledge), reason)

    def _avoid(self, ruling: Ruling, evaluation: Evaluation, knowledge: Knowledge) -> Ruling:
        wanted, current = ruling.allocation.executors, knowledge.current.executors
        if wanted >= current:
            return ruling
        now_s = present_s(evaluation, knowledge)
        for tick in reversed(knowledge.history):
            noted = self._note_in(tick)
            if noted is None or now_s - tick.time_s > self.hold_s:
                continue
            harmful = noted.inputs.get("after")
            if not isinstance(harmful, int) or wanted > harmful:
                continue
            if self._load_fell(noted.inputs.get("arrival_rate"), evaluation):
                continue
            size = min(current, harmful + 1)
            reason = Reason(
                by=self.name,
                code="harmful-size-avoided",
                message=(
                    f"{wanted} executors are wanted, but {harmful} did harm {now_s - tick.time_s:.0f} s ago: "
                    f"{size} for now"
                ),
                inputs={"wanted": wanted, "current": current, "harmful": harmful, "granted": size},
            )
            return ruling.changed(resized(ruling, size, knowledge), reason)
        return ruling

    def _note_in(self, tick: Tick) -> Reason | None:
        if tick.outcome is not Outcome.APPLIED:
            return None
        notes = (reason for reason in tick.decision.reasons if reason.by == self.name and reason.code == REVERTED)
        return next(notes, None)

    def _load_rose(self, earlier: Evaluation, now: Evaluation) -> bool:
        """Whether the load may explain the harm; a load that is not known cannot be ruled out."""
        before, after = figures.arrival_rate(earlier), figures.arrival_rate(now)
        return before is None or after is None or after > before * (1 + self.load_tolerance)

    def _load_fell(self, then: Any, now: Evaluation) -> bool:
        rate = figures.arrival_rate(now)
        return isinstance(then, int | float) and rate is not None and rate < then * (1 - self.load_tolerance)

    def _harm(self, earlier: Evaluation, now: Evaluation) -> dict[str, Any] | None:
        before_s, after_s = figures.latency_p95_s(earlier), figures.latency_p95_s(now)
        if (
            before_s is not None
            and after_s is not None
            and after_s > before_s * self.latency_factor
            and after_s >= self.latency_least_s
        ):
            said = f"latency (p95) went from {before_s:.1f} s to {after_s:.1f} s"
            return {"said": said, "figures": {"latency_before_s": before_s, "latency_after_s": after_s}}
        before, after, work_s = figures.lag_records(earlier), figures.lag_records(now), figures.lag_s(now)
        if before is None or after is None or after <= before * self.lag_factor:
            return None
        # Nothing processed at all leaves the length of the backlog unknown, and is harm in itself.
        if work_s is not None and work_s < self.lag_least_s:
            return None
        said = f"the backlog went from {before:.0f} to {after:.0f} records"
        return {"said": said, "figures": {"lag_before": before, "lag_after": after}}
