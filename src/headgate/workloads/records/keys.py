"""Keys of records: none, equally likely, or Zipf; pure functions of seed and sequence number."""

from __future__ import annotations

import functools
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any, ClassVar, Protocol

import numpy as np
from numpy.typing import NDArray

from headgate.core.options import check_options, option
from headgate.grammar import parse_spec
from headgate.workloads.records.mixing import Numbers, below, shares

_STREAM = 0xC0FFEE
_MOST_KEYS = 10_000_000


class Keys(Protocol):
    """Which key each record has."""

    def numbers(self, sequences: Numbers) -> Numbers | None:
        """The keys' numbers, from 0 on; ``None`` if records have no key."""
        ...


@dataclass(frozen=True, slots=True, kw_only=True)
class NoKeys:
    """Records without a key."""

    name: ClassVar[str] = "none"

    seed: int = option(0, "which keys", least=0)

    def numbers(self, sequences: Numbers) -> None:  # noqa: ARG002 - others need them
        return None


@dataclass(frozen=True, slots=True, kw_only=True)
class UniformKeys:
    """Every key equally likely."""

    name: ClassVar[str] = "uniform"

    keys: int = option(1000, "different keys", least=1, most=_MOST_KEYS)
    seed: int = option(0, "which keys", least=0)

    def __post_init__(self) -> None:
        check_options(self.name, self)

    def numbers(self, sequences: Numbers) -> Numbers:
        return below(self.keys, self.seed, _STREAM, sequences)


@dataclass(frozen=True, slots=True, kw_only=True)
class ZipfKeys:
    """The key of rank *r* with a probability in proportion to 1/r^exponent."""

    name: ClassVar[str] = "zipf"

    keys: int = option(1000, "different keys", least=1, most=_MOST_KEYS)
    exponent: float = option(1.0, "how fast keys become rarer; 0 is uniform", least=0, most=10)
    seed: int = option(0, "which keys", least=0)

    def __post_init__(self) -> None:
        check_options(self.name, self)

    def numbers(self, sequences: Numbers) -> Numbers:
        ends = zipf_ends(self.keys, self.exponent)
        return np.searchsorted(ends, shares(self.seed, _STREAM, sequences), side="right")


KEYS: Mapping[str, type[Any]] = {kind.name: kind for kind in (NoKeys, UniformKeys, ZipfKeys)}


def parse_keys(text: str, *, seed: int = 0) -> Keys:
    """Keys as users type them, such as ``zipf:keys=1000,exponent=1``."""
    keys: Keys = replace(parse_spec(text, KEYS, kind="keys"), seed=seed)
    return keys


def key_bytes(numbers: Numbers) -> list[bytes]:
    """Keys as they are written.

    >>> key_bytes(np.array([17]))
    [b'key-17']
    """
    return [b"key-%d" % number for number in numbers.tolist()]


@functools.lru_cache(maxsize=16)
def zipf_ends(count: int, exponent: float) -> NDArray[np.float64]:
    """Where the share of each rank ends when all shares are laid side by side from 0 to 1.

    >>> zipf_ends(3, 1.0).round(3).tolist()
    [0.545, 0.818, 1.0]
    """
    ends = np.cumsum(np.arange(1, count + 1, dtype=np.float64) ** -exponent)
    ends /= ends[-1]
    ends.setflags(write=False)
    return ends
