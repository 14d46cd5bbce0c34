"""Kubernetes' Horizontal Pod Autoscaler, with executors for pods and busy share for utilisation.

Source: ``replica_calculator.go`` and ``horizontal.go`` of Kubernetes' pod autoscaler (autoscaling/v2
with behaviours), and its use as a baseline by Daedalus (Pfister et al., ICPE 2024, section 4.3.2).

    ratio   = utilisation ÷ target              utilisation in whole percent, weighted by cores
    desired = ceil(ratio × executors measured)  unless |ratio − 1| ≤ tolerance

- Executors that are not ready (asked for and not there yet, or younger than ``initialization_s``)
  are left out when the size shrinks and count as idle when it grows.
- Executors without figures count as idle when it grows and as fully busy when it shrinks. If these
  assumptions reverse the direction, or bring the ratio within tolerance, the size stays.
- Executors that are leaving are left out.
- Stabilisation: growth is to the least, shrinking to the greatest recommendation of the direction's
  window; the size found at the start counts as the first recommendation.
- Scaling rules limit how fast the size may change (``scaling_rules``).

Deviations: a registered executor counts as ready once it is ``initialization_s`` old (Kubernetes
asks its readiness probe, and whether the metric's window began after it was ready); changes of size
are recognised from one tick to the next, so those made by guards or people count in the rules too;
the least and greatest size are left to the bounds guard.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar, NamedTuple

from headgate.core.allocation import Dimension
from headgate.core.decision import Proposal, Reason
from headgate.core.evaluation import Evaluation, ExecutorEvaluation
from headgate.core.knowledge import Knowledge
from headgate.core.options import check_options, option
from headgate.policies.scaling_rules import (
    LONGEST_PERIOD_S,
    Select,
    SizeChange,
    lower_limit,
    parse_rules,
    upper_limit,
)

_MOST_BUSY = 10.0
"""A share beyond this is a broken figure; it must not ask for thousands of executors."""

_SELECT = tuple(select.value for select in Select)


class _Usage(NamedTuple):
    """What one executor uses and offers, in thousandths of a core."""

    used: int
    offered: int


_Recommendations = list[tuple[float, int]]
"""Time and size of what was recommended before any damping, oldest first."""


class _Memory(NamedTuple):
    recommendations: _Recommendations
    changes: tuple[SizeChange, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Hpa:
    """Keeps the executors' busy share at a target.

    >>> Hpa(target=0.85).period_s
    15.0
    """

    name: ClassVar[str] = "hpa"
    scales: ClassVar[frozenset[Dimension]] = frozenset({Dimension.EXECUTORS})
    needs: ClassVar[tuple[str, ...]] = ("executors.busy",)

    target: float = option(0.8, "busy share to keep", above=0, most=1)
    tolerance: float = option(0.1, "deviation of the ratio from 1 that is ignored", least=0, most=1)
    initialization_s: float = option(30.0, "age below which an executor is not ready", least=0)
    up_stabilization_s: float = option(0.0, "window whose least recommendation is taken when growing", least=0)
    down_stabilization_s: float = option(300.0, "window whose greatest one is taken when shrinking", least=0)
    up_rules: str = option("4/15s+100%/15s", "growth allowed: executors or percent per period, joined by +")
    up_select: str = option("max", "rule for growth that counts", choices=_SELECT)
    down_rules: str = option("100%/15s", "shrinking allowed: executors or percent per period, joined by +")
    down_select: str = option("max", "rule for shrinking that counts", choices=_SELECT)
    period_s: float = option(15.0, "time between two decisions", above=0)
    window_s: float = option(30.0, "length of the window that an evaluation describes", above=0)

    def __post_init__(self) -> None:
        check_options(f"policy '{self.name}'", self)
        parse_rules(self.up_rules, where=f"policy '{self.name}': up_rules")
        parse_rules(self.down_rules, where=f"policy '{self.name}': down_rules")

    def decide(self, evaluation: Evaluation, knowledge: Knowledge) -> Proposal:
        now_s, current = evaluation.time_s, knowledge.current.executors
        memory = _remember(knowledge, now_s)
        desired, measured = self._recommend(evaluation, current)
        if desired is None:
            return Proposal(
                allocation=knowledge.current, reasons=(measured,), memory=self._memorise(memory, now_s, current)
            )
        reasons = [measured]
        stable = self._stabilise(desired, current, memory.recommendations, now_s)
        if stable != desired:
            reasons.append(self._stabilised(desired, stable, current))
        limited = self._limit(stable, current, memory.changes, now_s)
        if limited != stable:
            reasons.append(self._rate_limited(stable, limited, current))
        seen = [*memory.recommendations, (now_s, desired)]
        return Proposal(
            allocation=knowledge.current.with_executors(limited),
            reasons=tuple(reasons),
            memory=self._memorise(memory._replace(recommendations=seen), now_s, current),
        )

    def _recommend(self, evaluation: Evaluation, current: int) -> tuple[int | None, Reason]:
        """The size that the utilisation calls for, before any damping, and why; no size without figures."""
        working = evaluation.working_executors
        young: list[ExecutorEvaluation] = []
        older: list[ExecutorEvaluation] = []
        for executor in working:
            (young if self._is_young(executor) else older).append(executor)
        ready = [_usage(executor, executor.busy) for executor in older if executor.busy is not None]
        missing = [executor for executor in older if executor.busy is None]
        cores = max((executor.cores for executor in working), default=1)
        pending = max(0, evaluation.pending_executors)
        inputs: dict[str, Any] = {
            "current": current,
            "target": self.target,
            "ready": len(ready),
            "not_ready": len(young) + pending,
            "missing": len(missing),
            "leaving": len(evaluation.executors) - len(working),
        }
        if not ready:
            return None, self._without_figures(inputs)
        percent = _percent(ready)
        ratio = self._ratio(percent)
        inputs |= {"utilisation": percent / 100, "ratio": ratio}
        counts_idle = (len(young) + pending > 0) and ratio > 1
        if not counts_idle and not missing:
            if self._tolerates(ratio):
                return current, self._within_tolerance(inputs, percent)
            return _whole(ratio * len(ready)), self._by_ratio(inputs, percent, _whole(ratio * len(ready)))
        usages = list(ready)
        if ratio != 1:
            usages += [_usage(executor, 0.0 if ratio > 1 else max(1.0, self.target)) for executor in missing]
        if counts_idle:
            usages += [_usage(executor, 0.0) for executor in young]
            usages += [_Usage(used=0, offered=1000 * cores)] * pending
        assumed = _percent(usages)
        new_ratio = self._ratio(assumed)
        inputs |= {"assumed_utilisation": assumed / 100, "assumed_ratio": new_ratio, "counted": len(usages)}
        if self._tolerates(new_ratio):
            return current, self._within_tolerance(inputs, assumed)
        size = _whole(new_ratio * len(usages))
        reverses = (ratio < 1 < new_ratio) or (new_ratio < 1 < ratio)
        if reverses or (new_ratio < 1 and size > current) or (new_ratio > 1 and size < current):
            return current, self._direction_unsure(inputs, percent, assumed)
        return size, self._by_ratio(inputs, assumed, size)

    def _is_young(self, executor: ExecutorEvaluation) -> bool:
        return executor.age_s is not None and executor.age_s < self.initialization_s

    def _ratio(self, percent: int) -> float:
        return percent / round(self.target * 100, 6)

    def _tolerates(self, ratio: float) -> bool:
        # The ends belong to the band; without rounding 1.1 would be outside of 0.1 around 1.
        return round(abs(1 - ratio), 9) <= self.tolerance

    def _stabilise(self, desired: int, current: int, earlier: _Recommendations, now_s: float) -> int:
        up_since_s, down_since_s = now_s - self.up_stabilization_s, now_s - self.down_stabilization_s
        recent_up = [size for time_s, size in earlier if time_s > up_since_s]
        recent_down = [size for time_s, size in earlier if time_s > down_since_s]
        least, greatest = min([desired, *recent_up]), max([desired, *recent_down])
        return min(max(current, least), greatest)

    def _limit(self, desired: int, current: int, changes: tuple[SizeChange, ...], now_s: float) -> int:
        if desired > current:
            rules = parse_rules(self.up_rules, where="up_rules")
            return min(desired, upper_limit(current, changes=changes, now_s=now_s, rules=rules, select=self.up_select))
        if desired < current:
            rules = parse_rules(self.down_rules, where="down_rules")
            return max(
                desired, lower_limit(current, changes=changes, now_s=now_s, rules=rules, select=self.down_select)
            )
        return desired

    def _memorise(self, memory: _Memory, now_s: float, current: int) -> Mapping[str, Any]:
        oldest_s = now_s - max(self.up_stabilization_s, self.down_stabilization_s)
        return {
            "time_s": now_s,
            "executors": current,
            "recommendations": [[time_s, size] for time_s, size in memory.recommendations if time_s > oldest_s],
            "changes": [[one.time_s, one.executors] for one in memory.changes if one.time_s > now_s - LONGEST_PERIOD_S],
        }

    def _without_figures(self, inputs: Mapping[str, Any]) -> Reason:
        message = f"executors.busy is unknown for every ready executor, so {inputs['current']} stay"
        return Reason(
            by=self.name, code="missing-metrics", message=message, inputs={**inputs, "needs": list(self.needs)}
        )

    def _within_tolerance(self, inputs: Mapping[str, Any], percent: int) -> Reason:
        message = (
            f"executors are {percent} % busy, within {self.tolerance:.0%} of the target of {self.target:.0%}: "
            f"{inputs['current']} stay"
        )
        return Reason(by=self.name, code="within-tolerance", message=message, inputs=inputs)

    def _direction_unsure(self, inputs: Mapping[str, Any], percent: int, assumed: int) -> Reason:
        message = (
            f"measured executors are {percent} % busy, but {inputs['missing']} without figures and "
            f"{inputs['not_ready']} not ready could make it {assumed} %, which reverses the direction: "
            f"{inputs['current']} stay"
        )
        return Reason(by=self.name, code="direction-unsure", message=message, inputs=inputs)

    def _by_ratio(self, inputs: Mapping[str, Any], percent: int, size: int) -> Reason:
        message = f"executors are {percent} % busy for a target of {self.target:.0%}: {size} would meet it"
        return Reason(by=self.name, code="utilisation-off-target", message=message, inputs={**inputs, "desired": size})

    def _stabilised(self, desired: int, stable: int, current: int) -> Reason:
        window_s, which = (
            (self.down_stabilization_s, "greatest") if desired < stable else (self.up_stabilization_s, "least")
        )
        message = (
            f"{desired} executors are recommended, but the {which} recommendation of the last {window_s:g} s "
            f"makes it {stable}"
        )
        inputs = {"desired": desired, "stabilised": stable, "current": current, "window_s": window_s}
        return Reason(by=self.name, code="stabilised", message=message, inputs=inputs)

    def _rate_limited(self, stable: int, limited: int, current: int) -> Reason:
        rules, select = (self.up_rules, self.up_select) if stable > current else (self.down_rules, self.down_select)
        message = f"{stable} executors are wanted, but the scaling rules ({rules}, {select}) allow {limited} now"
        inputs = {"desired": stable, "limited": limited, "current": current, "rules": rules, "select": select}
        return Reason(by=self.name, code="rate-limited", message=message, inputs=inputs)


def _usage(executor: ExecutorEvaluation, busy: float) -> _Usage:
    offered = 1000 * max(1, executor.cores)
    return _Usage(used=round(min(max(0.0, busy), _MOST_BUSY) * offered), offered=offered)


def _percent(usages: list[_Usage]) -> int:
    """Utilisation in whole percent, cut off, as Kubernetes reckons."""
    return sum(usage.used for usage in usages) * 100 // sum(usage.offered for usage in usages)


def _whole(size: float) -> int:
    """Rounded up, without the float noise that would add an executor."""
    return max(0, math.ceil(round(size, 9)))


def _remember(knowledge: Knowledge, now_s: float) -> _Memory:
    """What the last tick left, with the change of size that followed it."""
    current, memory = knowledge.current.executors, knowledge.memory
    changes = tuple(SizeChange(time_s, size) for time_s, size in _pairs(memory.get("changes")))
    before, time_s = memory.get("executors"), memory.get("time_s")
    if not isinstance(before, int) or not isinstance(time_s, int | float):
        # The first tick: the size that was found counts as recommended, so that nothing shrinks at once.
        return _Memory([(now_s, current)], ())
    if current != before:
        changes = (*changes, SizeChange(time_s, current - before))
    return _Memory(_pairs(memory.get("recommendations")), changes)


def _pairs(value: Any) -> list[tuple[float, int]]:
    """Pairs of time and number; a memory of other origin, which holds anything else, is forgotten."""
    try:
        return [(float(time_s), int(number)) for time_s, number in value]
    except (TypeError, ValueError, OverflowError):
        return []
