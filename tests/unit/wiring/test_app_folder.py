"""What an app keeps in its folder, and what it finds there."""

from __future__ import annotations

from pathlib import Path

import pytest

from headgate.config import AppFile, parse_app
from headgate.errors import UserMistake
from headgate.wiring.examples import example_app, named_app
from headgate.wiring.run_note import RunNote, read_note, set_aside

APP = """
name = "x"
[[operators]]
name = "a"
function = "m:f"
reads = ["t"]
sink = {}
[[producers]]
topic = "t"
records = "rows"
workload = "constant"
"""


def app_in(folder: Path) -> AppFile:
    return parse_app(APP, where="app.toml").model_copy(update={"folder": folder})


def test_a_note_is_read_as_it_was_written(tmp_path: Path) -> None:
    assert read_note(tmp_path) is None
    note = RunNote(cluster="abc", starts={"t": {0: 5, 1: 0}}, produced={"t": 900}, whole=False)
    note.write(tmp_path)
    assert read_note(tmp_path) == note


@pytest.mark.parametrize("text", ["", "[]", '{"cluster": "a"}', '{"cluster": "a", "starts": 3, "produced": {}}'])
def test_a_damaged_note_is_one_sentence(tmp_path: Path, text: str) -> None:
    (tmp_path / "topics.json").write_text(text)
    with pytest.raises(UserMistake, match=r"topics.json is damaged; remove the folder"):
        read_note(tmp_path)


def test_only_what_the_app_wrote_is_set_aside(tmp_path: Path) -> None:
    app = app_in(tmp_path)
    assert set_aside(app) is None
    RunNote(cluster="abc", starts={}).write(tmp_path)
    for path in ("checkpoints/a/offsets/0", "sink/batch=0/x.parquet", "x.db", "x.db-wal", "x.html", "mine.txt"):
        (tmp_path / path).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / path).write_text("")
    place = set_aside(app)
    assert place is not None
    assert sorted(path.name for path in tmp_path.iterdir()) == ["earlier", "mine.txt"]
    assert (place / "sink" / "batch=0" / "x.parquet").exists()
    assert (place / "x.db-wal").exists()


def test_an_example_is_found_by_its_name_and_works_below_the_present_folder(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    assert example_app("trace").name == "trace.toml"
    assert named_app(Path("trace")).folder == tmp_path / "out" / "trace"
    with pytest.raises(UserMistake, match="there is no example 'trase'; did you mean 'trace'"):
        named_app(Path("trase"))


def test_a_file_is_taken_before_an_example_of_that_name(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    Path("trace").write_text('name = "mine"\n[stream]\nworkload = "sine"')
    assert named_app(Path("trace")).name == "mine"
    with pytest.raises(UserMistake, match="cannot be read"):
        named_app(Path("gone.toml"))
