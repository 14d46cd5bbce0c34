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
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from itertools import starmap
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
    """What some executors use and offer together, in thousandths of a core."""

    used: int
    offered: int

    @classmethod
    def of(cls, executors: Iterable[ExecutorEvaluation], *, assumed: float | None = None) -> _Usage:
        """As measured, or with the same share assumed for each."""
        used = offered = 0
        for executor in executors:
            busy = executor.busy if assumed is None else assumed
            cores = 1000 * max(1, executor.cores)
            used += round(min(max(0.0, busy or 0.0), _MOST_BUSY) * cores)
            offered += cores
        return cls(used, offered)

    def plus(self, other: _Usage) -> _Usage:
        return _Usage(self.used + other.used, self.offered + other.offered)

    @property
    def percent(self) -> int:
        """Utilisation in whole percent, cut off, as Kubernetes reckons."""
        return self.used * 100 // self.offered


_Pairs = list[tuple[float, int]]
"""Times and numbers of executors, oldest first."""


class _Memory(NamedTuple):
    recommendations: _Pairs
    """Sizes that were recommended, before any damping."""
    changes: _Pairs
    """By how many the size changed."""


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
        missing: list[ExecutorEvaluation] = []
        ready: list[ExecutorEvaluation] = []
        for executor in working:
            if executor.age_s is not None and executor.age_s < self.initialization_s:
                young.append(executor)
            elif executor.busy is None:
                missing.append(executor)
            else:
                ready.append(executor)
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
        usage = _Usage.of(ready)
        percent = usage.percent
        ratio = self._ratio(percent)
        inputs |= {"utilisation": percent / 100, "ratio": ratio}
        counts_idle = (len(young) + pending > 0) and ratio > 1
        if not counts_idle and not missing:
            if self._tolerates(ratio):
                return current, self._within_tolerance(inputs, percent)
            size = _whole(ratio * len(ready))
            return size, self._by_ratio(inputs, percent, size)
        counted = len(ready)
        if ratio != 1:
            usage = usage.plus(_Usage.of(missing, assumed=0.0 if ratio > 1 else max(1.0, self.target)))
            counted += len(missing)
        if counts_idle:
            cores = max(executor.cores for executor in working)
            usage = usage.plus(_Usage.of(young, assumed=0.0)).plus(_Usage(used=0, offered=1000 * cores * pending))
            counted += len(young) + pending
        assumed = usage.percent
        new_ratio = self._ratio(assumed)
        inputs |= {"assumed_utilisation": assumed / 100, "assumed_ratio": new_ratio, "counted": counted}
        if self._tolerates(new_ratio):
            return current, self._within_tolerance(inputs, assumed)
        size = _whole(new_ratio * counted)
        reverses = (ratio < 1 < new_ratio) or (new_ratio < 1 < ratio)
        if reverses or (new_ratio < 1 and size > current) or (new_ratio > 1 and size < current):
            return current, self._direction_unsure(inputs, percent, assumed)
        return size, self._by_ratio(inputs, assumed, size)

    def _ratio(self, percent: int) -> float:
        return percent / round(self.target * 100, 6)

    def _tolerates(self, ratio: float) -> bool:
        # The ends belong to the band; without rounding 1.1 would be outside of 0.1 around 1.
        return round(abs(1 - ratio), 9) <= self.tolerance

    def _stabilise(self, desired: int, current: int, earlier: _Pairs, now_s: float) -> int:
        up_since_s, down_since_s = now_s - self.up_stabilization_s, now_s - self.down_stabilization_s
        least = greatest = desired
        for time_s, size in earlier:
            if time_s > up_since_s and size < least:
                least = size
            if time_s > down_since_s and size > greatest:
                greatest = size
        return min(max(current, least), greatest)

    def _limit(self, desired: int, current: int, earlier: _Pairs, now_s: float) -> int:
        if desired == current:
            return desired
        changes = tuple(starmap(SizeChange, earlier))
        if desired > current:
            rules = parse_rules(self.up_rules, where="up_rules")
            return min(desired, upper_limit(current, changes=changes, now_s=now_s, rules=rules, select=self.up_select))
        rules = parse_rules(self.down_rules, where="down_rules")
        return max(desired, lower_limit(current, changes=changes, now_s=now_s, rules=rules, select=self.down_select))

    def _memorise(self, memory: _Memory, now_s: float, current: int) -> Mapping[str, Any]:
        oldest_s = now_s - max(self.up_stabilization_s, self.down_stabilization_s)
        oldest_change_s = now_s - LONGEST_PERIOD_S
        return {
            "time_s": now_s,
            "executors": current,
            "recommendations": [[time_s, size] for time_s, size in memory.recommendations if time_s > oldest_s],
            "changes": [[time_s, executors] for time_s, executors in memory.changes if time_s > oldest_change_s],
        }

    def _without_figures(self, inputs: Mapping[str, Any]) -> Reason:
        message = f"executors.busy is unknown for every ready executor, so {inputs['current']} stay"
        if inputs["not_ready"] and not inputs["missing"]:
            message = f"no executor is {self.initialization_s:g} s old yet, so {inputs['current']} stay"
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


def _whole(size: float) -> int:
    """Rounded up, without the float noise that would add an executor."""
    return max(0, math.ceil(round(size, 9)))


def _remember(knowledge: Knowledge, now_s: float) -> _Memory:
    """What the last tick left, with the change of size that followed it."""
    current, memory = knowledge.current.executors, knowledge.memory
    before, time_s = memory.get("executors"), memory.get("time_s")
    if not isinstance(before, int) or not isinstance(time_s, int | float):
        # The first tick: the size that was found counts as recommended, so that nothing shrinks at once.
        return _Memory([(now_s, current)], [])
    changes = _pairs(memory.get("changes"))
    if current != before:
        changes.append((time_s, current - before))
    return _Memory(_pairs(memory.get("recommendations")), changes)


def _pairs(value: Any) -> _Pairs:
    """Pairs of time and number; a memory of other origin, which holds anything else, is forgotten."""
    try:
        return [(float(time_s), int(number)) for time_s, number in value]
    except (TypeError, ValueError, OverflowError):
        return []
