"""What an app can carry on each number of executors, learned from how busy each executor is at which throughput.

Daedalus (Pfister et al., ICPE 2024, section 3.1). For each executor, by updates in one pass and without history:

    capacity(CPU) = mean(Y) − slope · mean(X) + slope · CPU        X = CPU share, Y = throughput, slope = cov ÷ var(X)

An executor only gets its part of the keys, so it never comes further than its proportion to the busiest one: its
capacity is that of the line at CPU ÷ greatest CPU. The capacity of the present size is the sum over its executors;
of a size that was seen, what was estimated there while it ran; of any other, the average executor times the size.

With micro-batches the line at full CPU is not what can be carried. Each batch has costs of its own, of the driver's and
of every task's, and the more there is to do, the longer batches get and the fewer such costs there are. So there the
line is drawn through single batches, task time over records (these are exact), and followed to a batch of
``longest_batch_s``, in which an executor works for as much of the time as it does while a batch's tasks run: executors
wait for the last task of a stage, also under full load. The proportion is then that of the records, not of CPU: what
tasks cost by themselves evens out how busy executors are in short batches, and hardly counts in long ones.

What the paper leaves open, and what is done here:

- An executor whose line says nothing (one point, CPU always the same, or throughput that falls with CPU) is judged by
  the paper's quick estimate, throughput ÷ CPU. That is also where a line leads that was drawn too low: no executor
  carries less than it did.
- An executor that did nothing, has finished nothing yet (its micro-batch is still running), or is younger than
  ``ignored_s``, counts as an average one.
- What was seen of a size is forgotten after ``remembered_s``, since nodes and streams change. With micro-batches it is
  only remembered once there was a line: throughput ÷ CPU is little more than what was carried just then, of a stream
  that has just begun as well.
- The proportion of the latest points counts, not that of all since the start, because keys move when the size
  changes. (The authors' code takes 1 − (greatest mean CPU − own mean CPU); the text says proportion.)
"""

from __future__ import annotations

import math
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from functools import partial
from itertools import compress
from typing import Any, Self

from headgate.core.evaluation import CoursePoint
from headgate.models.moments import PairMoments

_SURE = 1.96
"""Standard errors to each side that hold the true value in 19 of 20 cases."""
_LEAST_DEVIATION = 0.002
"""CPU shares that vary less than this are all the same: what varies is how they are measured."""
_LEAST_CPU = 0.01
"""An executor that is less busy says nothing about what it could do."""
LONGEST_BATCH_S = 10.0
"""How long batches may get, unless something else is said."""
_AS_FAR = 1.05
"""Executors that could do up to so many times more than those at their limits first are at theirs as well."""
_POOR_LINE = 0.2
"""Standard error of a line through batches, as a share of its value, from which on it says nothing: batches of one size
have no line."""


class Basis(StrEnum):
    """Where an estimate comes from, the surest first."""

    REGRESSION = "regression"
    RATIO = "ratio"
    """Throughput ÷ CPU, where no line can be drawn."""
    OBSERVED = "observed"
    """Estimated when the app last had this size."""
    AVERAGE = "average"
    """The average executor of the present size, times the size."""


@dataclass(frozen=True, slots=True, kw_only=True)
class CapacityEstimate:
    """Records per second that some executors can carry together."""

    executors: int
    rate: float
    basis: Basis
    low: float | None = None
    high: float | None = None
    """Between these it is in 19 of 20 cases; unknown without a line."""
    points: int = 0
    """Observations behind it."""

    @property
    def confidence(self) -> float | None:
        """1 when it is exact, 0 when it may just as well be nothing."""
        if self.low is None or self.rate <= 0:
            return None
        return max(0.0, min(1.0, self.low / self.rate))


_UNKNOWN = -1.0


@dataclass(slots=True)
class _Executor:
    line: PairMoments = field(default_factory=PairMoments)
    cpu: float = 0.0
    """Of the latest points, on average."""
    rate: float = 0.0
    in_batches: bool = False
    working: float = _UNKNOWN
    """Share of the time in which tasks ran on any executor."""


