"""One instance more where a path through the graph is too slow, one fewer where it is much too fast.

Source: Russo Russo, Schiazza and Cardellini, "Elastic Pulsar Functions for Distributed Stream Processing", ICPE
Companion 2021, section 4.2.2. With T^π the sum of the response times of a path's operators (``models.queueing``):

    T^π > R_max: +1 for the slowest operator of the path        T^π < α R_max: −1 for its fastest with several instances

and nothing in between. α is not printed; 0.5 here. Of the slowest, only those count that may have another instance.

What the paper leaves open: an operator on several paths is scaled in only if each of them can do without: below α R_max
now and within R_max afterwards, and never while another path asks for more of it. A path that is beyond R_max
with any number of instances, by the work on a record and the wait for its batches alone, is said and not chased: its
operators are only kept from making records wait for longer than they are worked on. Where a graph has more than
``MOST_PATHS`` ways, one through each operator is looked at.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from headgate.core.decision import Proposal, Reason
from headgate.core.evaluation import Evaluation
from headgate.core.knowledge import Knowledge
from headgate.core.options import option
from headgate.policies.instances import OperatorPolicy
from headgate.policies.stations import NEEDS, USES, KnownStation, stations

Path = tuple[str, ...]
Series = NDArray[np.float64]
Numbers = NDArray[np.intp]

MOST_PATHS = 5000


@dataclass(frozen=True, slots=True, kw_only=True)
class QueueingPath(OperatorPolicy):
    """A mean response time for every way through the app."""

    name: ClassVar[str] = "queueing-path"
    needs: ClassVar[tuple[str, ...]] = NEEDS
    likes: ClassVar[tuple[str, ...]] = USES

    response_s: float = option(1.0, "mean time in which a record should be through each path (R_max)", above=0)
    alpha: float = option(0.5, "share of it below which a path has an instance too many", above=0, most=1)

    def plan(self, evaluation: Evaluation, knowledge: Knowledge) -> Proposal:
        known = stations(evaluation, knowledge)
        if not known:
            return self.held(knowledge, " or ".join(self.needs))
        ways = ways_through(tuple((operator.name, operator.upstream) for operator in evaluation.operators))
        plan = _Plan(self, known, ways)
        plan.grow()
        plan.shrink()
        notes = self.unknown([each.name for each in evaluation.operators if each.name not in known], self.needs[1])
        slowest_s = float(plan.path_s.max(initial=0.0))
        message = f"the slowest of {len(plan.path_s)} paths takes {_told(slowest_s)}, {self.response_s:g} s are wanted"
        return self.wanting(
            plan.wanted,
            evaluation,
            knowledge,
            code="response-per-path",
            message=message,
            figures={name: station.figures for name, station in known.items()},
            notes=[*notes, *plan.notes],
        )


class _Plan:
    """Instances of each operator, on their way from what is to what should be.

    Paths are rows of operators' numbers, so that a thousand of them are looked at together.
    """

    def __init__(self, policy: QueueingPath, known: Mapping[str, KnownStation], ways: Ways) -> None:
        self._policy = policy
        self._known = known
        self._ways = ways
        self._times = self._each(lambda station: station.response_s())
        self.path_s = self._sums(self._times)
        self.wanted = {name: station.instances for name, station in known.items()}
        self.notes: list[Reason] = []

    def _each(self, figure: Callable[[KnownStation], float], *, otherwise: float = 0.0) -> Series:
        """A figure of every operator, and of none at all, with which short paths are filled up."""
        found = [figure(self._known[name]) if name in self._known else otherwise for name in self._ways.operators]
        return np.array([*found, otherwise])

    def _sums(self, figures: Series) -> Series:
        total: Series = figures[self._ways.rows].sum(axis=1)
        return total

    def grow(self) -> None:
        """One more for the slowest operator of each path that is too slow; one, however many paths ask for it."""
        limit_s = self._policy.response_s
        too_slow = np.flatnonzero(self.path_s > limit_s)
        if not too_slow.size:
            return
        free = (
            self._each(lambda known: known.operator.scalable and self._policy.most(known.operator) > known.instances)
            > 0
        )
        waiting = free & (self._each(lambda known: _makes_wait(known)) > 0)
        out_of_reach = self._sums(self._each(lambda known: known.floor_s))[too_slow] >= limit_s
        rows = self._ways.rows[too_slow]
        could = np.where(out_of_reach[:, None], waiting[rows], free[rows])
        times = np.where(could, self._times[rows], -1.0)
        slowest = rows[np.arange(len(rows)), times.argmax(axis=1)]
        for number in np.unique(slowest[could.any(axis=1)]).tolist():
            self.wanted[self._ways.operators[number]] += 1
        if out_of_reach.any():
            self._note(int(out_of_reach.sum()), rows[int(out_of_reach.argmax())])

    def _note(self, paths: int, row: Numbers) -> None:
        names = [self._ways.operators[number] for number in row.tolist() if number < len(self._ways.operators)]
        example, limit_s = " → ".join(names), self._policy.response_s
        message = (
            f"{paths} of {len(self.path_s)} paths, as {example}, are beyond {limit_s:g} s with any number of instances"
            ", by the work on a record and the wait for its batches alone"
        )
        inputs: dict[str, Any] = {"paths": paths, "example": example, "response_s": limit_s}
        self.notes.append(Reason(by=self._policy.name, code="out-of-reach", message=message, inputs=inputs))

    def shrink(self) -> None:
        """One fewer for the fastest operator of each path that has time to spare, if all its paths can do without."""
        low_s = self._policy.alpha * self._policy.response_s
        spared_by = self.path_s < low_s
        if not spared_by.any():
            return
        rows = self._ways.rows
        slowest_s = np.zeros(len(self._times))
        # In ascending order, so that the slowest path of each operator is the last to be written.
        for row in np.argsort(self.path_s).tolist():
            slowest_s[rows[row]] = self.path_s[row]
        spare = np.array(
            [
                *(
                    self._can_spare(name, float(slowest_s[number]), low_s=low_s)
                    for number, name in enumerate(self._ways.operators)
                ),
                False,
            ]
        )
        times = np.where(spare, self._times, np.inf)[rows]
        fastest = rows[np.arange(len(rows)), times.argmin(axis=1)]
        spared_by &= spare[rows].any(axis=1)
        for row in np.flatnonzero(spared_by).tolist():
            if spared_by[row]:
                number = int(fastest[row])
                self.wanted[self._ways.operators[number]] -= 1
                spared_by &= ~(rows == number).any(axis=1)

    def _can_spare(self, name: str, slowest_s: float, *, low_s: float) -> bool:
        known = self._known.get(name)
        if (
            known is None
            or not known.operator.scalable
            or known.instances < 2
            or self.wanted[name] != known.instances
            or slowest_s >= low_s
        ):
            return False
        after_s = slowest_s + known.response_s(known.instances - 1) - known.response_s()
        return after_s <= self._policy.response_s


def _makes_wait(known: KnownStation) -> bool:
    return known.station.response_s(known.instances) > 2 / known.station.service_rate


@dataclass(frozen=True, slots=True, eq=False)
class Ways:
    """All paths through a graph."""

    operators: tuple[str, ...]
    rows: Numbers
    """Numbers of the operators of each path; shorter ones are filled up with a number beyond all."""


@lru_cache(maxsize=32)
def ways_through(edges: tuple[tuple[str, tuple[str, ...]], ...]) -> Ways:
    operators, paths = tuple(name for name, _ in edges), paths_through(edges)
    numbers = {name: number for number, name in enumerate(operators)}
    rows = np.full((len(paths), max(map(len, paths), default=0)), len(operators), dtype=np.intp)
    for row, path in enumerate(paths):
        rows[row, : len(path)] = [numbers[name] for name in path]
    return Ways(operators, rows)


def paths_through(edges: tuple[tuple[str, tuple[str, ...]], ...]) -> tuple[Path, ...]:
    """Every way from a source to a sink; where there are too many, one through each operator.

    >>> paths_through((("a", ()), ("b", ("a",)), ("c", ("a",)), ("d", ("b", "c"))))
    (('a', 'b', 'd'), ('a', 'c', 'd'))
    """
    names = {name for name, _ in edges}
    upstream = {name: tuple(each for each in before if each in names) for name, before in edges}
    after: dict[str, list[str]] = {name: [] for name in upstream}
    for name, before in upstream.items():
        for each in before:
            after[each].append(name)
    complete: list[Path] = []
    unfinished: list[Path] = [(name,) for name, before in upstream.items() if not before]
    while unfinished:
        path = unfinished.pop()
        following = [name for name in after[path[-1]] if name not in path]
        if not following:
            complete.append(path)
        if len(complete) > MOST_PATHS:
            return tuple(sorted({_longest(name, upstream, after) for name in upstream}))
        unfinished.extend((*path, name) for name in following)
    return tuple(sorted(complete))


def _longest(name: str, upstream: Mapping[str, Sequence[str]], after: Mapping[str, Sequence[str]]) -> Path:
    """One of the ways through an operator."""
    path = [name]
    while before := [each for each in upstream[path[0]] if each not in path]:
        path.insert(0, before[0])
    while following := [each for each in after[path[-1]] if each not in path]:
        path.append(following[0])
    return tuple(path)


def _told(seconds: float) -> str:
    return f"{seconds:.2g} s" if math.isfinite(seconds) else "for ever"
