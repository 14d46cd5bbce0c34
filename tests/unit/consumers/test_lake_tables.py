"""What was committed gets into Delta tables that others make at the same moment."""

from __future__ import annotations

from pathlib import Path

import pytest

from headgate.consumers import lake
from headgate.consumers.commit_log import Commit
from headgate.consumers.lake import Lake


@pytest.fixture(autouse=True)
def _quick(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(lake, "_PAUSES_S", (0.0, 0.0))


def published(root: Path, failures: int) -> int:
    """Publish a file where so many tries fail; how many tries there were."""
    tries = 0

    def append(*_: object) -> None:
        nonlocal tries
        tries += 1
        if tries <= failures:
            raise RuntimeError("somebody else has made the table")

    file = root / "_written" / "one" / "table=orders" / "part.parquet"
    file.parent.mkdir(parents=True)
    file.write_bytes(b"")
    tables = Lake(root, append=append)
    tables.publish(Commit(number=1, consumer=1, time_ms=0, name="one", files=tables.written("one")))
    assert not file.exists()
    return tries


def test_a_transaction_that_another_one_got_in_the_way_of_is_tried_again(tmp_path: Path) -> None:
    assert published(tmp_path, failures=2) == 3


def test_one_that_never_works_is_said_and_its_file_stays(tmp_path: Path) -> None:
    with pytest.raises(RuntimeError, match="somebody else"):
        published(tmp_path, failures=9)
    assert list(tmp_path.rglob("*.parquet"))
