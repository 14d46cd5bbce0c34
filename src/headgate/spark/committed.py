"""The data files of a sink that count, found without Spark.

Spark's file sink and Delta Lake keep a log, and only what it names counts: an executor that was
killed leaves other files lying about, which no reader that respects the log ever sees. Sinks that
keep a folder per micro-batch need no log: a batch that is repeated replaces its folder.
"""

from __future__ import annotations

import json
from collections.abc import Iterable
from pathlib import Path
from typing import Any
from urllib.parse import unquote, urlparse

from headgate.errors import UserMistake

_LOG = "_spark_metadata"
_DELTA_LOG = "_delta_log"
_COMPACT = ".compact"
_BATCH = "batch="


def sink_files(path: Path) -> list[Path]:
    """The data files of a sink, or of every table of a folder of tables."""
    if not path.is_dir():
        raise UserMistake(f"{path} is not a sink's folder; give the folder that a sink has written")
    if (path / _LOG).is_dir():
        return committed_files(path)
    if (path / _DELTA_LOG).is_dir():
        return _delta_files(path)
    batches = sorted(path.glob(f"{_BATCH}*"))
    if batches:
        return [file for batch in batches for file in sorted(batch.glob("[!._]*.parquet"))]
    tables = [folder for folder in sorted(path.iterdir()) if folder.is_dir() and folder.name[0] not in "._"]
    return [file for table in tables for file in sink_files(table)]


def committed_files(path: Path) -> list[Path]:
    """The data files that the log of Spark's file sink has committed, in the order of their batches."""
    log = path / _LOG
    if not log.is_dir():
        raise UserMistake(f"{path} is not the output of a Spark file sink (there is no {_LOG} in it); give its folder")
    batches = {batch: file for file in sorted(log.iterdir()) if (batch := _batch_id(file)) is not None}
    # A compacted file repeats everything before it, so nothing older is needed.
    start = max((batch for batch, file in batches.items() if file.name.endswith(_COMPACT)), default=None)
    wanted = sorted(batch for batch in batches if start is None or batch >= start)
    files: dict[str, Path] = {}
    for batch in wanted:
        for entry in _entries(batches[batch]):
            if entry.get("action") == "delete":
                files.pop(entry["path"], None)
            else:
                files[entry["path"]] = _local(entry["path"], path)
    return list(files.values())


def _delta_files(path: Path) -> list[Path]:
    """What the commits of a Delta table have added and not removed again, from the first commit on."""
    files: dict[str, Path] = {}
    commits = sorted(file for file in (path / _DELTA_LOG).glob("*.json") if file.stem.isdigit())
    if commits and int(commits[0].stem) != 0:
        raise UserMistake(f"the first commits of the Delta table {path} are gone; read it with Delta Lake instead")
    for commit in commits:
        for action in _json_lines(commit, commit.read_text(encoding="utf-8").splitlines()):
            if "remove" in action:
                files.pop(action["remove"]["path"], None)
            if "add" in action:
                files[action["add"]["path"]] = path / unquote(action["add"]["path"])
    return list(files.values())


def _batch_id(file: Path) -> int | None:
    number = file.name.removesuffix(_COMPACT)
    return int(number) if number.isdigit() else None


def _entries(file: Path) -> Iterable[dict[str, Any]]:
    lines = file.read_text(encoding="utf-8").splitlines()
    if not lines or lines[0] != "v1":
        raise UserMistake(f"{file} is not a log of a Spark file sink that can be read here (its first line is not v1)")
    return _json_lines(file, lines[1:])


def _json_lines(file: Path, lines: Iterable[str]) -> list[dict[str, Any]]:
    try:
        return [json.loads(line) for line in lines if line.strip()]
    except ValueError:
        raise UserMistake(f"{file} is damaged: a line of it is not JSON; restore the sink's folder") from None


def _local(uri: str, sink: Path) -> Path:
    written = Path(unquote(urlparse(uri).path))
    # The folder may have been moved since it was written.
    return written if written.is_file() else sink / written.name
