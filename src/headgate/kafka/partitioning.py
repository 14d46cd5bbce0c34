"""Which partition a record goes to."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from headgate.workloads.records.keys import zipf_ends
from headgate.workloads.records.mixing import Numbers, shares

BY_KEY = -1
"""Left to Kafka's own hash of the key."""
_STREAM = 0xB0B


@dataclass(frozen=True, slots=True, kw_only=True)
class Partitioning:
    """In turn, or by the key's hash; with a skew, partition number *p* gets (p + 1)^-skew of what the first gets.

    A key stays in one partition, also with a skew.
    """

    partitions: int
    skew: float = 0.0
    seed: int = 0

    def choose(self, sequences: Numbers, keys: Numbers | None) -> list[int]:
        """The partition of each record; ``keys`` are the numbers of their keys, if they have any."""
        chosen: Numbers
        if self.skew > 0:
            lots = shares(self.seed, _STREAM, sequences if keys is None else keys)
            chosen = np.searchsorted(zipf_ends(self.partitions, self.skew), lots, side="right")
        elif keys is None:
            chosen = sequences % self.partitions
        else:
            chosen = np.full(len(sequences), BY_KEY)
        listed: list[int] = chosen.tolist()
        return listed
