"""A journal in an SQLite file: lasts, can be read while it is written, survives ``kill -9``.

Write-ahead log with ``synchronous=NORMAL``: a row is in the operating system's hands when ``append``
returns, so the death of the process loses nothing that was appended; only a power cut may take the
last rows, and neither corrupts the file. (``FULL`` waits for the disk at every row, many milliseconds
on some, and the loop must not.) Assumes a local disk and one writing controller; a second writer is
made to wait, not refused.
"""

from __future__ import annotations

import sqlite3
from contextlib import suppress
from pathlib import Path
from types import TracebackType
from typing import Self

from headgate.core.decision import Tick
from headgate.core.ports import JournalHeader
from headgate.core.sample import Sample
from headgate.errors import Permanent, UserMistake
from headgate.journal import layout
from headgate.journal.bodies import encode
from headgate.journal.faults import in_sentences
from headgate.journal.opening import open_for_reading, open_for_writing
from headgate.journal.rows import SqliteReader

EXPIRE_EVERY_ROWS = 16
"""How often old rows are looked for."""
EXPIRE_ROWS = 64
"""How many go at once: four times what came in, so that a shorter retention is reached without a pause."""
SPARE_PAGES = 64
"""Free pages that stay in the file for reuse; more are given back to the disk."""


class SqliteJournal(SqliteReader):
    """Records runs of one app in a file, and reads them back; safe to share between threads.

    ``retention_s`` bounds it: rows older than that, counted back from the newest, are removed in
    small portions while it is written; the last tick always stays.
    """

    def __init__(
        self,
        path: Path | str,
        *,
        retention_s: float | None = None,
        read_only: bool = False,
        busy_timeout_s: float = 2.0,
    ) -> None:
        if retention_s is not None and not retention_s > 0:
            raise UserMistake(f"a retention of {retention_s:g} s keeps nothing; give more than 0 seconds, or none")
        open_file = open_for_reading if read_only else open_for_writing
        super().__init__(open_file(Path(path), busy_timeout_s=busy_timeout_s))
        self._retention_s = retention_s
        self._read_only = read_only
        self._run: int | None = None
        self._appended = 0
        self._newest_s = float("-inf")

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self.close()

    def open_run(self, header: JournalHeader) -> None:
        """Go on with the journal; what earlier runs of the app recorded is kept."""
        path = self._shelf.path
        if self._read_only:
            raise Permanent(f"journal '{path}' is open for reading only; open it for writing to record a run")
        with self._shelf.lock, in_sentences(path):
            earlier = self.runs()
            if earlier and earlier[-1].app != header.app:
                raise UserMistake(
                    f"journal '{path}' belongs to app '{earlier[-1].app}', not '{header.app}'; "
                    "give every app a journal of its own"
                )
            row = (layout.header_text(header),)
            self._run = self._shelf.connection.execute(layout.INSERT_RUN, row).lastrowid

    def append_sample(self, sample: Sample) -> None:
        self._append(layout.INSERT_SAMPLE, (self._opened(), sample.time_s, encode(sample)), sample.time_s)

    def append_tick(self, tick: Tick) -> None:
        self._append(layout.INSERT_TICK, layout.tick_row(self._opened(), tick, encode(tick)), tick.time_s)

    def close(self) -> None:
        """Fold the log into the file and let go of it; a second time does nothing."""
        self._shelf.close()

    def _opened(self) -> int:
        if self._run is None:
            raise Permanent("nothing can be recorded before a run is opened; call open_run first")
        return self._run

    def _append(self, statement: str, row: tuple[object, ...], time_s: float) -> None:
        with self._shelf.lock, in_sentences(self._shelf.path):
            connection = self._shelf.connection
            self._newest_s = max(self._newest_s, time_s)
            self._appended += 1
            if self._retention_s is None or self._appended % EXPIRE_EVERY_ROWS:
                connection.execute(statement, row)
                return
            connection.execute("BEGIN IMMEDIATE")
            try:
                connection.execute(statement, row)
                self._expire(connection, self._newest_s - self._retention_s)
                connection.execute("COMMIT")
            except BaseException:
                if connection.in_transaction:
                    connection.execute("ROLLBACK")
                raise
            _give_room_back(connection)

    def _expire(self, connection: sqlite3.Connection, horizon_s: float) -> None:
        # In the order of writing, which is the order of age and needs no index.
        for table in ("samples", "ticks"):
            connection.execute(
                f"DELETE FROM {table} WHERE id IN (SELECT id FROM {table} ORDER BY id LIMIT {EXPIRE_ROWS})"
                f" AND time_s < ? AND id < (SELECT max(id) FROM {table})",
                (horizon_s,),
            )
        connection.execute(
            "DELETE FROM runs WHERE id < ?1"
            " AND id < coalesce((SELECT run FROM samples ORDER BY id LIMIT 1), ?1)"
            " AND id < coalesce((SELECT run FROM ticks ORDER BY id LIMIT 1), ?1)",
            (self._run,),
        )


def _give_room_back(connection: sqlite3.Connection) -> None:
    # The row is safe already, and room that is not given back now is given back next time.
    with suppress(sqlite3.OperationalError):
        if connection.execute("PRAGMA freelist_count").fetchone()[0] > SPARE_PAGES:
            # A script, because this pragma frees one page per step and a plain execute takes one step.
            connection.executescript(f"PRAGMA incremental_vacuum({SPARE_PAGES})")


def read_journal(path: Path | str) -> SqliteJournal:
    """A journal to read only, also while another process writes it."""
    return SqliteJournal(path, read_only=True)
