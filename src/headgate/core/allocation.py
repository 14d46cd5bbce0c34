"""How big an app is, or should be.

One value says all that any scaler decides: how many executors (or on which named nodes), how
parallel each operator, and which partitions each consumer reads. A dimension that a scaler does
not decide stays empty, and applying an allocation leaves it as it is.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from enum import StrEnum

from headgate.errors import UserMistake


class Dimension(StrEnum):
    """What can be scaled."""

    EXECUTORS = "executors"
    NODES = "nodes"
    PARALLELISM = "parallelism"
    ASSIGNMENT = "assignment"


@dataclass(frozen=True, slots=True, kw_only=True)
class Allocation:
    """Complete desired or observed state of an app.

    >>> Allocation(executors=3).with_executors(5)
    Allocation(executors=5, nodes=(), parallelism={}, assignment={})
    """

    executors: int
    nodes: tuple[str, ...] = ()
    """Names of the nodes to run on, one executor each, where the place matters; else empty."""
    parallelism: Mapping[str, int] = field(default_factory=dict)
    """Instances per operator, for operators whose parallelism is decided."""
    assignment: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    """Partitions per consumer, for consumer groups."""

    def __post_init__(self) -> None:
        if self.executors < 0:
            raise UserMistake(f"an allocation of {self.executors} executors is not possible; give 0 or more")
        if self.nodes and len(self.nodes) != self.executors:
            raise UserMistake(
                f"an allocation names {len(self.nodes)} nodes for {self.executors} executors; name one each"
            )

    def with_executors(self, executors: int) -> Allocation:
        """The same with another number of executors; named nodes are kept as far as they reach."""
        if executors == self.executors:
            return self
        return replace(self, executors=executors, nodes=() if len(self.nodes) < executors else self.nodes[:executors])


@dataclass(frozen=True, slots=True)
class Bounds:
    """The least and the most executors that an app may have.

    >>> Bounds(1, 12).clamp(30)
    12
    """

    least: int
    most: int

    def __post_init__(self) -> None:
        if self.least < 0 or self.most < 0:
            raise UserMistake(f"executors={self.least}..{self.most}: bounds cannot be negative; give numbers from 1 up")
        if self.most < 1:
            raise UserMistake(f"executors={self.least}..{self.most}: the upper bound must be at least 1")
        if self.least > self.most:
            raise UserMistake(f"executors={self.least}..{self.most}: the lower bound is above the upper one; swap them")

    def clamp(self, executors: int) -> int:
        return max(self.least, min(self.most, executors))

    def __contains__(self, executors: int) -> bool:
        return self.least <= executors <= self.most
