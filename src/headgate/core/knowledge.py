"""What the loop knows besides the present evaluation: the K of MAPE-K, as a value.

Policies and guards are pure functions of an evaluation and this. Everything in it is kept in the
journal, so that a controller that comes back, and a replay, know the same.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any

from headgate.core.allocation import Allocation, Bounds, Dimension
from headgate.core.decision import Levers, Tick
from headgate.core.graph import Graph


class Engine(StrEnum):
    MICRO_BATCH = "micro-batch"
    CONTINUOUS = "continuous"


@dataclass(frozen=True, slots=True, kw_only=True)
class AppDescription:
    """What is fixed about an app while it runs, and where a controller that comes to it starts from."""

    app: str
    engine: Engine
    bounds: Bounds
    graph: Graph = field(default_factory=lambda: Graph(()))
    cores_per_executor: int = 1
    scales: frozenset[Dimension] = frozenset({Dimension.EXECUTORS})
    """The dimensions in which this app can be scaled."""
    seamless: bool = True
    """Whether a change of size leaves the stream running."""
    cluster: str = ""
    """The cluster manager, for people."""
    executors: int | None = None
    """How many executors the agent is held to at present; ``None`` before it knows."""
    newest_epoch: int = 0
    """The newest controller epoch that the agent has obeyed."""
    size_limit: int | None = None
    """The most executors that the cluster can give, where it is known."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Knowledge:
    description: AppDescription
    current: Allocation
    """The target that the agent is held to: the last one granted, or what was there at the start."""
    memory: Mapping[str, Any] = field(default_factory=dict)
    """What the policy put into its last proposal."""
    delivered: Mapping[str, Any] | None = None
    """What the policy's last training has brought in since the tick before; ``{"problem": "…"}`` if it failed."""
    history: tuple[Tick, ...] = ()
    """Recent ticks, oldest first, as far back as policy and guards look."""
    levers: Levers = field(default_factory=Levers)
    started_s: float = 0.0
    now_s: float | None = None
    """When it is being decided; also known when there is no evaluation."""

    @property
    def bounds(self) -> Bounds:
        return self.description.bounds
