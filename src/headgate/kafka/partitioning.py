"""Which partition a record goes to."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from headgate.workloads.records.keys import zipf_ends
from headgate.workloads.records.mixing import Numbers, shares

Times = NDArray[np.float64]

BY_KEY = -1
"""Left to Kafka's own hash of the key."""
_DRIFT = 0xD21F7
_STREAM = 0xB0B


@dataclass(frozen=True, slots=True, kw_only=True)
class Partitioning:
    """In turn, or by the key's hash; with a skew, partition number *p* gets (p + 1)^-skew of what the first gets.

    A key stays in one partition, also with a skew. A skew may drift: after each ``drift_s`` the next partition has
    become the first one, little by little.
    """

    partitions: int
    skew: float = 0.0
    seed: int = 0
    drift_s: float | None = None

    def choose(self, sequences: Numbers, keys: Numbers | None, since_s: Times | None = None) -> list[int]:
        """The partition of each record; ``keys`` are the numbers of their keys, if they have any.

        ``since_s`` is when each is sent, after the start; for a skew that drifts.
        """
        chosen: Numbers
        if self.skew > 0:
            lots = shares(self.seed, _STREAM, sequences if keys is None else keys)
            chosen = np.searchsorted(zipf_ends(self.partitions, self.skew), lots, side="right")
            if self.drift_s is not None and since_s is not None:
                turns = since_s / self.drift_s
                moved = shares(self.seed, _DRIFT, sequences) < turns % 1.0
                chosen = (chosen + turns.astype(np.int64) + moved) % self.partitions
        elif keys is None:
            chosen = sequences % self.partitions
        else:
            chosen = np.full(len(sequences), BY_KEY)
        listed: list[int] = chosen.tolist()
        return listed
