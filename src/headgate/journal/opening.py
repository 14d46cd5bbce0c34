"""Getting hold of a journal file, and saying in one sentence why that is not possible.

A reader never changes the file. Where it may not even write into the folder (a read-only disk, the
folder of another person), SQLite can still read a journal whose log is folded in, or whose index of
the log is there; a log without its index is read from a copy.
"""

from __future__ import annotations

import shutil
import sqlite3
import tempfile
from pathlib import Path
from urllib.parse import quote

from headgate.errors import UserMistake
from headgate.journal import layout
from headgate.journal.faults import in_sentences
from headgate.journal.rows import Shelf

_MAGIC = b"SQLite format 3\x00"


def open_for_writing(path: Path, *, busy_timeout_s: float) -> Shelf:
    """Create the file, or migrate it, or take it as it is."""
    if not path.parent.is_dir():
        raise UserMistake(f"journal '{path}' has no folder to lie in; create '{path.parent}' first")
    # An empty file is welcome: it is what a process killed while it created its journal leaves behind.
    if path.exists():
        _begins_like_a_journal(path)
    with in_sentences(path):
        connection = _connect(path, "mode=rwc", busy_timeout_s)
        try:
            layout.prepare(connection, path)
            connection.execute("PRAGMA synchronous = NORMAL")
            # Without a limit the log keeps the size that one slow reader once made it grow to.
            connection.execute("PRAGMA journal_size_limit = 16777216")
        except BaseException:
            connection.close()
            raise
    return Shelf(connection, path)


def open_for_reading(path: Path, *, busy_timeout_s: float) -> Shelf:
    if not path.exists():
        raise UserMistake(f"there is no journal '{path}'; give the path of one that has been recorded")
    if not _begins_like_a_journal(path):
        raise UserMistake(f"journal '{path}' is empty: nothing has been recorded in it yet; wait, or give another file")
    scratch = None
    with in_sentences(path):
        try:
            connection = _readable(path, "mode=ro", busy_timeout_s)
        except sqlite3.OperationalError as error:
            if error.sqlite_errorcode & 0xFF not in (sqlite3.SQLITE_CANTOPEN, sqlite3.SQLITE_READONLY):
                raise
            if _log_of(path).exists():
                scratch = tempfile.TemporaryDirectory(prefix="headgate-journal-")
                connection = _readable(_copied(path, Path(scratch.name)), "mode=rw", busy_timeout_s)
            else:
                connection = _readable(path, "mode=ro&immutable=1", busy_timeout_s)
        try:
            if layout.version(connection, path) == 0:
                raise UserMistake(f"journal '{path}' is empty: nothing has been recorded in it yet; give another file")
        except BaseException:
            connection.close()
            raise
    return Shelf(connection, path, scratch=scratch)


def _begins_like_a_journal(path: Path) -> bool:
    """False for an empty file; whatever cannot be a journal is refused."""
    # Asked before opening, because opening a pipe would wait for ever.
    if not path.is_file():
        raise UserMistake(f"'{path}' is not a file, so it cannot be a journal; give the path of a file")
    try:
        with path.open("rb") as file:
            start = file.read(len(_MAGIC))
    except OSError as error:
        raise UserMistake(
            f"journal '{path}' cannot be read ({error.strerror}); check the permissions of the file and its folder"
        ) from None
    if start and start != _MAGIC:
        raise UserMistake(f"'{path}' is not a journal: it is not an SQLite file; give the path of a journal")
    return bool(start)


def _connect(path: Path, how: str, busy_timeout_s: float) -> sqlite3.Connection:
    return sqlite3.connect(
        f"file:{quote(str(path.absolute()))}?{how}",
        uri=True,
        timeout=busy_timeout_s,
        isolation_level=None,
        check_same_thread=False,
    )


def _readable(path: Path, how: str, busy_timeout_s: float) -> sqlite3.Connection:
    connection = _connect(path, how, busy_timeout_s)
    try:
        # SQLite opens a file only when it is first read.
        connection.execute("SELECT count(*) FROM sqlite_master").fetchone()
    except BaseException:
        connection.close()
        raise
    return connection


def _log_of(path: Path) -> Path:
    return path.with_name(path.name + "-wal")


def _copied(path: Path, folder: Path) -> Path:
    copy = folder / path.name
    shutil.copyfile(path, copy)
    shutil.copyfile(_log_of(path), _log_of(copy))
    return copy
