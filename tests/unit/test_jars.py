"""Java archives: fetched once, found again without a network."""

from __future__ import annotations

import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import jgo
import pytest

from headgate.errors import UserMistake
from headgate.jars import Jars, jar_files

WANTED = Jars("a thing", ("org.example:thing:1.0", "org.example:other:2.0"), transitive=True)


class Archive:
    def __init__(self, path: Path) -> None:
        self._path = path

    def resolve(self) -> Path:
        return self._path


@pytest.fixture
def repository(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """A place that has every archive; the list says what was asked there."""
    asked: list[str] = []

    def resolve(coordinates: str) -> list[Archive]:
        asked.append(coordinates)
        found = [coordinates.split(":")[1], "shared"]
        for name in found:
            (tmp_path / f"{name}.jar").write_text("content")
        return [Archive(tmp_path / f"{name}.jar") for name in found]

    monkeypatch.setattr(jgo, "resolve", resolve)
    return asked


def no_network(coordinates: str) -> list[Archive]:
    raise OSError(f"no route to the repository of {coordinates}\nsecond line")


def test_what_several_need_is_there_once(tmp_path: Path, repository: list[str]) -> None:
    files = jar_files(WANTED, cache=tmp_path / "cache")
    assert [path.name for path in files] == ["thing.jar", "shared.jar", "other.jar"]
    assert repository == list(WANTED.coordinates)


def test_the_second_time_needs_no_network(
    tmp_path: Path, repository: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    first = jar_files(WANTED, cache=tmp_path / "cache")
    monkeypatch.setattr(jgo, "resolve", no_network)
    assert jar_files(WANTED, cache=tmp_path / "cache") == first


@pytest.mark.parametrize("content", [None, "cut"], ids=["gone", "damaged"])
def test_an_archive_that_is_gone_or_damaged_is_fetched_again(
    tmp_path: Path, repository: list[str], content: str | None
) -> None:
    jar_files(WANTED, cache=tmp_path / "cache")
    archive = tmp_path / "thing.jar"
    archive.unlink()
    if content is not None:
        archive.write_text(content)
    jar_files(WANTED, cache=tmp_path / "cache")
    assert archive.read_text() == "content"
    assert len(repository) == 2 * len(WANTED.coordinates)


def test_a_damaged_note_is_not_believed(tmp_path: Path, repository: list[str]) -> None:
    first = jar_files(WANTED, cache=tmp_path / "cache")
    [note] = (tmp_path / "cache" / "jars").glob("*.json")
    note.write_text("[]")
    assert jar_files(WANTED, cache=tmp_path / "cache") == first


def test_a_cache_that_cannot_be_written_stops_nobody(tmp_path: Path, repository: list[str]) -> None:
    (tmp_path / "cache").write_text("a file")
    assert jar_files(WANTED, cache=tmp_path / "cache")


def test_without_network_and_cache_there_is_a_sentence(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(jgo, "resolve", no_network)
    with pytest.raises(UserMistake, match="a thing cannot be fetched") as mistake:
        jar_files(WANTED, cache=tmp_path)
    assert "check the network" in str(mistake.value)
    assert "\n" not in str(mistake.value)


def test_several_that_need_them_at_once_fetch_them_once(
    tmp_path: Path, repository: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Two that put the same file into one cache at the same time find halves of it."""
    inside, most, resolve = [], [0], jgo.resolve

    def slowly(coordinates: str) -> list[Archive]:
        inside.append(coordinates)
        most[0] = max(most[0], len(inside))
        time.sleep(0.05)
        inside.pop()
        found: list[Archive] = resolve(coordinates)
        return found

    monkeypatch.setattr(jgo, "resolve", slowly)
    with ThreadPoolExecutor(4) as pool:
        found = list(pool.map(lambda _: jar_files(WANTED, cache=tmp_path / "cache"), range(4)))
    assert all(files == found[0] for files in found)
    assert (most[0], repository) == (1, list(WANTED.coordinates))
