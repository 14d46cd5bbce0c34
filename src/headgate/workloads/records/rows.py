"""Rows of many tables: what a lake takes in."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from headgate.core.options import check_options, option
from headgate.workloads.records.mixing import below

_TABLE_STREAM = 1


@dataclass(frozen=True, slots=True, kw_only=True)
class Rows:
    """``{"sequence": 7, "time_ms": …, "table": "t03", "payload": "xxx…"}``, padded to one size."""

    name: ClassVar[str] = "rows"

    size: int = option(100, "bytes of a record", least=80, most=1_000_000)
    tables: int = option(8, "different tables", least=1, most=1000)
    seed: int = option(0, "which records", least=0)

    def __post_init__(self) -> None:
        check_options(self.name, self)

    def values(self, first: int, times_ms: Sequence[int]) -> list[bytes]:
        sequences = np.arange(first, first + len(times_ms))
        tables = below(self.tables, self.seed, _TABLE_STREAM, sequences).tolist()
        heads = [b', "table": "t%02d", "payload": "' % table for table in range(self.tables)]
        body = self.size - 2
        return [
            (b'{"sequence": %d, "time_ms": %d%b' % (sequence, time_ms, heads[table])).ljust(body, b"x") + b'"}'
            for sequence, time_ms, table in zip(sequences.tolist(), times_ms, tables, strict=True)
        ]
