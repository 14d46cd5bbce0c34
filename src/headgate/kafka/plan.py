"""What a paced production is to do; everything about it follows from this one value and a clock."""

from __future__ import annotations

import math
from dataclasses import dataclass

from headgate.errors import UserMistake
from headgate.workloads import Workload, arrivals, parse_workload
from headgate.workloads.arrivals import Counts
from headgate.workloads.records import Keys, RecordKind, parse_keys, parse_records

MOST_PROCESSES = 64
MOST_SKEW = 5.0


@dataclass(frozen=True, slots=True, kw_only=True)
class ProductionPlan:
    """Which records go to which topic, and when.

    Record number *n* of the workload has the sequence number ``first_sequence + n``; its event time is
    its scheduled arrival, whenever it is really sent.
    """

    topic: str
    records: str
    """A kind of record, as in ``rows:size=200``."""
    workload: str
    """As users type it, as in ``sine:period=10m,low=0.2``."""
    peak: float | None = None
    duration_s: float | None = None
    time_scale: float = 1.0
    process: str = "even"
    """How records are spread: ``even`` or ``poisson``."""
    seed: int = 0
    start_time_s: float | None = None
    """Seconds since 1970; ``None`` begins as soon as everything is ready."""
    keys: str = "none"
    partition_skew: float = 0.0
    """0 loads all partitions alike; 1 gives each 1/rank of the first."""
    partition_drift_s: float | None = None
    """Time after which the skew has moved on by one partition; ``None``: it stays."""
    processes: int = 1
    first_sequence: int = 0

    def __post_init__(self) -> None:
        if not self.topic:
            raise UserMistake("the production has no topic; name one")
        if not 1 <= self.processes <= MOST_PROCESSES:
            raise UserMistake(f"{self.processes} processes are not possible; give from 1 to {MOST_PROCESSES}")
        if not 0 <= self.partition_skew <= MOST_SKEW:
            raise UserMistake(
                f"a partition skew of {self.partition_skew:g} is not possible; give from 0 to {MOST_SKEW:g}"
            )
        if self.partition_drift_s is not None:
            if not self.partition_drift_s > 0:
                raise UserMistake(
                    f"a partition drift of {self.partition_drift_s:g} s is not possible; give more than 0"
                )
            if not self.partition_skew:
                raise UserMistake("a partition drift moves a skew, and there is none; give a partition skew as well")
            if self.keys != "none":
                raise UserMistake("with a partition drift keys would change their partition; leave one of them out")
        if self.first_sequence < 0:
            raise UserMistake(f"the first sequence number {self.first_sequence} is negative; give 0 or more")
        if self.start_time_s is not None and not math.isfinite(self.start_time_s):
            raise UserMistake(f"the start time {self.start_time_s} is not a moment; give seconds since 1970")

    def load(self) -> Workload:
        return parse_workload(
            self.workload, peak=self.peak, duration_s=self.duration_s, time_scale=self.time_scale, seed=self.seed
        )

    def curve(self) -> Counts:
        """Records that have arrived by each second after the start."""
        return arrivals(self.load(), process=self.process, seed=self.seed)

    def record_kind(self) -> RecordKind:
        return parse_records(self.records, seed=self.seed)

    def record_keys(self) -> Keys:
        return parse_keys(self.keys, seed=self.seed)
