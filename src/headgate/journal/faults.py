"""What SQLite complains about, told as a sentence of the right kind.

Busy, full and failing disks may pass (``Temporary``); a damaged, foreign or forbidden file is
something that a person has to look at (``UserMistake``).
"""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from headgate.errors import HeadgateError, Permanent, Temporary, UserMistake


@contextmanager
def in_sentences(path: Path) -> Iterator[None]:
    """Let no ``sqlite3.Error`` out."""
    try:
        yield
    except sqlite3.Error as error:
        raise translate(error, path) from error


def translate(error: sqlite3.Error, path: Path) -> HeadgateError:
    # The extended codes keep the primary code in their low byte.
    match getattr(error, "sqlite_errorcode", 0) & 0xFF:
        case sqlite3.SQLITE_BUSY | sqlite3.SQLITE_LOCKED:
            return Temporary(f"journal '{path}' is locked by another process; it is tried again, or close that process")
        case sqlite3.SQLITE_FULL:
            return Temporary(f"the disk of journal '{path}' is full; make room, or set a shorter retention")
        case sqlite3.SQLITE_IOERR:
            return Temporary(f"the disk of journal '{path}' does not obey ({error}); check the disk")
        case sqlite3.SQLITE_CORRUPT:
            return damaged(path, str(error))
        case sqlite3.SQLITE_NOTADB:
            return UserMistake(f"'{path}' is not a journal: it is not an SQLite file; give the path of a journal")
        case sqlite3.SQLITE_CANTOPEN | sqlite3.SQLITE_PERM:
            return UserMistake(f"journal '{path}' cannot be opened; check the permissions of the file and its folder")
        case sqlite3.SQLITE_READONLY:
            return UserMistake(f"journal '{path}' cannot be written; check the permissions of the file and its folder")
        case _:
            return Permanent(f"journal '{path}' failed: {error}")


def damaged(path: Path, what: str) -> UserMistake:
    return UserMistake(f"journal '{path}' is damaged ({what}); move it away, or restore a copy")
