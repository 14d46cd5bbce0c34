"""What an app can sustain on each number of executors, and how near that comes to linear."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any

from headgate.scoring.backlogs import Drain
from headgate.scoring.holds import Step, StepOutcome
from headgate.scoring.sustainable import Bracket


@dataclass(frozen=True, slots=True, kw_only=True)
class MeasuredSize:
    """The search for the greatest sustainable rate on one number of executors."""

    executors: int
    bracket: Bracket
    drains: tuple[Drain, ...] = ()
    """Backlogs worked off to get warm."""
    steps: tuple[Step, ...] = ()
    finished: bool = True
    """False: it was interrupted, and the bracket is as wide as it was then."""

    @property
    def rate(self) -> float | None:
        return self.bracket.sustained

    @property
    def rate_per_executor(self) -> float | None:
        return None if self.rate is None else self.rate / self.executors

    @property
    def at_least(self) -> bool:
        """Whether the limit was not reached, so that the rate is only known to be so high."""
        return self.rate is not None and self.bracket.exceeded is None

    @property
    def best(self) -> Step | None:
        """The step that held the rate."""
        held = [step for step in self.steps if step.outcome is StepOutcome.SUSTAINED and step.rate == self.rate]
        return held[-1] if held else None

    @property
    def gave_in(self) -> str | None:
        """The operator whose lag grew at the smallest rate that was not sustained."""
        grew = [step for step in self.steps if step.outcome is StepOutcome.LAG_GREW]
        return min(grew, key=lambda step: step.rate).worst.name if grew else None

    @property
    def producer_short(self) -> bool:
        """Whether a rate could not be tried because the records could not be sent that fast."""
        return any(step.outcome is StepOutcome.PRODUCER_SHORT for step in self.steps)


@dataclass(frozen=True, slots=True, kw_only=True)
class Measurement:
    """One app on several sizes."""

    app: str
    sizes: tuple[MeasuredSize, ...]
    quota: float | None = None
    """Share of a processor that an executor had; ``None``: no limit."""
    hold_s: float
    notes: tuple[str, ...] = ()
    """What a reader must know to take the figures for what they are."""
    complete: bool = True

    def efficiency(self, size: MeasuredSize) -> float | None:
        """rate(n) ÷ (n × rate per executor on the smallest size): 1 is linear."""
        base = self.sizes[0].rate_per_executor
        if base is None or size.rate_per_executor is None:
            return None
        return size.rate_per_executor / base

    def to_document(self) -> dict[str, Any]:
        return {
            "app": self.app,
            "quota": self.quota,
            "hold_s": self.hold_s,
            "complete": self.complete,
            "notes": list(self.notes),
            "sizes": [self._row(size) for size in self.sizes],
        }

    def _row(self, size: MeasuredSize) -> dict[str, Any]:
        best = size.best
        return {
            "executors": size.executors,
            "rate": size.rate,
            "at_least": size.at_least,
            "not_sustained_rate": size.bracket.exceeded,
            "rate_per_executor": size.rate_per_executor,
            "efficiency": self.efficiency(size),
            "lag_slope": best.worst.lag_slope if best else None,
            "batch_s": best.slowest.batch_s if best else None,
            "longest_batch_s": best.slowest.longest_batch_s if best else None,
            "gave_in": size.gave_in,
            "finished": size.finished,
            "drain_rates": [drain.rate for drain in size.drains],
            "steps": [{**asdict(step), "outcome": step.outcome.value} for step in size.steps],
        }
