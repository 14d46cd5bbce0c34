"""What may pass is temporary, what a person must mend is said to a person."""

from __future__ import annotations

import sqlite3
from pathlib import Path

import pytest
from journal_values import header, sample, tick

from headgate.errors import HeadgateError, Permanent, Temporary, UserMistake
from headgate.journal import SqliteJournal
from headgate.journal.faults import translate


def test_a_locked_journal_is_a_temporary_fault(tmp_path: Path) -> None:
    path = tmp_path / "journal.db"
    with SqliteJournal(path, busy_timeout_s=0.0) as journal:
        journal.open_run(header())
        other = sqlite3.connect(path, isolation_level=None)
        other.execute("BEGIN IMMEDIATE")
        with pytest.raises(Temporary, match="is locked by another process"):
            journal.append_tick(tick(0, 0.0))
        other.execute("ROLLBACK")
        other.close()
        journal.append_tick(tick(1, 1.0))
        assert [entry.index for entry in journal.ticks()] == [1]


def fill_with_samples(journal: SqliteJournal) -> None:
    for second in range(10_000):
        journal.append_sample(sample(float(second), executors=12))


@pytest.mark.parametrize("retention_s", [None, 1e6])
def test_a_full_disk_is_a_temporary_fault_and_loses_nothing_else(tmp_path: Path, retention_s: float | None) -> None:
    path = tmp_path / "journal.db"
    with SqliteJournal(path, retention_s=retention_s) as journal:
        journal.open_run(header())
        connection = journal._shelf.connection
        pages = connection.execute("PRAGMA page_count").fetchone()[0]
        connection.execute(f"PRAGMA max_page_count = {pages + 20}")
        with pytest.raises(Temporary, match="is full; make room"):
            fill_with_samples(journal)
        kept = [entry.time_s for entry in journal.samples()]
        assert kept == [float(second) for second in range(len(kept))]
        written = len(kept)
        assert written > 20
        connection.execute("PRAGMA max_page_count = 100000")
        for second in range(40):
            journal.append_sample(sample(written + float(second)))
        assert len(list(journal.samples())) == written + 40


def test_a_full_disk_while_old_rows_are_removed_takes_the_whole_step_back(tmp_path: Path) -> None:
    with SqliteJournal(tmp_path / "journal.db", retention_s=5.0) as journal:
        journal.open_run(header())
        for second in range(15):
            journal.append_sample(sample(float(second)))
        connection = journal._shelf.connection
        connection.execute(
            "CREATE TEMP TRIGGER no_room BEFORE DELETE ON samples BEGIN SELECT RAISE(ABORT, 'no room'); END"
        )
        with pytest.raises(Permanent, match="no room"):
            journal.append_sample(sample(15.0))
        assert [entry.time_s for entry in journal.samples()] == [float(second) for second in range(15)]
        connection.execute("DROP TRIGGER no_room")
        journal.append_sample(sample(16.0))
        assert not connection.in_transaction


def test_a_closed_journal_says_so(tmp_path: Path) -> None:
    journal = SqliteJournal(tmp_path / "journal.db")
    journal.open_run(header())
    rows = journal.samples()
    journal.append_sample(sample(0.0))
    journal.close()
    with pytest.raises(Permanent, match="has been closed"):
        journal.append_sample(sample(1.0))
    with pytest.raises(Permanent, match="has been closed"):
        next(rows)


@pytest.mark.parametrize(
    ("code", "kind", "words"),
    [
        (sqlite3.SQLITE_BUSY_SNAPSHOT, Temporary, "locked"),
        (sqlite3.SQLITE_IOERR_FSYNC, Temporary, "check the disk"),
        (sqlite3.SQLITE_READONLY_DBMOVED, UserMistake, "cannot be written"),
        (sqlite3.SQLITE_CANTOPEN, UserMistake, "cannot be opened"),
        (sqlite3.SQLITE_CORRUPT, UserMistake, "is damaged"),
        (sqlite3.SQLITE_CONSTRAINT, Permanent, "failed"),
        (None, Permanent, "failed"),
    ],
)
def test_every_complaint_becomes_a_sentence(code: int | None, kind: type[HeadgateError], words: str) -> None:
    error = sqlite3.OperationalError("complaint")
    if code is not None:
        error.sqlite_errorcode = code
    told = translate(error, Path("journal.db"))
    assert type(told) is kind
    assert words in str(told)
    assert "journal.db" in str(told)
