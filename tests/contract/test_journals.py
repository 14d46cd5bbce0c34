"""Every journal of the package keeps the contract."""

from __future__ import annotations

from pathlib import Path

import pytest
from journal_contract import JournalContract, RunKeepingJournal, a_header, a_sample, a_tick

from headgate.core.ports import Journal
from headgate.journal import MemoryJournal, SqliteJournal, read_journal


class TestMemoryJournal(JournalContract):
    def make(self, folder: Path) -> RunKeepingJournal:
        assert folder.is_dir()
        return MemoryJournal()


class TestSqliteJournal(JournalContract):
    def make(self, folder: Path) -> RunKeepingJournal:
        return SqliteJournal(folder / "a journal?#%.db")


class TestSqliteJournalWithRetention(JournalContract):
    def make(self, folder: Path) -> RunKeepingJournal:
        return SqliteJournal(folder / "journal.db", retention_s=1e6)


@pytest.mark.parametrize("times", [1, 3])
def test_a_file_reads_the_same_as_memory_after_every_reopening(tmp_path: Path, times: int) -> None:
    path = tmp_path / "journal.db"
    memory = MemoryJournal()
    for run in range(times):
        with SqliteJournal(path) as file:
            both: tuple[Journal, ...] = (file, memory)
            for journal in both:
                journal.open_run(a_header(started_s=float(run)))
                for index in range(5):
                    journal.append_sample(a_sample(10.0 * run + index))
                    journal.append_tick(a_tick(index, 10.0 * run + index))
    with read_journal(path) as reread:
        assert reread.runs() == memory.runs()
        assert list(reread.samples(since_s=3.0)) == list(memory.samples(since_s=3.0))
        assert list(reread.ticks()) == list(memory.ticks())
        assert reread.last_tick() == memory.last_tick()
