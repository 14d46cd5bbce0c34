"""Classes that Java processes share: listed by the first, made an archive beside the next, used by all later ones."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Sequence
from pathlib import Path

import pytest

from headgate.class_archive import OFF_VARIABLE, ClassArchive, Making, Sharing, Stage, find_sharing
from headgate.java import JavaInstallation, find_java


@pytest.fixture
def java() -> JavaInstallation:
    return find_java()


def sharing_in(cache: Path, java: JavaInstallation, jars: Sequence[Path] = ()) -> Sharing:
    found = find_sharing("some", java, jars, cache=cache)
    assert found is not None
    return found


def run(java: JavaInstallation, *options: str) -> str:
    done = subprocess.run([str(java.path), *options, "-version"], capture_output=True, text=True, check=True)
    return done.stdout + done.stderr


def made(sharing: Sharing, class_path: str = "") -> None:
    making = sharing.begin_making(class_path)
    assert making is not None
    making.wait(120)
    making.stop()


def test_the_first_process_lists_its_classes_the_next_makes_an_archive_and_later_ones_share_it(
    tmp_path: Path, java: JavaInstallation
) -> None:
    first = sharing_in(tmp_path, java)
    assert first.stage is Stage.LISTING
    assert first.begin_making("") is None
    run(java, *first.java_options)
    second = sharing_in(tmp_path, java)
    assert (second.stage, second.java_options) == (Stage.MAKING, ())
    made(second)
    third = sharing_in(tmp_path, java)
    assert third.stage is Stage.SHARING
    # With this Java refuses to start if it cannot use the archive.
    assert "sharing" in run(java, *third.java_options, "-Xshare:on")
    assert sorted(path.name for path in third.archive.folder.iterdir()) == [
        "classes.jsa",
        "empty",
        "lists",
        "making.lock",
    ]


def test_what_is_stopped_before_its_end_leaves_nothing_and_is_made_by_the_next(
    tmp_path: Path, java: JavaInstallation
) -> None:
    run(java, *sharing_in(tmp_path, java).java_options)
    making = sharing_in(tmp_path, java).begin_making("")
    assert making is not None
    making.stop()
    folder = sharing_in(tmp_path, java).archive.folder
    assert not list(folder.glob("making-*"))
    assert sharing_in(tmp_path, java).stage is Stage.MAKING
    made(sharing_in(tmp_path, java))
    assert sharing_in(tmp_path, java).stage is Stage.SHARING


def test_two_do_not_make_it_at_once(tmp_path: Path, java: JavaInstallation) -> None:
    run(java, *sharing_in(tmp_path, java).java_options)
    sharing = sharing_in(tmp_path, java)
    making = sharing.begin_making("")
    assert isinstance(making, Making)
    assert sharing.begin_making("") is None
    making.stop()


def test_one_that_cannot_be_made_is_not_tried_again(
    tmp_path: Path, java: JavaInstallation, monkeypatch: pytest.MonkeyPatch
) -> None:
    run(java, *sharing_in(tmp_path, java).java_options)
    sharing = sharing_in(tmp_path, java)
    # Without a class of which every other one is made.
    monkeypatch.setattr(ClassArchive, "wanted_classes", lambda _: ["java/lang/Object id: garbage"])
    made(sharing)
    after = sharing_in(tmp_path, java)
    assert (after.stage, after.java_options) == (Stage.NOTHING, ())
    assert (after.archive.folder / "failed.log").read_text()


def test_half_a_line_of_a_process_that_was_killed_is_left_out(tmp_path: Path, java: JavaInstallation) -> None:
    sharing = sharing_in(tmp_path, java)
    lists = sharing.archive.folder / "lists"
    (lists / "1.lst").write_text("java/lang/Object\njava/lang/String\njava/la")
    (lists / "2.lst").write_text("java/lang/String\na/Loaded id: 3 super: 1 source: x.jar\njava/lang/Integer\n")
    assert sharing.archive.wanted_classes() == ["java/lang/Object", "java/lang/String", "java/lang/Integer"]


def test_other_jars_have_another_archive(tmp_path: Path, java: JavaInstallation) -> None:
    jar = tmp_path / "one.jar"
    jar.write_bytes(b"first")
    before = sharing_in(tmp_path, java, [jar]).archive.folder
    assert sharing_in(tmp_path, java, [jar]).archive.folder == before
    jar.write_bytes(b"the second")
    assert sharing_in(tmp_path, java, [jar]).archive.folder != before


def test_it_can_be_switched_off_and_a_cache_that_cannot_be_written_stops_nobody(
    tmp_path: Path, java: JavaInstallation, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = tmp_path / "file"
    file.touch()
    assert find_sharing("some", java, (), cache=file) is None
    monkeypatch.setitem(os.environ, OFF_VARIABLE, "off")
    assert find_sharing("some", java, (), cache=tmp_path) is None
