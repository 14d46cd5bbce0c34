"""Tables in a lake: written aside first, decided by the log of commits, and only then put where others read them.

Plain Parquet: the files of a commit are moved into the folder of their table. Delta: their rows are appended to the
table in a transaction that bears the consumer and the number of the commit, so doing it again does nothing. Both can be
done by anybody, at any later time, as often as wanted: what a consumer that died has committed is not lost.

``committed_files`` is the reader for plain Parquet: what the log says, wherever the files are by now.
"""

from __future__ import annotations

import contextlib
import logging
import shutil
import time
from collections.abc import Callable, Iterable, Mapping
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

from headgate.consumers.commit_log import Commit, CommitLog

log = logging.getLogger("headgate")

WRITTEN = "_written"
_TABLES_AT_ONCE = 4
_PAUSES_S = (0.2, 0.5, 1.0, 2.0)
FORMATS = ("parquet", "delta")

Append = Callable[[str, list[Path], Path, Commit], None]
"""Rows of files to the Delta table in a folder, under the commit's transaction: table, files, folder, commit."""


class Lake:
    """Where tables are, and how what was committed gets into them."""

    def __init__(self, root: Path, *, append: Append | None = None) -> None:
        """With ``append``, tables are Delta's."""
        self.root = root
        self._append = append

    def aside(self, name: str) -> Path:
        """Where to write what will be committed under a name."""
        return self.root / WRITTEN / name

    def written(self, name: str) -> dict[str, tuple[str, ...]]:
        """The files that are there, by table."""
        found: dict[str, tuple[str, ...]] = {}
        for folder in sorted(self.aside(name).glob("table=*")):
            files = sorted(str(path.relative_to(self.root)) for path in folder.glob("*.parquet"))
            if files:
                found[folder.name.removeprefix("table=")] = tuple(files)
        return found

    def publish(self, commit: Commit) -> None:
        """Put the commit's files where they belong, as far as that has not been done."""
        left = {
            table: [path for path in (self.root / file for file in files) if path.exists()]
            for table, files in commit.files.items()
        }
        waiting = {table: paths for table, paths in left.items() if paths}
        if not waiting:
            return
        put = self._moved if self._append is None else self._appended
        with ThreadPoolExecutor(max_workers=_TABLES_AT_ONCE) as pool:
            for done in [pool.submit(put, table, paths, commit) for table, paths in waiting.items()]:
                done.result()
        self.forget(commit.name)

    def _moved(self, table: str, paths: list[Path], commit: Commit) -> None:
        folder = self.root / table
        folder.mkdir(parents=True, exist_ok=True)
        for path in paths:
            # Somebody else may be moving it, too.
            with contextlib.suppress(FileNotFoundError):
                path.replace(folder / _published_name(commit, path))

    def _appended(self, table: str, paths: list[Path], commit: Commit) -> None:
        assert self._append is not None
        for pause_s in (*_PAUSES_S, None):
            try:
                self._append(table, paths, self.root / table, commit)
                break
            except Exception as error:
                # Somebody else may have done it meanwhile, and removed the files.
                if not any(path.exists() for path in paths):
                    break
                # Of several that make a table at once, Delta lets one win. A transaction that was done is not repeated.
                if pause_s is None:
                    raise
                log.warning(
                    "table '%s' did not take commit %d (%s); trying again", table, commit.number, type(error).__name__
                )
                time.sleep(pause_s)
        for path in paths:
            path.unlink(missing_ok=True)

    def rehearse(self, name: str) -> None:
        """Do once with what was written aside, in a table that goes with it, what is done at each publication."""
        if self._append is None:
            return
        for table, files in self.written(name).items():
            commit = Commit(number=0, consumer=0, time_ms=0, name=name)
            self._append(table, [self.root / file for file in files], self.aside(name) / "_table", commit)

    def forget(self, name: str) -> None:
        """Remove what was written aside and is not to be kept."""
        shutil.rmtree(self.aside(name), ignore_errors=True)


def committed_files(root: Path) -> dict[str, list[Path]]:
    """All files that belong to each table of plain Parquet, by what the log says; in the order of commits."""
    found: dict[str, list[Path]] = {}
    for commit in CommitLog(root).commits():
        for table, files in commit.files.items():
            for file in files:
                published = root / table / _published_name(commit, Path(file))
                found.setdefault(table, []).append(published if published.exists() else root / file)
    return found


def read_table(root: Path, table: str, *, columns: list[str] | None = None) -> Any:
    """The rows of a table of plain Parquet that are committed, as a PyArrow table."""
    import pyarrow.dataset as ds

    files = committed_files(root).get(table, [])
    return ds.dataset([str(path) for path in files], format="parquet").to_table(columns=columns)


def overlaps(commits: Iterable[Commit]) -> list[str]:
    """Offsets that were committed twice or skipped, in words; none if the log is as it should be.

    >>> overlaps([])
    []
    """
    wrong: list[str] = []
    ends: dict[str, int] = {}
    epochs: dict[str, int] = {}
    for commit in commits:
        for partition, each in commit.ranges.items():
            before = ends.get(partition)
            if before is not None and each.first != before:
                what = "again" if each.first < before else "after a gap"
                wrong.append(f"commit {commit.number}: {partition} {what} from {each.first}, it had come to {before}")
            if each.epoch < epochs.get(partition, 0):
                wrong.append(f"commit {commit.number}: {partition} under the older epoch {each.epoch}")
            ends[partition] = each.end
            epochs[partition] = max(each.epoch, epochs.get(partition, 0))
        for partition, epoch in commit.claims.items():
            epochs[partition] = max(epoch, epochs.get(partition, 0))
    return wrong


def transaction(group: str, commit: Commit) -> Mapping[str, str]:
    """What makes Delta do it once: versions of one writer only ever grow."""
    return {"txnAppId": f"{group}-consumer-{commit.consumer}", "txnVersion": str(commit.number)}


def _published_name(commit: Commit, path: Path) -> str:
    return f"{commit.number:012d}-{path.name}"
