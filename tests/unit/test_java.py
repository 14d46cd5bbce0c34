"""Finding Java, with scripts that pretend to be one."""

from __future__ import annotations

from pathlib import Path

import pytest

from headgate.errors import UserMistake
from headgate.java import find_java


def fake_java(folder: Path, version_line: str) -> Path:
    path = folder / "bin" / "java"
    path.parent.mkdir(parents=True)
    path.write_text(f"#!/bin/sh\necho '{version_line}' >&2\n")
    path.chmod(0o755)
    return path


def one_sentence(mistake: pytest.ExceptionInfo[UserMistake]) -> str:
    text = str(mistake.value)
    assert "\n" not in text
    assert "install Java 17" in text
    return text


def test_java_home_comes_before_the_path(tmp_path: Path) -> None:
    home = fake_java(tmp_path / "home", 'openjdk version "21.0.2" 2024-01-16')
    other = fake_java(tmp_path / "other", 'openjdk version "17.0.15" 2025-04-15')
    found = find_java({"JAVA_HOME": str(tmp_path / "home"), "PATH": str(other.parent)})
    assert (found.path, found.version) == (home, 21)
    assert found.home == tmp_path / "home"


def test_java_is_found_on_the_path(tmp_path: Path) -> None:
    path = fake_java(tmp_path, 'openjdk version "17" 2021-09-14')
    found = find_java({"PATH": str(path.parent)})
    assert (found.path, found.version) == (path, 17)


def test_no_java_is_said_with_the_remedy(tmp_path: Path) -> None:
    with pytest.raises(UserMistake) as mistake:
        find_java({"PATH": str(tmp_path)})
    assert "no java on the PATH" in one_sentence(mistake)


@pytest.mark.parametrize(
    ("line", "version"), [('java version "1.8.0_392"', "Java 8"), ('openjdk version "11.0.22" 2024-01-16', "Java 11")]
)
def test_an_old_java_is_named_with_its_place(tmp_path: Path, line: str, version: str) -> None:
    path = fake_java(tmp_path, line)
    with pytest.raises(UserMistake) as mistake:
        find_java({"JAVA_HOME": str(tmp_path)})
    text = one_sentence(mistake)
    assert version in text
    assert str(path) in text
    assert "JAVA_HOME" in text


def test_a_java_home_without_java_is_named(tmp_path: Path) -> None:
    with pytest.raises(UserMistake) as mistake:
        find_java({"JAVA_HOME": str(tmp_path / "nowhere"), "PATH": "/usr/bin"})
    assert "JAVA_HOME is" in one_sentence(mistake)


def test_a_java_that_says_nothing_useful_is_refused(tmp_path: Path) -> None:
    fake_java(tmp_path, "hello")
    with pytest.raises(UserMistake) as mistake:
        find_java({"JAVA_HOME": str(tmp_path)})
    assert "does not tell its version" in one_sentence(mistake)


def test_a_java_that_cannot_be_run_is_refused(tmp_path: Path) -> None:
    path = fake_java(tmp_path, "")
    path.write_bytes(b"\x00\x01not a program")
    with pytest.raises(UserMistake) as mistake:
        find_java({"JAVA_HOME": str(tmp_path)})
    assert "cannot be run" in one_sentence(mistake)
