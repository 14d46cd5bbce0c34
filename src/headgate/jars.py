"""Java archives that a plain PySpark lacks, by their coordinates: fetched once, then found again without a network.

``jgo`` resolves Maven coordinates in pure Python and keeps the files in its cache. What was found is
written down, so that the next start reads one small file and asks nobody.
"""

from __future__ import annotations

import contextlib
import fcntl
import hashlib
import json
import logging
import tempfile
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from platformdirs import user_cache_path

from headgate.errors import UserMistake

log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class Jars:
    """A set of archives that belong together."""

    name: str
    coordinates: tuple[str, ...]
    """``group:artifact:version`` each."""
    transitive: bool = False
    """Whether what they need is fetched too; without it exactly these."""


SPARK_KAFKA = Jars(
    "Spark's Kafka connector",
    (
        "org.apache.spark:spark-sql-kafka-0-10_2.13:4.2.0",
        "org.apache.spark:spark-token-provider-kafka-0-10_2.13:4.0.0",
        "org.apache.kafka:kafka-clients:3.9.2",
        "org.apache.commons:commons-pool2:2.13.1",
    ),
)
DELTA = Jars(
    "Delta Lake",
    tuple(
        f"io.delta:{artifact}:4.4.0"
        for artifact in (
            "delta-spark_2.13",
            "delta-storage",
            "delta-kernel-api",
            "delta-kernel-defaults",
            "delta-kernel-unitycatalog",
        )
    ),
)
# Kafka comes with the front of a logging library only; without a back its log would stay empty.
KAFKA_BROKER = Jars(
    "the Kafka broker", ("org.apache.kafka:kafka_2.13:4.1.0", "org.slf4j:slf4j-simple:1.7.36"), transitive=True
)


def jar_files(jars: Jars, *, cache: Path | None = None) -> tuple[Path, ...]:
    """The files of a set, fetched if they are not there yet."""
    notes = (cache or user_cache_path("headgate")) / "jars"
    text = f"{jars.coordinates} {jars.transitive}"
    note = notes / f"{hashlib.sha256(text.encode()).hexdigest()[:16]}.json"
    known = _noted(note)
    if known is not None:
        return known
    with _alone(notes):
        # Another process may have fetched them while this one waited.
        known = _noted(note)
        if known is not None:
            return known
        log.info("fetching %s (once)", jars.name)
        files = _fetched(jars)
        _write_down(note, files)
        return files


@contextlib.contextmanager
def _alone(notes: Path) -> Iterator[None]:
    """One process at a time: two that put the same file into one cache find halves of it."""
    try:
        notes.mkdir(parents=True, exist_ok=True)
        lock = (notes / "fetching.lock").open("ab")
    except OSError:
        # A cache that cannot be written stops nobody.
        yield
        return
    with lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        yield


def _noted(note: Path) -> tuple[Path, ...] | None:
    """What an earlier start has found, if all of it is still there and as big as it was."""
    with contextlib.suppress(OSError, ValueError, TypeError, AttributeError):
        sizes = json.loads(note.read_text(encoding="utf-8"))
        files = {Path(path): size for path, size in sizes.items()}
        if files and all(path.stat().st_size == size for path, size in files.items()):
            return tuple(files)
    return None


def _write_down(note: Path, files: Sequence[Path]) -> None:
    # Without the note the next start only takes longer, so a cache that cannot be written stops nobody.
    with contextlib.suppress(OSError):
        note.parent.mkdir(parents=True, exist_ok=True)
        with tempfile.NamedTemporaryFile("w", dir=note.parent, delete=False, encoding="utf-8") as draft:
            json.dump({str(path): path.stat().st_size for path in files}, draft)
        Path(draft.name).replace(note)


def _fetched(jars: Jars) -> tuple[Path, ...]:
    try:
        import jgo
        from jgo.maven import MavenContext
    except ModuleNotFoundError:
        raise UserMistake(
            f"{jars.name} needs Java archives that jgo fetches, which is not installed; "
            "run pip install 'headgate[kafka]', or open a session with your own jars"
        ) from None
    logging.getLogger("jgo").setLevel(logging.ERROR)
    try:
        if jars.transitive:
            found = [artifact for one in jars.coordinates for artifact in jgo.resolve(one)]
        else:
            context = MavenContext()
            split = [one.split(":") for one in jars.coordinates]
            found = [context.project(group, name).at_version(version).artifact() for group, name, version in split]
        return tuple(dict.fromkeys(Path(artifact.resolve()) for artifact in found))
    except Exception as error:
        reason = (str(error).splitlines() or [type(error).__name__])[0].split(" in remote repositories")[0]
        raise UserMistake(
            f"the Java archives of {jars.name} cannot be fetched ({type(error).__name__}: {reason}); "
            "check the network, or copy the folder ~/.m2/repository from a machine that has them"
        ) from None
