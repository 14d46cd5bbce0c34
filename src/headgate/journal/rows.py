"""Reading a journal file.

Rows are fetched in portions, each a short read of its own, so that neither a slow reader nor one
that stops half-way keeps the writer's log from being folded back into the file. A reader sees
everything that was committed when it started to iterate, and nothing later.
"""

from __future__ import annotations

import math
import sqlite3
import tempfile
import threading
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, TypeVar

from headgate.core.decision import Tick
from headgate.core.ports import JournalHeader
from headgate.core.sample import Sample
from headgate.errors import Permanent, UserMistake
from headgate.journal.bodies import decode
from headgate.journal.faults import in_sentences

T = TypeVar("T")

PORTION_ROWS = 256


class Shelf:
    """A connection, its path and its lock: what the readers of one file share."""

    def __init__(
        self,
        connection: sqlite3.Connection,
        path: Path,
        *,
        scratch: tempfile.TemporaryDirectory[str] | None = None,
    ) -> None:
        self.path = path
        self._scratch = scratch
        self.lock = threading.RLock()
        self._connection: sqlite3.Connection | None = connection

    @property
    def connection(self) -> sqlite3.Connection:
        """To be used with the lock held."""
        if self._connection is None:
            raise Permanent(f"journal '{self.path}' has been closed; open it again")
        return self._connection

    def fetch(self, statement: str, values: Sequence[object] = ()) -> list[Any]:
        with self.lock, in_sentences(self.path):
            return self.connection.execute(statement, values).fetchall()

    def close(self) -> None:
        with self.lock, in_sentences(self.path):
            connection, self._connection = self._connection, None
            if connection is not None:
                connection.close()
            if self._scratch is not None:
                self._scratch.cleanup()


class SqliteReader:
    """All runs of a journal file, or one of them."""

    def __init__(self, shelf: Shelf, *, run: int | None = None) -> None:
        self._shelf = shelf
        self._only_run = run

    @property
    def path(self) -> Path:
        """Of the file, as it was given."""
        return self._shelf.path

    def header(self) -> JournalHeader:
        """Of the newest run."""
        headers = self.runs()
        if not headers:
            raise UserMistake(f"journal '{self._shelf.path}' holds no run yet; record one first")
        return headers[-1]

    def runs(self) -> tuple[JournalHeader, ...]:
        """Oldest first."""
        return tuple(
            decode(JournalHeader, header, path=self._shelf.path, what=f"run {run}") for run, header in self._run_rows()
        )

    def run(self, position: int) -> SqliteReader:
        """One run alone, by its place in ``runs()``; -1 is the newest."""
        rows = self._run_rows()
        try:
            return SqliteReader(self._shelf, run=rows[position][0])
        except IndexError:
            raise UserMistake(
                f"journal '{self._shelf.path}' holds {len(rows)} runs, so there is no run {position}"
            ) from None

    def samples(self, *, since_s: float | None = None) -> Iterator[Sample]:
        return self._rows("samples", Sample, since_s)

    def ticks(self, *, since_s: float | None = None) -> Iterator[Tick]:
        return self._rows("ticks", Tick, since_s)

    def last_tick(self) -> Tick | None:
        rows = self._shelf.fetch(
            "SELECT id, body FROM ticks WHERE ?1 IS NULL OR run = ?1 ORDER BY id DESC LIMIT 1", (self._only_run,)
        )
        return self._decoded("ticks", Tick, *rows[0]) if rows else None

    def _run_rows(self) -> list[tuple[int, str]]:
        return self._shelf.fetch(
            "SELECT id, header FROM runs WHERE ?1 IS NULL OR id = ?1 ORDER BY id", (self._only_run,)
        )

    def _rows(self, table: str, cls: type[T], since_s: float | None) -> Iterator[T]:
        newest = self._shelf.fetch(f"SELECT max(id) FROM {table}")[0][0]
        statement = (
            f"SELECT time_s, id, body FROM {table} WHERE run = ? AND id <= ? AND (time_s, id) > (?, ?)"
            f" ORDER BY time_s, id LIMIT {PORTION_ROWS}"
        )
        for run, _ in self._run_rows():
            place = (-math.inf if since_s is None else since_s, -1)
            while portion := self._shelf.fetch(statement, (run, newest, *place)):
                for _, row, body in portion:
                    yield self._decoded(table, cls, row, body)
                place = portion[-1][:2]

    def _decoded(self, table: str, cls: type[T], row: int, body: str | bytes) -> T:
        return decode(cls, body, path=self._shelf.path, what=f"row {row} of {table}")
