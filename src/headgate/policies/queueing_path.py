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
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, ClassVar

from headgate.core.decision import Proposal, Reason
from headgate.core.evaluation import Evaluation
from headgate.core.knowledge import Knowledge
from headgate.core.options import option
from headgate.policies.instances import OperatorPolicy
from headgate.policies.stations import NEEDS, USES, KnownStation, stations

Path = tuple[str, ...]

MOST_PATHS = 5000


@dataclass(frozen=True, slots=True, kw_only=True)
class QueueingPath(OperatorPolicy):
    """A mean response time for every way through the app."""

    name: ClassVar[str] = "queueing-path"
    needs: ClassVar[tuple[str, ...]] = NEEDS
    uses: ClassVar[tuple[str, ...]] = USES

    response_s: float = option(1.0, "mean time in which a record should be through each path (R_max)", above=0)
    alpha: float = option(0.5, "share of it below which a path has an instance too many", above=0, most=1)

    def decide(self, evaluation: Evaluation, knowledge: Knowledge) -> Proposal:
        known = stations(evaluation, knowledge)
        if not known:
            return self.held(knowledge, " or ".join(self.needs))
        edges = tuple((operator.name, operator.upstream) for operator in evaluation.operators)
        times = {name: station.response_s() for name, station in known.items()}
        paths = [tuple(name for name in path if name in known) for path in paths_through(edges)]
        plan = _Plan(self, known, times, [path for path in paths if path])
        plan.grow()
        plan.shrink()
        notes = self.unknown([each.name for each in evaluation.operators if each.name not in known], self.needs[1])
        slowest = max((plan.time_s(path) for path in plan.paths), default=0.0)
        message = f"the slowest of {len(plan.paths)} paths takes {_told(slowest)}, {self.response_s:g} s are wanted"
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
    """Instances of each operator, on their way from what is to what should be."""

    def __init__(
        self,
        policy: QueueingPath,
        known: Mapping[str, KnownStation],
        times: Mapping[str, float],
        paths: Sequence[Path],
    ) -> None:
        self._policy = policy
        self._known = known
        self._times = times
        self.paths = paths
        self.wanted = {name: station.instances for name, station in known.items()}
        self.notes: list[Reason] = []
        self._path_s = [sum(times[name] for name in path) for path in paths]

    def time_s(self, path: Path) -> float:
        return sum(self._times[name] for name in path)

    def grow(self) -> None:
        """One more for the slowest operator of each path that is too slow; one, however many paths ask for it."""
        limit_s = self._policy.response_s
        asked: set[str] = set()
        out_of_reach: set[str] = set()
        for path, path_s in zip(self.paths, self._path_s, strict=True):
            if path_s <= limit_s:
                continue
            could = [name for name in path if self.wanted[name] < self._policy.most(self._known[name].operator)]
            floor_s = sum(self._known[name].floor_s for name in path)
            if floor_s >= limit_s:
                out_of_reach.add(" → ".join(path))
                could = [name for name in could if self._makes_wait(name)]
            if could:
                asked.add(max(could, key=lambda name: self._times[name]))
        for name in sorted(asked):
            self.wanted[name] += 1
        if out_of_reach:
            first = min(out_of_reach)
            message = (
                f"{len(out_of_reach)} of {len(self.paths)} paths, as {first}, are beyond {limit_s:g} s with any number "
                "of instances, by the work on a record and the wait for its batches alone"
            )
            inputs: dict[str, Any] = {"paths": len(out_of_reach), "example": first, "response_s": limit_s}
            self.notes.append(Reason(by=self._policy.name, code="out-of-reach", message=message, inputs=inputs))

    def _makes_wait(self, name: str) -> bool:
        station = self._known[name].station
        return station.response_s(self.wanted[name]) > 2 / station.service_rate

    def shrink(self) -> None:
        """One fewer for the fastest operator of each path that has time to spare, if all its paths can do without."""
        low_s, limit_s = self._policy.alpha * self._policy.response_s, self._policy.response_s
        slowest_s: dict[str, float] = {}
        for path, path_s in zip(self.paths, self._path_s, strict=True):
            for name in path:
                slowest_s[name] = max(slowest_s.get(name, 0.0), path_s)
        spared: set[str] = set()
        for path, path_s in zip(self.paths, self._path_s, strict=True):
            if path_s >= low_s or any(name in spared for name in path):
                continue
            could = [name for name in path if self._can_spare(name, slowest_s[name], low_s=low_s, limit_s=limit_s)]
            if could:
                spared.add(min(could, key=lambda name: self._times[name]))
        for name in spared:
            self.wanted[name] -= 1

    def _can_spare(self, name: str, slowest_s: float, *, low_s: float, limit_s: float) -> bool:
        known = self._known[name]
        if self.wanted[name] < 2 or self.wanted[name] != known.instances or slowest_s >= low_s:
            return False
        return slowest_s + known.response_s(known.instances - 1) - self._times[name] <= limit_s


@lru_cache(maxsize=32)
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
