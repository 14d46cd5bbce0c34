"""Which size Phoebe picks, given what each would be like (Geldenhuys et al., ICWS 2022, and its published code)."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass

_ALIKE = 0.05
"""Figures that differ by less are the same, and the smaller size is the better one."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Candidate:
    """A size under the load that is foreseen."""

    executors: int
    capacity: float
    recovery_s: float
    latency_s: float
    normal: bool
    """Whether that latency is of the normal class."""

    def is_valid(self, target_s: float) -> bool:
        return self.recovery_s <= target_s and self.normal


@dataclass(frozen=True, slots=True, kw_only=True)
class Pick:
    executors: int
    why: str


def pick(candidates: Sequence[Candidate], *, current: int, growing: bool, target_s: float, spared: int) -> Pick:
    """The smallest valid size; where there is none, the one that recovers or answers fastest, whichever is larger.

    While the load grows, the present size stays as long as it is valid. A size that is smaller by ``spared``
    executors or fewer is not worth a restart.
    """
    valid = [candidate.executors for candidate in candidates if candidate.is_valid(target_s)]
    if not valid:
        fastest = max(
            _least(candidates, lambda candidate: candidate.recovery_s),
            _least(candidates, lambda candidate: candidate.latency_s),
        )
        return Pick(executors=fastest, why="nothing-fits")
    if current in valid and growing:
        return Pick(executors=current, why="fits-while-growing")
    best = min(valid)
    if best == current:
        return Pick(executors=current, why="fits-already")
    if current - spared <= best < current:
        return Pick(executors=current, why="not-worth-a-restart")
    return Pick(executors=best, why="fits")


def _least(candidates: Sequence[Candidate], figure: Callable[[Candidate], float]) -> int:
    """The smallest size whose figure is as good as the best; the largest size if all are without bound."""
    least = min(figure(candidate) for candidate in candidates)
    if math.isinf(least):
        return max(candidate.executors for candidate in candidates)
    return min(candidate.executors for candidate in candidates if figure(candidate) <= least * (1 + _ALIKE))
