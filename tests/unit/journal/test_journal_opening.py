"""Every file that cannot be a journal is refused in one sentence."""

from __future__ import annotations

import os
import shutil
import sqlite3
import tempfile
from collections.abc import Callable
from pathlib import Path

import pytest
from journal_values import header, sample, tick

from headgate.errors import Permanent, UserMistake
from headgate.journal import SqliteJournal, opening, read_journal

Opener = Callable[[Path], SqliteJournal]
both_ways = pytest.mark.parametrize("open_journal", [SqliteJournal, read_journal], ids=["writing", "reading"])


def write_journal(path: Path, *, ticks: int = 3) -> None:
    with SqliteJournal(path) as journal:
        journal.open_run(header())
        for index in range(ticks):
            journal.append_sample(sample(float(index)))
            journal.append_tick(tick(index, float(index)))


@both_ways
def test_a_folder_is_refused(tmp_path: Path, open_journal: Opener) -> None:
    with pytest.raises(UserMistake, match="is not a file"):
        open_journal(tmp_path)


@both_ways
def test_a_pipe_is_refused_without_waiting_for_it(tmp_path: Path, open_journal: Opener) -> None:
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    with pytest.raises(UserMistake, match="is not a file"):
        open_journal(pipe)


@both_ways
@pytest.mark.parametrize("content", [b"x", b"time_s,rate\n0,1\n" * 500, b"SQLite format 2\x00" * 300])
def test_a_file_of_another_kind_is_refused(tmp_path: Path, open_journal: Opener, content: bytes) -> None:
    path = tmp_path / "journal.db"
    path.write_bytes(content)
    with pytest.raises(UserMistake, match="not an SQLite file"):
        open_journal(path)
    assert path.read_bytes() == content


@both_ways
def test_a_file_that_only_begins_like_sqlite_is_refused(tmp_path: Path, open_journal: Opener) -> None:
    path = tmp_path / "journal.db"
    path.write_bytes(b"SQLite format 3\x00" + b"\xff" * 4000)
    with pytest.raises(UserMistake, match=r"not an SQLite file|is damaged"):
        open_journal(path)


@both_ways
def test_an_sqlite_file_of_somebody_else_is_refused_and_left_alone(tmp_path: Path, open_journal: Opener) -> None:
    path = tmp_path / "shop.db"
    with sqlite3.connect(path) as connection:
        connection.execute("CREATE TABLE customers (name TEXT)")
    connection.close()
    before = path.read_bytes()
    with pytest.raises(UserMistake, match="not a journal of Headgate"):
        open_journal(path)
    assert path.read_bytes() == before


@both_ways
def test_a_journal_of_a_newer_version_is_refused(tmp_path: Path, open_journal: Opener) -> None:
    path = tmp_path / "journal.db"
    write_journal(path)
    with sqlite3.connect(path) as connection:
        connection.execute("PRAGMA user_version = 99")
    connection.close()
    with pytest.raises(UserMistake, match=r"written by a newer Headgate.*layout 99.*upgrade"):
        open_journal(path)


def test_a_missing_journal_cannot_be_read(tmp_path: Path) -> None:
    with pytest.raises(UserMistake, match="there is no journal"):
        read_journal(tmp_path / "journal.db")
    assert list(tmp_path.iterdir()) == []


def test_an_empty_file_cannot_be_read_but_becomes_a_journal(tmp_path: Path) -> None:
    path = tmp_path / "journal.db"
    path.touch()
    with pytest.raises(UserMistake, match="is empty"):
        read_journal(path)
    write_journal(path)
    with read_journal(path) as journal:
        assert journal.path == path
        assert journal.header() == header()


def test_an_sqlite_file_without_tables_cannot_be_read_but_becomes_a_journal(tmp_path: Path) -> None:
    path = tmp_path / "journal.db"
    connection = sqlite3.connect(path)
    connection.execute("PRAGMA journal_mode = WAL")
    connection.close()
    with pytest.raises(UserMistake, match="is empty"):
        read_journal(path)
    write_journal(path)
    with read_journal(path) as journal:
        assert journal.header() == header()


def test_a_journal_needs_its_folder(tmp_path: Path) -> None:
    with pytest.raises(UserMistake, match=r"no folder to lie in; create '.*nowhere' first"):
        SqliteJournal(tmp_path / "nowhere" / "journal.db")


