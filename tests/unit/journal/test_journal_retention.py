"""A journal with a retention stays bounded."""

from __future__ import annotations

from pathlib import Path

import pytest
from journal_values import header, sample, tick

from headgate.errors import UserMistake
from headgate.journal import SqliteJournal
from headgate.journal.sqlite import EXPIRE_EVERY_ROWS, EXPIRE_ROWS


@pytest.mark.parametrize("retention_s", [0.0, -5.0, float("nan")])
def test_a_retention_that_keeps_nothing_is_refused(tmp_path: Path, retention_s: float) -> None:
    with pytest.raises(UserMistake, match="keeps nothing; give more than 0 seconds"):
        SqliteJournal(tmp_path / "journal.db", retention_s=retention_s)


def test_rows_older_than_the_retention_are_removed(tmp_path: Path) -> None:
    with SqliteJournal(tmp_path / "journal.db", retention_s=100.0) as journal:
        journal.open_run(header())
        for second in range(1000):
            journal.append_sample(sample(float(second)))
            if second % 10 == 0:
                journal.append_tick(tick(second // 10, float(second)))
        oldest_sample = next(journal.samples()).time_s
        oldest_tick = next(journal.ticks()).time_s
    assert 899 - EXPIRE_EVERY_ROWS <= oldest_sample <= 899
    assert 890 - EXPIRE_EVERY_ROWS <= oldest_tick <= 900


def test_the_last_tick_stays_however_old(tmp_path: Path) -> None:
    with SqliteJournal(tmp_path / "journal.db", retention_s=10.0) as journal:
        journal.open_run(header())
        journal.append_tick(tick(0, 0.0))
        journal.append_tick(tick(1, 1.0))
        for second in range(2, 200):
            journal.append_sample(sample(float(second)))
        assert list(journal.ticks()) == [tick(1, 1.0)]


def test_what_is_removed_at_once_is_little(tmp_path: Path) -> None:
    path = tmp_path / "journal.db"
    with SqliteJournal(path) as journal:
        journal.open_run(header())
        for second in range(500):
            journal.append_sample(sample(float(second)))
    with SqliteJournal(path, retention_s=10.0) as journal:
        journal.open_run(header())
        for row in range(EXPIRE_EVERY_ROWS):
            journal.append_sample(sample(1000.0 + row))
        assert len(list(journal.samples())) == 500 - EXPIRE_ROWS + EXPIRE_EVERY_ROWS


def test_runs_of_which_nothing_is_left_are_forgotten(tmp_path: Path) -> None:
    with SqliteJournal(tmp_path / "journal.db", retention_s=10.0) as journal:
        for run in range(5):
            journal.open_run(header(started_s=100.0 * run))
            journal.append_tick(tick(run, 100.0 * run))
            for second in range(20):
                journal.append_sample(sample(100.0 * run + second))
        assert [entry.started_s for entry in journal.runs()] == [400.0]
        assert journal.header().started_s == 400.0


def test_the_file_stops_growing(tmp_path: Path) -> None:
    path = tmp_path / "journal.db"
    sizes = []
    with SqliteJournal(path, retention_s=50.0) as journal:
        journal.open_run(header())
        for second in range(3000):
            journal.append_sample(sample(float(second), executors=12))
            if second % 500 == 499:
                sizes.append(path.stat().st_size)
    assert sizes[-1] <= sizes[1] * 1.1


def test_a_shorter_retention_gives_room_back_to_the_disk(tmp_path: Path) -> None:
    path = tmp_path / "journal.db"
    with SqliteJournal(path) as journal:
        journal.open_run(header())
        for second in range(3000):
            journal.append_sample(sample(float(second), executors=12))
    before = path.stat().st_size
    with SqliteJournal(path, retention_s=10.0) as journal:
        journal.open_run(header())
        for second in range(3000, 4000):
            journal.append_sample(sample(float(second)))
    assert path.stat().st_size < before / 2
