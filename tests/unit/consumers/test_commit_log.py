"""The log of commits: whoever reads a partition under the newest epoch goes on where it ended, and nobody else."""

from __future__ import annotations

import json
import random
import threading
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from headgate.consumers.commit_log import Commit, CommitLog, Fenced, Range
from headgate.consumers.lake import Lake, committed_files, overlaps, read_table
from headgate.errors import Permanent


def commit(log: CommitLog, partition: str, first: int, end: int, *, epoch: int, consumer: int = 1) -> Commit:
    ranges = {partition: Range(epoch=epoch, first=first, end=end)}
    return log.commit(ranges, consumer=consumer, name=f"{partition}-{first}-{consumer}", files={})


class TestLog:
    def test_a_partition_goes_on_where_it_ended_also_for_the_next_reader(self, tmp_path: Path) -> None:
        log = CommitLog(tmp_path)
        claimed, refused = log.claim({"a-0": 5}, consumer=1)
        assert (claimed["a-0"].end, refused) == (None, ())
        commit(log, "a-0", 0, 10, epoch=5)
        other = CommitLog(tmp_path)
        claimed, refused = other.claim({"a-0": 6}, consumer=2)
        assert (claimed["a-0"].end, claimed["a-0"].epoch, refused) == (10, 6, ())

    def test_who_was_replaced_can_commit_nothing_more(self, tmp_path: Path) -> None:
        old, new = CommitLog(tmp_path), CommitLog(tmp_path)
        old.claim({"a-0": 5, "a-1": 5}, consumer=1)
        new.claim({"a-0": 6}, consumer=2)
        with pytest.raises(Fenced, match="a-0") as refused:
            old.commit(
                {"a-0": Range(epoch=5, first=0, end=9), "a-1": Range(epoch=5, first=0, end=9)},
                consumer=1,
                name="late",
                files={},
            )
        assert refused.value.partitions == ("a-0",)
        assert old.positions()["a-1"].end is None, "all of a commit, or nothing of it"
        assert old.claim({"a-0": 5}, consumer=1) == ({}, ("a-0",))

    def test_no_offset_is_committed_twice_or_left_out(self, tmp_path: Path) -> None:
        log = CommitLog(tmp_path)
        log.claim({"a-0": 1}, consumer=1)
        commit(log, "a-0", 0, 10, epoch=1)
        for first in (0, 9, 11):
            with pytest.raises(Fenced):
                commit(log, "a-0", first, 20, epoch=1)

    def test_a_partition_that_nobody_claimed_takes_nothing(self, tmp_path: Path) -> None:
        with pytest.raises(Fenced):
            commit(CommitLog(tmp_path), "a-0", 0, 10, epoch=1)

    def test_claiming_again_is_no_commit(self, tmp_path: Path) -> None:
        log = CommitLog(tmp_path)
        log.claim({"a-0": 1}, consumer=1)
        log.claim({"a-0": 1}, consumer=1)
        assert log.number == 1

    def test_a_reader_that_begins_late_finds_the_same_whether_there_is_a_checkpoint_or_not(
        self, tmp_path: Path
    ) -> None:
        log = CommitLog(tmp_path)
        log.claim({"a-0": 1}, consumer=1)
        for step in range(120):
            commit(log, "a-0", 10 * step, 10 * step + 10, epoch=1)
        assert (tmp_path / "_commits" / "checkpoint.json").exists()
        assert CommitLog(tmp_path).positions() == log.positions()
        (tmp_path / "_commits" / "checkpoint.json").write_text("garbage")
        assert CommitLog(tmp_path).positions() == log.positions()
        assert log.find("a-0-500-1") is not None
        assert log.find("nothing") is None

    def test_a_commit_that_cannot_be_read_is_said(self, tmp_path: Path) -> None:
        log = CommitLog(tmp_path)
        log.claim({"a-0": 1}, consumer=1)
        (tmp_path / "_commits" / f"{1:020d}.json").write_text("{")
        with pytest.raises(Permanent, match=r"commit 1 .*restore"):
            CommitLog(tmp_path).positions()

    def test_several_that_write_at_once_get_a_number_each(self, tmp_path: Path) -> None:
        problems: list[BaseException] = []

        def work(number: int) -> None:
            try:
                log = CommitLog(tmp_path)
                log.claim({f"a-{number}": 1}, consumer=number)
                for step in range(30):
                    commit(log, f"a-{number}", step, step + 1, epoch=1, consumer=number)
            except BaseException as error:
                problems.append(error)

        threads = [threading.Thread(target=work, args=(number,)) for number in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert problems == []
        commits = list(CommitLog(tmp_path).commits())
        assert [each.number for each in commits] == list(range(1, len(commits) + 1))
        assert sum(len(each.ranges) for each in commits) == 120
        assert overlaps(commits) == []

    @settings(max_examples=40)
    @given(seed=st.integers(0, 100_000))
    def test_readers_that_come_and_go_and_come_back_never_leave_an_overlap(
        self, seed: int, tmp_path_factory: pytest.TempPathFactory
    ) -> None:
        chance, folder = random.Random(seed), tmp_path_factory.mktemp("lake")
        logs = [CommitLog(folder) for _ in range(3)]
        epochs: list[dict[str, int]] = [{} for _ in logs]
        ends: list[dict[str, int]] = [{} for _ in logs]
        newest = 0
        for step in range(60):
            who, partition = chance.randrange(3), f"a-{chance.randrange(3)}"
            if chance.random() < 0.3:
                newest += 1
                claimed, _ = logs[who].claim({partition: newest}, consumer=who)
                epochs[who][partition] = newest
                ends[who][partition] = claimed[partition].end or 0
            elif partition in epochs[who]:
                first = ends[who][partition]
                wanted = {partition: Range(epoch=epochs[who][partition], first=first, end=first + 5)}
                try:
                    logs[who].commit(wanted, consumer=who, name=str(step), files={})
                    ends[who][partition] = first + 5
                except Fenced:
                    del epochs[who][partition]
        assert overlaps(CommitLog(folder).commits()) == []


class TestOverlaps:
    def test_what_was_committed_twice_left_out_or_out_of_turn_is_told(self) -> None:
        def made(number: int, first: int, end: int, epoch: int = 1) -> Commit:
            ranges = {"a-0": Range(epoch=epoch, first=first, end=end)}
            return Commit(number=number, consumer=1, time_ms=0, name=str(number), ranges=ranges)

        assert "again" in overlaps([made(1, 0, 10), made(2, 5, 15)])[0]
        assert "gap" in overlaps([made(1, 0, 10), made(2, 15, 20)])[0]
        assert "older epoch" in overlaps([made(1, 0, 10, epoch=2), made(2, 10, 20, epoch=1)])[0]


class TestLake:
    def written(self, lake: Lake, name: str, rows: int) -> dict[str, tuple[str, ...]]:
        import pyarrow as pa
        import pyarrow.parquet as pq

        folder = lake.aside(name) / "table=t01"
        folder.mkdir(parents=True)
        pq.write_table(pa.table({"sequence": list(range(rows))}), folder / "part-0.parquet")
        return lake.written(name)

    def test_only_what_was_committed_is_read_before_and_after_it_was_put_in_its_place(self, tmp_path: Path) -> None:
        lake, log = Lake(tmp_path), CommitLog(tmp_path)
        log.claim({"a-0": 1}, consumer=1)
        self.written(lake, "never", 7)
        files = self.written(lake, "first", 3)
        assert committed_files(tmp_path) == {}
        done = log.commit({"a-0": Range(epoch=1, first=0, end=3)}, consumer=1, name="first", files=files)
        assert read_table(tmp_path, "t01").num_rows == 3
        lake.publish(done)
        lake.publish(done)
        assert read_table(tmp_path, "t01").num_rows == 3
        # Where programs look that know nothing of the log.
        assert [path.name for path in (tmp_path / "t01").iterdir()] == ["000000000002-part-0.parquet"]
        assert not lake.aside("first").exists()
        lake.forget("never")
        assert not lake.aside("never").exists()

    def test_rows_are_appended_once_to_tables_that_know_transactions(self, tmp_path: Path) -> None:
        appended: list[tuple[str, int, int]] = []

        def append(table: str, files: list[Path], folder: Path, done: Commit) -> None:
            assert all(path.exists() for path in files)
            appended.append((table, len(files), done.number))

        lake, log = Lake(tmp_path, append=append), CommitLog(tmp_path)
        log.claim({"a-0": 1}, consumer=1)
        files = self.written(lake, "first", 3)
        done = log.commit({"a-0": Range(epoch=1, first=0, end=3)}, consumer=1, name="first", files=files)
        lake.publish(done)
        lake.publish(done)
        assert appended == [("t01", 1, 2)]

    def test_a_commit_is_plain_json_that_other_programs_can_read(self, tmp_path: Path) -> None:
        log = CommitLog(tmp_path)
        log.claim({"a-0": 1}, consumer=1)
        commit(log, "a-0", 0, 10, epoch=1)
        text = json.loads((tmp_path / "_commits" / f"{2:020d}.json").read_text())
        assert text["ranges"] == {"a-0": {"epoch": 1, "first": 0, "end": 10, "lost": 0}}
