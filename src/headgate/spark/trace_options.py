"""What makes an embedded stream: its options, as values and as the texts that Spark keeps.

Apart from the source itself, because the agent reads them too, on versions of PySpark that cannot run the source.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, fields

import numpy as np
from numpy.typing import NDArray

from headgate.core.options import check_options, option
from headgate.errors import UserMistake
from headgate.grammar import build
from headgate.workloads import arrivals, parse_workload
from headgate.workloads.records import parse_keys, parse_records

SOURCE_NAME = "headgate-trace"


@dataclass(frozen=True, slots=True, kw_only=True)
class TraceOptions:
    """Everything that makes a stream; the same options are the same stream."""

    workload: str = option("", "the load, as in sine:period=10m,low=0.2, or a CSV file")
    start_time_s: float = option(0.0, "when the trace begins, in seconds since 1970", above=0)
    peak: float | None = option(None, "rescales the highest rate to this", above=0)
    duration_s: float | None = option(None, "how long records arrive", above=0)
    time_scale: float = option(1.0, "compresses time", above=0)
    seed: int = option(0, "of noise and of Poisson arrivals", least=0)
    process: str = option("even", "how records are spread within a second", choices=("even", "poisson"))
    partitions: int = option(1, "tasks that a micro-batch is read by", least=1, most=10_000)
    records_per_trigger: int | None = option(None, "the most records that a micro-batch takes", least=1)
    records: str | None = option(None, "delivers raw records of this kind, as a topic does: words, rows:size=200, …")
    keys: str = option("none", "keys of raw records: none, uniform:keys=1000 or zipf:keys=1000,exponent=1")
    skew: float = option(0.0, "0 cuts batches evenly; 1 gives each partition 1/rank of the first", least=0, most=5)

    def __post_init__(self) -> None:
        check_options(SOURCE_NAME, self)
        if not self.workload:
            raise UserMistake(f"{SOURCE_NAME} needs the option 'workload'; give one, as in constant:rate=1000")
        if self.records is not None:
            parse_records(self.records, seed=self.seed)
        parse_keys(self.keys, seed=self.seed)

    @classmethod
    def read(cls, options: Mapping[str, str]) -> TraceOptions:
        """From the texts that Spark keeps; its options do not know upper from lower case."""
        known = {field.name.replace("_", ""): field.name for field in fields(cls)}
        given = {}
        for key, text in options.items():
            name = known.get(key.lower().replace("_", ""))
            if name is not None:
                given[name] = text
            elif key.lower() != "path":
                given[key] = text  # not ours: refused by name below
        if "start_time_s" not in given:
            raise UserMistake(
                f"{SOURCE_NAME} needs the option 'start_time_s' (seconds since 1970), so that a query that is started "
                "again goes on with the same schedule; give the time of its first start"
            )
        return build(cls, given, kind="source", name=SOURCE_NAME)

    def write(self) -> dict[str, str]:
        """As texts for ``spark.readStream.options``."""
        given = {field.name: getattr(self, field.name) for field in fields(self)}
        return {
            name: repr(value) if isinstance(value, float) else str(value)
            for name, value in given.items()
            if value is not None
        }

    def curve(self) -> NDArray[np.int64]:
        """Records arrived by each second since the start."""
        workload = parse_workload(
            self.workload, peak=self.peak, duration_s=self.duration_s, time_scale=self.time_scale, seed=self.seed
        )
        return arrivals(workload, process=self.process, seed=self.seed)
