"""The tables of a journal file, their versions, and the way from an older one to the present one.

    1   runs, samples and ticks with bodies only
    2   ticks with columns of their own for what people look for; both indexed by run and time

``application_id`` says that a file is a journal, ``user_version`` which layout it has. A layout is
read as far back as version 1 without being changed, because every version keeps ``id``, ``run``,
``time_s`` and ``body``; it is migrated, in one transaction, when it is opened for writing.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Callable
from pathlib import Path

from headgate import codec
from headgate.core.decision import Tick
from headgate.core.ports import JournalHeader
from headgate.errors import UserMistake
from headgate.journal.bodies import decode

APPLICATION_ID = 0x48474A4C
"""``HGJL`` in ASCII."""
LAYOUT = 2

_TABLES = (
    "CREATE TABLE runs (id INTEGER PRIMARY KEY, header TEXT NOT NULL)",
    "CREATE TABLE samples (id INTEGER PRIMARY KEY, run INTEGER NOT NULL, time_s REAL NOT NULL, body TEXT NOT NULL)",
)
_TICKS = (
    "CREATE TABLE ticks (id INTEGER PRIMARY KEY, run INTEGER NOT NULL, time_s REAL NOT NULL, number INTEGER NOT NULL,"
    " epoch INTEGER NOT NULL, outcome TEXT NOT NULL, wanted INTEGER NOT NULL, granted INTEGER NOT NULL,"
    " body TEXT NOT NULL)"
)
_INDEXES = (
    "CREATE INDEX samples_by_time ON samples (run, time_s)",
    "CREATE INDEX ticks_by_time ON ticks (run, time_s)",
)

INSERT_RUN = "INSERT INTO runs (header) VALUES (?)"
INSERT_SAMPLE = "INSERT INTO samples (run, time_s, body) VALUES (?, ?, ?)"
INSERT_TICK = (
    "INSERT INTO ticks (run, time_s, number, epoch, outcome, wanted, granted, body) VALUES (?, ?, ?, ?, ?, ?, ?, ?)"
)


def header_text(header: JournalHeader) -> str:
    """Never deflated: it is small, written once, and the first thing that a person looks at."""
    return codec.to_json(header).decode()


def tick_row(run: int, tick: Tick, body: str | bytes) -> tuple[object, ...]:
    decision = tick.decision
    wanted, granted = decision.wanted.executors, decision.granted.executors
    return (run, tick.time_s, tick.index, tick.epoch, tick.outcome.value, wanted, granted, body)


def version(connection: sqlite3.Connection, path: Path) -> int:
    """The file's layout, 0 if nothing is in it yet; files of others and of the future are refused."""
    application = connection.execute("PRAGMA application_id").fetchone()[0]
    found: int = connection.execute("PRAGMA user_version").fetchone()[0]
    if application != APPLICATION_ID:
        tables = connection.execute("SELECT count(*) FROM sqlite_master").fetchone()[0]
        if application == 0 and found == 0 and tables == 0:
            return 0
        raise UserMistake(f"'{path}' is an SQLite file, but not a journal of Headgate; give the path of a journal")
    if found > LAYOUT:
        raise UserMistake(
            f"journal '{path}' was written by a newer Headgate (layout {found}, this one knows up to {LAYOUT}); "
            "upgrade Headgate, or give another file"
        )
    return found


def prepare(connection: sqlite3.Connection, path: Path) -> None:
    """Make the file a journal of the present layout, whatever it is now."""
    if version(connection, path) == 0:
        # Both must come before the first table, and neither may touch a file that is not ours.
        connection.execute("PRAGMA auto_vacuum = INCREMENTAL")
    mode = connection.execute("PRAGMA journal_mode = WAL").fetchone()[0]
    if mode != "wal":
        raise UserMistake(
            f"journal '{path}' lies on a file system that cannot share it with readers; put it on a local disk"
        )
    connection.execute("BEGIN IMMEDIATE")
    try:
        # Asked again under the lock: another process may have been faster.
        found = version(connection, path)
        if found < LAYOUT:
            if found == 0:
                _create(connection)
            else:
                for step in range(found, LAYOUT):
                    _MIGRATIONS[step](connection, path)
            connection.execute(f"PRAGMA application_id = {APPLICATION_ID}")
            connection.execute(f"PRAGMA user_version = {LAYOUT}")
        connection.execute("COMMIT")
    except BaseException:
        if connection.in_transaction:
            connection.execute("ROLLBACK")
        raise


def _create(connection: sqlite3.Connection) -> None:
    for statement in (*_TABLES, _TICKS, *_INDEXES):
        connection.execute(statement)


def _give_ticks_columns(connection: sqlite3.Connection, path: Path) -> None:
    connection.execute("ALTER TABLE ticks RENAME TO bare_ticks")
    connection.execute(_TICKS)
    for row, run, body in connection.execute("SELECT id, run, body FROM bare_ticks ORDER BY id"):
        tick = decode(Tick, body, path=path, what=f"tick in row {row}")
        connection.execute(INSERT_TICK, tick_row(run, tick, body))
    connection.execute("DROP TABLE bare_ticks")
    for statement in _INDEXES:
        connection.execute(statement)


_MIGRATIONS: dict[int, Callable[[sqlite3.Connection, Path], None]] = {1: _give_ticks_columns}
