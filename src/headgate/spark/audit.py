"""Proof that a sink holds every record exactly once, and with the right content where that is known.

Reads the Parquet files without Spark. Records are told apart by a number that counts from 0: the
offset of an embedded trace, or the sequence number that producers put into each record.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from numpy.typing import NDArray

from headgate.errors import UserMistake
from headgate.spark.committed import committed_files, sink_files
from headgate.spark.content import keys_of, values_of


@dataclass(frozen=True, slots=True, kw_only=True)
class Audit:
    records: int
    distinct: int
    missing: int
    """Offsets from 0 to the expected end that are not there."""
    doubled: int
    """Rows beyond the first of their offset."""
    first: int | None
    last: int | None
    expected: int
    checksum_ok: bool | None
    """Whether every row's content is that of its offset; ``None`` if the sink kept no content."""
    complete: bool = True
    """Whether the whole stream was to be there; otherwise nothing can be missing yet."""

    @property
    def exact(self) -> bool:
        in_range = self.last is None or self.last < self.expected
        return in_range and self.missing == 0 and self.doubled == 0 and self.checksum_ok is not False

    @property
    def summary(self) -> str:
        if self.exact:
            content = "" if self.checksum_ok is None else " and with the right content"
            if not self.complete:
                return f"{self.records} of {self.expected} records are in the sink, none of them twice"
            return f"all {self.expected} records are in the sink exactly once{content}"
        faults = []
        if self.missing:
            faults.append(f"{self.missing} missing")
        if self.doubled:
            faults.append(f"{self.doubled} doubled")
        if self.last is not None and self.last >= self.expected:
            faults.append(f"numbers up to {self.last} although {self.expected} were expected")
        if self.checksum_ok is False:
            faults.append("rows whose content is not that of their offset")
        return f"the sink is not exact, of {self.expected} records: {', '.join(faults)}"


def audit_parquet(path: Path | str, expected: int | None = None) -> Audit:
    """Check a trace's sink at ``path``; without ``expected``, up to the largest offset that is there."""
    parts = []
    content_ok: bool | None = None
    for file in committed_files(Path(path)):
        table = _read(file, ("offset", "key", "value"))
        if "offset" not in table.column_names:
            raise UserMistake(f"{file} has no column 'offset', so its records cannot be checked; keep it in the sink")
        offsets = table.column("offset").to_numpy()
        parts.append(offsets)
        if {"key", "value"} <= set(table.column_names):
            right = np.array_equal(table.column("value").to_numpy(), values_of(offsets))
            right = right and np.array_equal(table.column("key").to_numpy(), keys_of(offsets))
            content_ok = right and content_ok is not False
    numbers = _joined(parts)
    end = expected if expected is not None else int(numbers.max(initial=-1)) + 1
    return _counted(numbers, expected=end, complete=True, checksum_ok=content_ok)


def audit_sequences(path: Path | str, *, expected: int, complete: bool = True) -> Audit | None:
    """Check the sequence numbers in a sink of operators; ``None`` if it keeps none.

    In a stream that is not ``complete`` what is missing may still come: only doubles and numbers that
    were never given out are faults.
    """
    return audit_files(sink_files(Path(path)), expected=expected, complete=complete)


def audit_files(files: Sequence[Path], *, expected: int, complete: bool = True) -> Audit | None:
    """The same of these files."""
    tables = [_read(file, ("sequence",)) for file in files]
    if not all("sequence" in table.column_names for table in tables):
        return None
    numbers = _joined([table.column("sequence").to_numpy() for table in tables])
    return _counted(numbers, expected=expected, complete=complete, checksum_ok=None)


def _joined(parts: Sequence[NDArray[np.int64]]) -> NDArray[np.int64]:
    return np.concatenate(parts) if parts else np.empty(0, dtype=np.int64)


def _counted(numbers: NDArray[np.int64], *, expected: int, complete: bool, checksum_ok: bool | None) -> Audit:
    distinct = np.unique(numbers)
    inside = int(np.count_nonzero((distinct >= 0) & (distinct < expected)))
    return Audit(
        records=len(numbers),
        distinct=len(distinct),
        missing=expected - inside if complete else 0,
        doubled=len(numbers) - len(distinct),
        first=int(distinct[0]) if len(distinct) else None,
        last=int(distinct[-1]) if len(distinct) else None,
        expected=expected,
        checksum_ok=checksum_ok,
        complete=complete,
    )


def _read(file: Path, columns: Sequence[str]) -> pa.Table:
    """Those of the columns that a file has."""
    try:
        names = set(pq.read_schema(file).names)
        return pq.read_table(file, columns=[name for name in columns if name in names], partitioning=None)
    except FileNotFoundError:
        raise UserMistake(f"{file} is in the sink's log but not in its folder; restore the folder") from None
    except pa.ArrowInvalid as error:
        raise UserMistake(f"{file} is not a Parquet file that can be read ({error}); restore the folder") from None
