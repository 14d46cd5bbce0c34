"""Auditing a sink, on folders written as Spark's file sink writes them."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from headgate.errors import UserMistake
from headgate.spark.audit import Audit, audit_parquet, audit_sequences
from headgate.spark.committed import committed_files
from headgate.spark.content import keys_of, values_of


def data_file(sink: Path, name: str, offsets: Sequence[int], *, content: bool = True, wrong: bool = False) -> str:
    sink.mkdir(exist_ok=True)
    numbers = np.array(offsets, dtype=np.int64)
    columns = {"offset": numbers}
    if content:
        columns |= {"key": keys_of(numbers), "value": values_of(numbers) + (1 if wrong else 0)}
    pq.write_table(pa.table(columns), sink / name)
    return (sink / name).as_uri()


def log(sink: Path, name: str, uris: Sequence[str], *, action: str = "add") -> None:
    folder = sink / "_spark_metadata"
    folder.mkdir(parents=True, exist_ok=True)
    lines = [json.dumps({"path": uri, "size": 1, "isDir": False, "action": action}) for uri in uris]
    (folder / name).write_text("\n".join(["v1", *lines]))


def test_a_sink_with_every_offset_once_is_exact(tmp_path: Path) -> None:
    log(tmp_path, "0", [data_file(tmp_path, "a.parquet", range(100)), data_file(tmp_path, "b.parquet", [])])
    log(tmp_path, "1", [data_file(tmp_path, "c.parquet", range(199, 99, -1))])
    audit = audit_parquet(tmp_path, 200)
    assert audit.exact
    assert (audit.records, audit.first, audit.last, audit.checksum_ok) == (200, 0, 199, True)
    assert audit.summary == "all 200 records are in the sink exactly once and with the right content"


def test_files_that_were_never_committed_do_not_count(tmp_path: Path) -> None:
    log(tmp_path, "0", [data_file(tmp_path, "a.parquet", range(10))])
    data_file(tmp_path, "left-by-a-killed-executor.parquet", range(10))
    assert audit_parquet(tmp_path, 10).exact


def test_a_compacted_log_stands_for_all_before_it(tmp_path: Path) -> None:
    uris = [data_file(tmp_path, f"{batch}.parquet", range(batch * 5, batch * 5 + 5)) for batch in range(12)]
    for batch in range(9):
        log(tmp_path, str(batch), [uris[batch]])
    log(tmp_path, "9.compact", uris[:10])
    log(tmp_path, "10", [uris[10]])
    log(tmp_path, "11", [uris[11]])
    (tmp_path / "_spark_metadata" / ".11.crc").write_bytes(b"\x00")
    assert len(committed_files(tmp_path)) == 12
    assert audit_parquet(tmp_path, 60).exact
    for batch in range(9):
        (tmp_path / "_spark_metadata" / str(batch)).unlink()
    assert audit_parquet(tmp_path, 60).exact


def test_missing_and_doubled_records_are_counted(tmp_path: Path) -> None:
    log(tmp_path, "0", [data_file(tmp_path, "a.parquet", [0, 1, 1, 3]), data_file(tmp_path, "b.parquet", [3, 4])])
    audit = audit_parquet(tmp_path, 6)
    assert not audit.exact
    assert (audit.missing, audit.doubled, audit.distinct) == (2, 2, 4)
    assert audit.summary == "the sink is not exact, of 6 records: 2 missing, 2 doubled"


def test_wrong_content_is_found(tmp_path: Path) -> None:
    log(tmp_path, "0", [data_file(tmp_path, "a.parquet", range(5), wrong=True)])
    log(tmp_path, "1", [data_file(tmp_path, "b.parquet", range(5, 9))])
    audit = audit_parquet(tmp_path, 9)
    assert audit.checksum_ok is False
    assert not audit.exact
    assert "content" in audit.summary


def test_more_than_expected_is_not_exact(tmp_path: Path) -> None:
    log(tmp_path, "0", [data_file(tmp_path, "a.parquet", range(12))])
    audit = audit_parquet(tmp_path, 10)
    assert not audit.exact
    assert "up to 11" in audit.summary


def test_a_sink_without_content_is_judged_by_offsets(tmp_path: Path) -> None:
    log(tmp_path, "0", [data_file(tmp_path, "a.parquet", range(4), content=False)])
    audit = audit_parquet(tmp_path)
    assert audit.checksum_ok is None
    assert audit.exact
    assert audit.summary == "all 4 records are in the sink exactly once"


def test_an_empty_sink_is_exact_only_if_nothing_was_expected(tmp_path: Path) -> None:
    log(tmp_path, "0", [])
    assert audit_parquet(tmp_path).exact
    assert audit_parquet(tmp_path, 3).missing == 3


def test_a_sink_that_was_moved_is_still_read(tmp_path: Path) -> None:
    log(tmp_path / "old", "0", [data_file(tmp_path / "old", "a.parquet", range(4))])
    (tmp_path / "old").rename(tmp_path / "new place")
    assert audit_parquet(tmp_path / "new place", 4).exact


def test_a_deleted_file_is_left_out(tmp_path: Path) -> None:
    uri = data_file(tmp_path, "a.parquet", range(4))
    log(tmp_path, "0", [uri])
    log(tmp_path, "1", [uri], action="delete")
    assert audit_parquet(tmp_path).records == 0


def test_what_cannot_be_read_is_said_in_one_sentence(tmp_path: Path) -> None:
    with pytest.raises(UserMistake, match="not the output of a Spark file sink"):
        audit_parquet(tmp_path)
    log(tmp_path, "0", [(tmp_path / "gone.parquet").as_uri()])
    with pytest.raises(UserMistake, match="not in its folder"):
        audit_parquet(tmp_path)
    (tmp_path / "gone.parquet").write_bytes(b"not parquet at all")
    with pytest.raises(UserMistake, match="not a Parquet file"):
        audit_parquet(tmp_path)
    pq.write_table(pa.table({"x": [1]}), tmp_path / "gone.parquet")
    with pytest.raises(UserMistake, match="no column 'offset'"):
        audit_parquet(tmp_path)
    (tmp_path / "_spark_metadata" / "0").write_text("v1\n{not json")
    with pytest.raises(UserMistake, match="damaged"):
        audit_parquet(tmp_path)
    (tmp_path / "_spark_metadata" / "0").write_text("v9\n")
    with pytest.raises(UserMistake, match="first line"):
        audit_parquet(tmp_path)


def test_an_audit_is_a_value() -> None:
    audit = Audit(records=0, distinct=0, missing=0, doubled=0, first=None, last=None, expected=0, checksum_ok=None)
    assert audit.exact


def numbered(file: Path, numbers: Sequence[int]) -> None:
    file.parent.mkdir(parents=True, exist_ok=True)
    pq.write_table(pa.table({"sequence": np.array(numbers, dtype=np.int64)}), file)


def test_a_folder_per_batch_is_audited_without_a_log(tmp_path: Path) -> None:
    numbered(tmp_path / "batch=0" / "part-0.parquet", range(5))
    numbered(tmp_path / "batch=1" / "part-0.parquet", range(5, 8))
    (tmp_path / "batch=1" / "_SUCCESS").write_text("")
    numbered(tmp_path / "batch=1" / "_temporary" / "0" / "part-1.parquet", range(5, 8))
    audit = audit_sequences(tmp_path, expected=8)
    assert audit is not None
    assert audit.exact
    assert audit.summary == "all 8 records are in the sink exactly once"


def test_every_table_of_a_folder_of_tables_counts(tmp_path: Path) -> None:
    numbered(tmp_path / "t01" / "batch=0" / "part-0.parquet", [0, 2])
    numbered(tmp_path / "t02" / "batch=0" / "part-0.parquet", [1, 2])
    audit = audit_sequences(tmp_path, expected=4)
    assert audit is not None
    assert (audit.missing, audit.doubled) == (1, 1)


def test_of_a_delta_table_counts_what_its_log_says(tmp_path: Path) -> None:
    numbered(tmp_path / "a.parquet", [0, 1])
    numbered(tmp_path / "b c.parquet", [2])
    numbered(tmp_path / "orphan.parquet", [2])
    folder = tmp_path / "_delta_log"
    folder.mkdir()
    (folder / f"{0:020}.json").write_text('{"metaData": {}}\n{"add": {"path": "a.parquet"}}')
    (folder / f"{1:020}.json").write_text('{"add": {"path": "old.parquet"}}')
    (folder / f"{2:020}.json").write_text('{"remove": {"path": "old.parquet"}}\n{"add": {"path": "b%20c.parquet"}}')
    audit = audit_sequences(tmp_path, expected=3)
    assert audit is not None
    assert audit.exact
    (folder / f"{0:020}.json").unlink()
    with pytest.raises(UserMistake, match="first commits"):
        audit_sequences(tmp_path, expected=3)


def test_while_records_are_still_to_come_only_doubles_are_faults(tmp_path: Path) -> None:
    numbered(tmp_path / "batch=0" / "part-0.parquet", [0, 5, 9])
    audit = audit_sequences(tmp_path, expected=10, complete=False)
    assert audit is not None
    assert audit.exact
    assert audit.summary == "3 of 10 records are in the sink, none of them twice"
    numbered(tmp_path / "batch=1" / "part-0.parquet", [5])
    doubled = audit_sequences(tmp_path, expected=10, complete=False)
    assert doubled is not None
    assert not doubled.exact


def test_a_sink_without_sequence_numbers_cannot_be_audited(tmp_path: Path) -> None:
    (tmp_path / "batch=0").mkdir()
    pq.write_table(pa.table({"word": ["a"]}), tmp_path / "batch=0" / "part-0.parquet")
    assert audit_sequences(tmp_path, expected=1) is None
    with pytest.raises(UserMistake, match="not a sink's folder"):
        audit_sequences(tmp_path / "nowhere", expected=1)