@dataclass(slots=True)
class CapacityModel:
    """Executors by name, and what was seen of each size."""

    ignored_s: float = 120.0
    """Seconds after the start of an executor in which it is not what it will be."""
    longest_batch_s: float = LONGEST_BATCH_S
    """With micro-batches, what is carried in batches of that length. The longer they may get, the less their own costs
    count: in batches of half a minute it is about the most that can be carried at all."""
    remembered_s: float = 6 * 3600.0
    _executors: dict[str, _Executor] = field(default_factory=dict)
    _seen: dict[int, tuple[float, float]] = field(default_factory=dict)
    """Time and rate by size."""
    _average: float | None = None
    """Of an executor, when that was last known: a stream that stands still tells nothing new."""

    def learn(self, executor: str, points: Sequence[CoursePoint], *, age_s: float | None = None) -> None:
        """What an executor did, oldest first; ``age_s`` is its age at the last of it."""
        if age_s is not None and age_s < self.ignored_s:
            return
        usable = [point for point in points if all(each is None or 0 <= each < math.inf for each in point)]
        if not usable:
            return
        known = self._executors.setdefault(executor, _Executor())
        for cpu, rate, batches_per_s, _ in usable:
            if batches_per_s:
                known.line.learn(rate / batches_per_s, cpu / batches_per_s)
            elif batches_per_s is None:
                known.line.learn(cpu, rate)
        known.in_batches = usable[-1].batches_per_s is not None
        known.cpu = sum(point.busy for point in usable) / len(usable)
        known.rate = sum(point.rate for point in usable) / len(usable)
        working = [point.working for point in usable if point.working is not None]
        known.working = sum(working) / len(working) if len(working) == len(usable) else _UNKNOWN

    def retain(self, executors: Collection[str]) -> None:
        """Forget executors that have left."""
        self._executors = {name: known for name, known in self._executors.items() if name in executors}

    def observe(self, executors: int, time_s: float) -> CapacityEstimate | None:
        """The capacity of the present size, and remember it as seen; ``None`` as long as nothing is known."""
        estimate = self.present(executors)
        in_batches = any(known.in_batches for known in self._executors.values())
        if estimate is not None and (estimate.basis is Basis.REGRESSION or not in_batches):
            self._seen[executors] = (time_s, estimate.rate)
            self._average = estimate.rate / executors
        return estimate

    def present(self, executors: int) -> CapacityEstimate | None:
        """What the present executors can carry; those without figures count as average ones."""
        busiest = max((known.cpu for known in self._executors.values()), default=0.0)
        if busiest < _LEAST_CPU:
            return None
        found = [(known, part) for known in self._executors.values() if (part := self._part(known, busiest))]
        if not found or executors < 1:
            return None
        parts = _all_as_far(found)
        # An executor that left a moment ago may still have figures.
        share = executors / len(parts)
        rate = share * sum(part.rate for part in parts)
        errors = [part.error for part in parts if part.error is not None]
        known = len(errors) == len(parts)
        away = _SURE * share * math.sqrt(sum(error * error for error in errors))
        return CapacityEstimate(
            executors=executors,
            rate=rate,
            basis=Basis.REGRESSION if known else Basis.RATIO,
            low=max(0.0, rate - away) if known else None,
            high=rate + away if known else None,
            points=sum(part.points for part in parts),
        )

    def _part(self, known: _Executor, busiest: float) -> _Part | None:
        """What one executor adds."""
        if known.cpu < _LEAST_CPU or known.rate <= 0:
            return None
        beside = known.working if known.working > 0 else busiest
        reach, line = known.cpu / max(beside, known.cpu), known.line
        quick = known.rate / known.cpu * reach
        if known.in_batches:
            drawn = _in_batches(line, busiest / max(beside, busiest), self.longest_batch_s)
        else:
            drawn = _in_seconds(line, reach)
        if drawn is None:
            return _Part(quick, None, line.count)
        rate, error = drawn
        return _Part(max(rate, known.rate), error, line.count)

    def at(self, executors: int, *, current: int, time_s: float) -> CapacityEstimate | None:
        """What any size can carry, as far as it is known at the current one."""
        return self.sizes(current=current, time_s=time_s)(executors)

    def sizes(self, *, current: int, time_s: float) -> Callable[[int], CapacityEstimate | None]:
        """The same for many sizes, with one look at the executors."""
        return partial(self._at, present=self.present(current), current=current, time_s=time_s)

    def _at(
        self, executors: int, *, present: CapacityEstimate | None, current: int, time_s: float
    ) -> CapacityEstimate | None:
        if executors == current and present is not None:
            return present
        seen = self._seen.get(executors)
        if seen is not None and time_s - seen[0] <= self.remembered_s:
            return CapacityEstimate(executors=executors, rate=seen[1], basis=Basis.OBSERVED)
        if present is None:
            if self._average is None:
                return None
            return CapacityEstimate(executors=executors, rate=self._average * executors, basis=Basis.AVERAGE)
        scale = executors / current
        return CapacityEstimate(
            executors=executors,
            rate=present.rate * scale,
            basis=Basis.AVERAGE,
            low=None if present.low is None else present.low * scale,
            high=None if present.high is None else present.high * scale,
            points=present.points,
        )

    @property
    def state(self) -> dict[str, Any]:
        return {
            "executors": {
                name: [*known.line.state, known.cpu, known.rate, int(known.in_batches), known.working]
                for name, known in self._executors.items()
            },
            "seen": {str(size): [time_s, rate] for size, (time_s, rate) in self._seen.items()},
            "average": self._average,
        }

    @classmethod
    def restored(cls, state: Any, *, ignored_s: float = 120.0, longest_batch_s: float = LONGEST_BATCH_S) -> Self:
        """As it was; what is no state is left out."""
        model = cls(ignored_s=ignored_s, longest_batch_s=longest_batch_s)
        if not isinstance(state, Mapping):
            return model
        for name, numbers in _items(state.get("executors"), 10):
            line, (cpu, rate, in_batches, working) = PairMoments.restored(numbers[:6]), numbers[6:]
            model._executors[name] = _Executor(line, cpu, rate, bool(in_batches), working)
        for size, numbers in _items(state.get("seen"), 2):
            if size.isdigit():
                model._seen[int(size)] = (numbers[0], numbers[1])
        average = state.get("average")
        if isinstance(average, int | float) and math.isfinite(average) and average >= 0:
            model._average = float(average)
        return model


