"""Java's classes, read and checked once, and shared by all later processes of the same kind.

Much of the processor time that Spark needs to start goes into loading some fifteen thousand classes. Java can keep them
in an archive that later processes map into memory (class-data sharing). The first processes write down which classes
they load; later, while others run, one of low priority makes the archive of them; from then on it is used. Nothing
ever waits for it, and nothing depends on it: an archive that does not fit is left aside by Java itself.

An archive holds only classes from jars; Java makes none where the class path has a folder with something in it.
"""

from __future__ import annotations

import contextlib
import fcntl
import hashlib
import logging
import os
import subprocess
import tempfile
from collections.abc import Iterable
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path

from platformdirs import user_cache_path

from headgate.java import JavaInstallation

log = logging.getLogger(__name__)

OFF_VARIABLE = "HEADGATE_CLASS_ARCHIVES"
"""Set to ``off``, no archives are made or used."""
_SILENT = ("-Xlog:cds=off", "-Xlog:cds+heap=off", "-Xlog:class+path=off")
_LEAST_URGENT = 19


@dataclass(frozen=True, slots=True, kw_only=True)
class ClassArchive:
    """The archive of one Java and one class path; its folder may not exist yet."""

    folder: Path
    java: JavaInstallation

    @property
    def file(self) -> Path:
        return self.folder / "classes.jsa"

    @property
    def empty(self) -> Path:
        """A folder for class paths that must name one: empty, and always the same, because Java compares them."""
        return self.folder / "empty"

    @property
    def _lists(self) -> Path:
        return self.folder / "lists"

    @property
    def _failed(self) -> Path:
        return self.folder / "failed.log"

    def sharing(self) -> Sharing:
        """What processes that start now should do; the same for all that belong together."""
        if self.file.is_file():
            return Sharing(archive=self, stage=Stage.SHARING)
        if self._failed.exists():
            return Sharing(archive=self, stage=Stage.NOTHING)
        return Sharing(archive=self, stage=Stage.MAKING if any(self._lists.glob("*.lst")) else Stage.LISTING)

    def begin_making(self, class_path: str) -> Making | None:
        """Make the archive beside whatever else runs; ``None`` where that is not possible now."""
        try:
            return Making(self, class_path)
        except OSError as error:
            log.debug("no archive of classes is made: %s", error)
            return None

    def wanted_classes(self) -> list[str]:
        """What the lists name, once each; a process that was killed may have left half a line at the end of its own."""
        lines: dict[str, None] = {}
        for path in sorted(self._lists.glob("*.lst")):
            *whole, _ = path.read_text(encoding="utf-8", errors="replace").split("\n")
            lines.update(dict.fromkeys(line for line in whole if line and " source:" not in line))
        return list(lines)


class Stage(StrEnum):
    """Of an archive, in this order."""

    LISTING = "listing"
    MAKING = "making"
    SHARING = "sharing"
    NOTHING = "nothing"


@dataclass(frozen=True, slots=True, kw_only=True)
class Sharing:
    """How the processes of one cluster or broker take part."""

    archive: ClassArchive
    stage: Stage

    @property
    def java_options(self) -> tuple[str, ...]:
        match self.stage:
            case Stage.SHARING:
                return (f"-XX:SharedArchiveFile={self.archive.file}", *_SILENT)
            case Stage.LISTING:
                return (f"-XX:DumpLoadedClassList={self.archive._lists}/%p.lst",)
        return ()

    def begin_making(self, class_path: str) -> Making | None:
        return self.archive.begin_making(class_path) if self.stage is Stage.MAKING else None


class Making:
    """A process that makes an archive; ended with ``stop``, whether it is done or not."""

    def __init__(self, archive: ClassArchive, class_path: str) -> None:
        self._archive = archive
        self._lock = (archive.folder / "making.lock").open("ab")
        try:
            fcntl.flock(self._lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
            for left_by_a_killed_one in archive.folder.glob("making-*"):
                _remove(left_by_a_killed_one)
            self._work = Path(tempfile.mkdtemp(prefix="making-", dir=archive.folder))
        except OSError:
            self._lock.close()
            raise
        names, self._draft, self._said = self._work / "classes.lst", self._work / "classes.jsa", self._work / "said.log"
        names.write_text("\n".join(archive.wanted_classes()) + "\n", encoding="utf-8")
        command = [str(archive.java.path), "-Xshare:dump", "-Xlog:disable", "-Xlog:all=error:stderr"]
        command += ["-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1", "-XX:-UsePerfData"]
        command += [f"-XX:SharedClassListFile={names}", f"-XX:SharedArchiveFile={self._draft}", "-cp", class_path]
        with self._said.open("wb") as said:
            self._process = subprocess.Popen(
                command,
                stdin=subprocess.DEVNULL,
                stdout=said,
                stderr=subprocess.STDOUT,
                start_new_session=True,
            )
        with contextlib.suppress(OSError):
            os.setpriority(os.PRIO_PROCESS, self._process.pid, _LEAST_URGENT)

    def wait(self, timeout_s: float | None = None) -> None:
        with contextlib.suppress(subprocess.TimeoutExpired):
            self._process.wait(timeout_s)

    def stop(self) -> None:
        """Keep what was made; end the process, and leave nothing of it, if it has not finished."""
        try:
            code = self._process.poll()
            if code is None:
                self._process.kill()
                self._process.wait()
            elif code == 0 and self._draft.is_file():
                self._draft.replace(self._archive.file)
                _remove(self._archive._lists)
            else:
                self._said.replace(self._archive._failed)
        except OSError as error:
            log.debug("the archive of classes was not kept: %s", error)
        finally:
            _remove(self._work)
            self._lock.close()


def find_sharing(
    name: str, java: JavaInstallation, jars: Iterable[Path], *, cache: Path | None = None
) -> Sharing | None:
    """How to share the classes of these jars on that Java; ``None`` where no archive can be kept."""
    if os.environ.get(OFF_VARIABLE) == "off":
        return None
    facts = [str(java.path.resolve()), str(java.version)]
    try:
        facts += [f"{path} {path.stat().st_size} {path.stat().st_mtime_ns}" for path in sorted(jars)]
        key = hashlib.sha256("\n".join(facts).encode()).hexdigest()[:16]
        archive = ClassArchive(folder=(cache or user_cache_path("headgate")) / "classes" / f"{name}-{key}", java=java)
        for folder in (archive.empty, archive._lists):
            folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        log.debug("no archive of classes is kept: %s", error)
        return None
    return archive.sharing()


def _remove(folder: Path) -> None:
    for path in folder.iterdir():
        path.unlink(missing_ok=True)
    folder.rmdir()
