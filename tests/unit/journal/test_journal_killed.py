"""A writer that is killed at any moment loses at most the tick in flight, and the file stays sound."""

from __future__ import annotations

import random
import signal
import sqlite3
import subprocess
import sys
from pathlib import Path

from headgate.journal import SqliteJournal, read_journal

WRITER = """
import itertools, sys
sys.path.insert(0, sys.argv[2])
from journal_values import header, sample, tick
from headgate.journal import SqliteJournal
print("-1", flush=True)
journal = SqliteJournal(sys.argv[1], retention_s=1e9)
journal.open_run(header())
last = journal.last_tick()
for index in itertools.count(0 if last is None else last.index + 1):
    journal.append_sample(sample(float(index), executors=12))
    journal.append_tick(tick(index, float(index)))
    print(index, flush=True)
"""


def test_nothing_that_was_appended_is_lost_when_the_writer_is_killed(tmp_path: Path) -> None:
    path = tmp_path / "journal.db"
    chance = random.Random(4)
    survived = -1
    # The first is killed while it creates the file; the log is folded back every few hundred ticks.
    rounds = (1, 2, *(chance.randrange(3, most) for most in (10, 50, 500, 1000, 1000)), 1000)
    for kills, lines in enumerate(rounds, start=1):
        writer = subprocess.Popen(
            [sys.executable, "-c", WRITER, str(path), str(Path(__file__).parent)], stdout=subprocess.PIPE, text=True
        )
        assert writer.stdout is not None
        with writer.stdout as printed:
            for _ in range(lines):
                survived = max(survived, int(printed.readline()))
            writer.send_signal(signal.SIGKILL)
            # What was printed between the last line that was read and the kill must be there as well.
            for line in printed:
                if line.endswith("\n"):
                    survived = max(survived, int(line))
            assert writer.wait() == -signal.SIGKILL
        if survived < 0:
            continue
        with read_journal(path) as journal:
            indexes = [tick.index for tick in journal.ticks()]
            # Each kill may have come between a sample and its tick.
            assert 0 <= len(list(journal.samples())) - len(indexes) <= kills
        assert indexes == list(range(len(indexes)))
        assert survived <= indexes[-1] <= survived + 1
        connection = sqlite3.connect(path)
        assert connection.execute("PRAGMA integrity_check").fetchall() == [("ok",)]
        connection.close()
    assert survived > 1000
    with SqliteJournal(path) as journal:
        assert len(rounds) - 2 <= len(journal.runs()) <= len(rounds)