@dataclass(frozen=True, slots=True)
class _Part:
    """One executor's part of a capacity."""

    rate: float
    error: float | None
    points: int


def _all_as_far(found: Sequence[tuple[_Executor, _Part]]) -> list[_Part]:
    """With micro-batches, as many times of what each does at present as those could that are at their limits first.

    They all get their parts of the records, and a batch has ended when the last of them is done.
    """
    further, at_most = [], []
    for known, part in found:
        drawn = known.in_batches and part.error is not None
        further.append(part.rate / known.rate if drawn else math.inf)
        at_most.append((part.rate + _SURE * (part.error or 0.0)) / known.rate if drawn else math.inf)
    # Lines are not exact: whoever may be at the limit counts, or the one that was drawn lowest by chance would.
    first = max(_AS_FAR * min(further), min(at_most))
    limiting = [each <= first < math.inf for each in further]
    theirs = sum(known.rate for known, _ in compress(found, limiting))
    if not theirs:
        return [part for _, part in found]
    factor = sum(part.rate for _, part in compress(found, limiting)) / theirs
    spread = sum(known.rate for known, _ in found) / theirs
    return [
        _Part(known.rate * factor, part.error and part.error * spread * limits, part.points)
        for (known, part), limits in zip(found, limiting, strict=True)
    ]


def _in_seconds(line: PairMoments, reach: float) -> tuple[float, float | None] | None:
    """Throughput where CPU comes to what can be reached, and its standard error."""
    rate = line.at(reach)
    if rate is None or line.deviation_x < _LEAST_DEVIATION or (line.slope or 0.0) <= 0:
        return None
    return rate, line.error_at(reach)


def _in_batches(line: PairMoments, reach: float, batch_s: float) -> tuple[float, float | None] | None:
    """The same of a batch of some length; ``None`` also where all batches were about the same."""
    slope, records = line.slope, line.where(batch_s * reach)
    if slope is None or slope <= 0 or records is None:
        return None
    away_s = line.error_at(records)
    if away_s is None or away_s > _POOR_LINE * batch_s * reach:
        return None
    return records / batch_s, away_s / slope / batch_s


def _items(state: Any, length: int) -> list[tuple[str, list[float]]]:
    if not isinstance(state, Mapping):
        return []
    found = []
    for name, numbers in state.items():
        if isinstance(numbers, Sequence) and not isinstance(numbers, str) and len(numbers) == length:
            try:
                values = [float(number) for number in numbers]
            except (TypeError, ValueError, OverflowError):
                continue
            if all(map(math.isfinite, values)):
                found.append((str(name), values))
    return found
