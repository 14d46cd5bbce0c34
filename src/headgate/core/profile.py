"""What profiling runs have shown of an app: how it fares on several sizes, under several loads, and when it fails.

Written by ``headgate profile``, read by policies that decide from it (``phoebe``).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from headgate.errors import UserMistake


@dataclass(frozen=True, slots=True, kw_only=True)
class LoadPoint:
    """One size under one constant load."""

    rate: float
    """Records per second that came."""
    latency_s: float
    """Mean over records, once the load had settled."""


@dataclass(frozen=True, slots=True, kw_only=True)
class FailurePoint:
    """An executor killed on purpose under a constant load."""

    rate: float
    downtime_s: float
    """From the kill until work went on."""
    recovery_s: float | None
    """From the kill until the lag was what it had been before; unknown if that was not seen."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ProfiledSize:
    executors: int
    capacity: float
    """Records per second at which a backlog was worked off."""
    loads: tuple[LoadPoint, ...] = ()
    """By rate, the lowest first."""
    failures: tuple[FailurePoint, ...] = ()

    def __post_init__(self) -> None:
        if self.executors < 1:
            raise UserMistake(f"a profiled size of {self.executors} executors is not possible; give 1 or more")
        if self.capacity <= 0:
            raise UserMistake(
                f"the profile has no capacity for {self.executors} executors; profile that size again, or drop it"
            )


@dataclass(frozen=True, slots=True, kw_only=True)
class Profile:
    """All sizes that were profiled, the smallest first."""

    app: str
    sizes: tuple[ProfiledSize, ...]
    executor_seconds: float = 0.0
    """What the profiling runs have cost."""
    about: Mapping[str, Any] = field(default_factory=dict)
    """How it was made: engine, quota, shares of the capacity, seed (JSON values)."""

    def __post_init__(self) -> None:
        if not self.sizes:
            raise UserMistake(f"the profile of app '{self.app}' has no sizes; profile at least one")
        counts = [size.executors for size in self.sizes]
        if counts != sorted(set(counts)):
            raise UserMistake(f"the profile of app '{self.app}' has sizes that are not in order; give each once")
