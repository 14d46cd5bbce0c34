"""Proof that a sink holds every record of a trace exactly once, with the right content.

Reads the Parquet that Spark's file sink wrote, without Spark. Only files that the sink's own log
has committed count: an executor that was killed leaves others lying about, which no reader that
respects the log ever sees.
"""

from __future__ import annotations

import json
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.parse import unquote, urlparse

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from headgate.errors import UserMistake
from headgate.spark.content import keys_of, values_of

_LOG = "_spark_metadata"
_COMPACT = ".compact"


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

    @property
    def exact(self) -> bool:
        in_range = self.last is None or self.last < self.expected
        return in_range and self.missing == 0 and self.doubled == 0 and self.checksum_ok is not False

    @property
    def summary(self) -> str:
        if self.exact:
            content = "" if self.checksum_ok is None else " and with the right content"
            return f"all {self.expected} records are in the sink exactly once{content}"
        faults = []
        if self.missing:
            faults.append(f"{self.missing} missing")
        if self.doubled:
            faults.append(f"{self.doubled} doubled")
        if self.last is not None and self.last >= self.expected:
            faults.append(f"offsets up to {self.last} although {self.expected} were expected")
        if self.checksum_ok is False:
            faults.append("rows whose content is not that of their offset")
        return f"the sink is not exact, of {self.expected} records: {', '.join(faults)}"


def audit_parquet(path: Path | str, expected: int | None = None) -> Audit:
    """Check the sink at ``path``; without ``expected``, up to the largest offset that is there."""
    offsets_parts = []
    content_ok: bool | None = None
    for file in committed_files(Path(path)):
        table = _read(file)
        offsets = table.column("offset").to_numpy()
        offsets_parts.append(offsets)
        if {"key", "value"} <= set(table.column_names):
            right = np.array_equal(table.column("value").to_numpy(), values_of(offsets))
            right = right and np.array_equal(table.column("key").to_numpy(), keys_of(offsets))
            content_ok = right and content_ok is not False
    offsets = np.concatenate(offsets_parts) if offsets_parts else np.empty(0, dtype=np.int64)
    distinct = np.unique(offsets)
    end = expected if expected is not None else (int(distinct[-1]) + 1 if len(distinct) else 0)
    inside = int(np.count_nonzero((distinct >= 0) & (distinct < end)))
    return Audit(
        records=len(offsets),
        distinct=len(distinct),
        missing=end - inside,
        doubled=len(offsets) - len(distinct),
        first=int(distinct[0]) if len(distinct) else None,
        last=int(distinct[-1]) if len(distinct) else None,
        expected=end,
        checksum_ok=content_ok,
    )


def committed_files(path: Path) -> list[Path]:
    """The data files that the sink's log has committed, in the order of their batches."""
    log = path / _LOG
    if not log.is_dir():
        raise UserMistake(f"{path} is not the output of a Spark file sink (there is no {_LOG} in it); give its folder")
    batches = {batch: file for file in sorted(log.iterdir()) if (batch := _batch_id(file)) is not None}
    # A compacted file repeats everything before it, so nothing older is needed.
    start = max((batch for batch, file in batches.items() if file.name.endswith(_COMPACT)), default=None)
    wanted = sorted(batch for batch in batches if start is None or batch >= start)
    files: dict[str, Path] = {}
    for batch in wanted:
        for entry in _entries(batches[batch]):
            if entry.get("action") == "delete":
                files.pop(entry["path"], None)
            else:
                files[entry["path"]] = _local(entry["path"], path)
    return list(files.values())


def _batch_id(file: Path) -> int | None:
    number = file.name.removesuffix(_COMPACT)
    return int(number) if number.isdigit() else None


def _entries(file: Path) -> Iterable[dict[str, Any]]:
    lines = file.read_text().splitlines()
    if not lines or lines[0] != "v1":
        raise UserMistake(f"{file} is not a log of a Spark file sink that can be read here (its first line is not v1)")
    try:
        return [json.loads(line) for line in lines[1:] if line.strip()]
    except ValueError:
        raise UserMistake(f"{file} is damaged: a line of it is not JSON; restore the sink's folder") from None


def _local(uri: str, sink: Path) -> Path:
    written = Path(unquote(urlparse(uri).path))
    # The folder may have been moved since it was written.
    return written if written.is_file() else sink / written.name


def _read(file: Path) -> pa.Table:
    try:
        names = set(pq.read_schema(file).names)
        if "offset" not in names:
            raise UserMistake(f"{file} has no column 'offset', so its records cannot be checked; keep it in the sink")
        return pq.read_table(file, columns=[name for name in ("offset", "key", "value") if name in names])
    except FileNotFoundError:
        raise UserMistake(f"{file} is in the sink's log but not in its folder; restore the folder") from None
    except pa.ArrowInvalid as error:
        raise UserMistake(f"{file} is not a Parquet file that can be read ({error}); restore the folder") from None