@both_ways
def test_a_journal_that_may_not_be_read_is_refused(
    tmp_path: Path, open_journal: Opener, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "journal.db"
    write_journal(path)

    # Permissions do not bind every user who may run the tests, so the refusal itself is played.
    def refuse(*_: object, **__: object) -> None:
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr(Path, "open", refuse)
    with pytest.raises(UserMistake, match=r"cannot be read \(Permission denied\); check the permissions"):
        open_journal(path)


def refusal_for_a_common_user(path: Path) -> str:
    """What someone whom permissions bind is told when opening a journal for writing."""
    reading, writing = os.pipe()
    child = os.fork()
    if child == 0:
        try:
            if os.geteuid() == 0:
                os.setgid(65534)
                os.setuid(65534)
            SqliteJournal(path)
        except UserMistake as mistake:
            os.write(writing, str(mistake).encode())
        finally:
            os._exit(0)
    os.close(writing)
    os.waitpid(child, 0)
    with os.fdopen(reading, "rb") as pipe:
        return pipe.read().decode()


def test_a_journal_that_may_not_be_written_is_refused() -> None:
    # Outside pytest's own folder, into which another user may not look.
    with tempfile.TemporaryDirectory() as folder:
        Path(folder).chmod(0o755)
        path = Path(folder) / "journal.db"
        write_journal(path)
        path.chmod(0o444)
        assert "check the permissions" in refusal_for_a_common_user(path)


def test_a_file_system_without_shared_memory_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    connect = opening._connect

    def without_shared_memory(path: Path, how: str, busy_timeout_s: float) -> sqlite3.Connection:
        return connect(path, how + "&vfs=unix-none", busy_timeout_s)

    monkeypatch.setattr(opening, "_connect", without_shared_memory)
    with pytest.raises(UserMistake, match="put it on a local disk"):
        SqliteJournal(tmp_path / "journal.db")


def test_damaged_pages_are_reported_when_they_are_met(tmp_path: Path) -> None:
    path = tmp_path / "journal.db"
    write_journal(path, ticks=200)
    content = bytearray(path.read_bytes())
    content[4096:] = b"\xa5" * (len(content) - 4096)
    path.write_bytes(content)
    with read_journal(path) as journal, pytest.raises(UserMistake, match=r"is damaged .*; move it away"):
        list(journal.samples())


@pytest.mark.parametrize(
    "body", ["'{}'", "'[1,'", "x'00'", "x'789c4bcc05'"], ids=["no fields", "half JSON", "not deflated", "cut off"]
)
def test_a_damaged_row_is_reported_with_its_place(tmp_path: Path, body: str) -> None:
    path = tmp_path / "journal.db"
    write_journal(path)
    with sqlite3.connect(path) as connection:
        connection.execute(f"UPDATE ticks SET body = {body} WHERE id = 3")
    connection.close()
    with read_journal(path) as journal:
        assert len(list(journal.samples())) == 3
        with pytest.raises(UserMistake, match=r"is damaged .*row 3 of ticks"):
            journal.last_tick()


def test_a_reader_writes_nothing(tmp_path: Path) -> None:
    path = tmp_path / "journal.db"
    write_journal(path)
    before = path.read_bytes()
    with read_journal(path) as journal:
        with pytest.raises(Permanent, match="open for reading only"):
            journal.open_run(header())
        with pytest.raises(Permanent, match="before a run is opened"):
            journal.append_tick(tick(9, 9.0))
    assert path.read_bytes() == before


def test_a_reader_sees_what_the_writer_has_just_appended(tmp_path: Path) -> None:
    path = tmp_path / "journal.db"
    with SqliteJournal(path) as writer, read_journal(path) as reader:
        writer.open_run(header())
        for index in range(5):
            writer.append_tick(tick(index, float(index)))
            assert reader.last_tick() == tick(index, float(index))


class TestWhereTheFolderCannotBeWritten:
    """SQLite's refusal is played, because permissions do not bind every user who may run the tests."""

    @pytest.fixture(autouse=True)
    def _folder_is_read_only(self, monkeypatch: pytest.MonkeyPatch) -> None:
        connect = opening._readable

        def refusing(path: Path, how: str, busy_timeout_s: float) -> sqlite3.Connection:
            if how == "mode=ro":
                error = sqlite3.OperationalError("unable to open database file")
                error.sqlite_errorcode = sqlite3.SQLITE_CANTOPEN
                raise error
            return connect(path, how, busy_timeout_s)

        monkeypatch.setattr(opening, "_readable", refusing)

    def test_a_journal_that_was_closed_is_read_in_place(self, tmp_path: Path) -> None:
        path = tmp_path / "journal.db"
        write_journal(path)
        with read_journal(path) as journal:
            assert len(list(journal.ticks())) == 3
        assert [file.name for file in tmp_path.iterdir()] == ["journal.db"]

    def test_a_log_that_was_left_behind_is_read_from_a_copy(self, tmp_path: Path) -> None:
        killed = tmp_path / "killed.db"
        with SqliteJournal(tmp_path / "journal.db") as writer:
            writer.open_run(header())
            writer.append_tick(tick(0, 0.0))
            shutil.copy(tmp_path / "journal.db", killed)
            shutil.copy(tmp_path / "journal.db-wal", tmp_path / "killed.db-wal")
        before = killed.read_bytes()
        with read_journal(killed) as journal:
            assert journal.last_tick() == tick(0, 0.0)
        assert killed.read_bytes() == before


def test_another_fault_of_a_reader_is_not_taken_for_a_read_only_folder(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "journal.db"
    write_journal(path)

    def failing(*_: object) -> sqlite3.Connection:
        error = sqlite3.OperationalError("disk I/O error")
        error.sqlite_errorcode = sqlite3.SQLITE_NOTADB
        raise error

    monkeypatch.setattr(opening, "_readable", failing)
    with pytest.raises(UserMistake, match="not an SQLite file"):
        read_journal(path)
