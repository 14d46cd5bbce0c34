"""Older layouts are read as they are and migrated when they are written."""

from __future__ import annotations

import sqlite3
from pathlib import Path

import pytest
from journal_values import header, sample, tick

from headgate import codec
from headgate.errors import UserMistake
from headgate.journal import SqliteJournal, layout, read_journal


def write_version_1(path: Path, *, ticks: int = 5) -> None:
    connection = sqlite3.connect(path)
    connection.executescript(
        f"""
        PRAGMA application_id = {layout.APPLICATION_ID};
        PRAGMA user_version = 1;
        CREATE TABLE runs (id INTEGER PRIMARY KEY, header TEXT NOT NULL);
        CREATE TABLE samples (id INTEGER PRIMARY KEY, run INTEGER NOT NULL, time_s REAL NOT NULL, body TEXT NOT NULL);
        CREATE TABLE ticks (id INTEGER PRIMARY KEY, run INTEGER NOT NULL, time_s REAL NOT NULL, body TEXT NOT NULL);
        """
    )
    connection.execute("INSERT INTO runs VALUES (1, ?)", (codec.to_json(header()).decode(),))
    for index in range(ticks):
        at = float(index)
        connection.execute("INSERT INTO samples VALUES (?, 1, ?, ?)", (index, at, codec.to_json(sample(at)).decode()))
        body = codec.to_json(tick(index, at, executors=index + 1)).decode()
        connection.execute("INSERT INTO ticks VALUES (?, 1, ?, ?)", (index, at, body))
    connection.commit()
    connection.close()


def contents(path: Path, statement: str) -> list[tuple[object, ...]]:
    connection = sqlite3.connect(path)
    try:
        return connection.execute(statement).fetchall()
    finally:
        connection.close()


def test_a_version_1_journal_is_migrated_and_goes_on(tmp_path: Path) -> None:
    path = tmp_path / "journal.db"
    write_version_1(path)
    with SqliteJournal(path) as journal:
        assert [entry.index for entry in journal.ticks()] == [0, 1, 2, 3, 4]
        assert journal.last_tick() == tick(4, 4.0, executors=5)
        journal.open_run(header(started_s=5.0))
        journal.append_tick(tick(5, 5.0, executors=9))
        journal.append_sample(sample(5.0))
        assert [entry.time_s for entry in journal.samples(since_s=4.0)] == [4.0, 5.0]
    assert contents(path, "PRAGMA user_version") == [(layout.LAYOUT,)]
    assert contents(path, "SELECT number, epoch, outcome, wanted, granted, run FROM ticks WHERE number > 3") == [
        (4, 2, "applied", 6, 5, 1),
        (5, 2, "applied", 10, 9, 2),
    ]
    assert contents(path, "SELECT name FROM sqlite_master WHERE type = 'index' ORDER BY name") == [
        ("samples_by_time",),
        ("ticks_by_time",),
    ]
    assert contents(path, "PRAGMA integrity_check") == [("ok",)]


def test_a_version_1_journal_is_read_without_being_changed(tmp_path: Path) -> None:
    path = tmp_path / "journal.db"
    write_version_1(path)
    before = path.read_bytes()
    with read_journal(path) as journal:
        assert journal.header() == header()
        assert [entry.time_s for entry in journal.samples(since_s=3.0)] == [3.0, 4.0]
        assert journal.last_tick() == tick(4, 4.0, executors=5)
    assert path.read_bytes() == before


def test_a_migration_that_fails_changes_nothing(tmp_path: Path) -> None:
    path = tmp_path / "journal.db"
    write_version_1(path)
    connection = sqlite3.connect(path)
    connection.execute("UPDATE ticks SET body = '{\"index\": 3}' WHERE id = 3")
    connection.commit()
    connection.close()
    with pytest.raises(UserMistake, match=r"is damaged .*tick in row 3"):
        SqliteJournal(path)
    assert contents(path, "PRAGMA user_version") == [(1,)]
    assert contents(path, "SELECT count(*) FROM ticks") == [(5,)]
    assert contents(path, "SELECT name FROM sqlite_master WHERE name = 'bare_ticks'") == []


def test_a_present_journal_is_opened_again_without_being_migrated(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "journal.db"
    SqliteJournal(path).close()
    monkeypatch.setattr(layout, "_MIGRATIONS", {})
    SqliteJournal(path).close()


def test_time_is_found_by_index(tmp_path: Path) -> None:
    path = tmp_path / "journal.db"
    SqliteJournal(path).close()
    plan = contents(
        path,
        "EXPLAIN QUERY PLAN SELECT time_s, id, body FROM samples WHERE run = 1 AND id <= 9 AND (time_s, id) > (5, -1)"
        " ORDER BY time_s, id LIMIT 256",
    )
    text = str(plan)
    assert "samples_by_time" in text
    assert "TEMP B-TREE" not in text
