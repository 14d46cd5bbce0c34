"""The Java that Spark and Kafka will run on, found before anything is started.

Spark looks at ``JAVA_HOME`` first and at the ``PATH`` second, so this does too; what is found here
is what every process of a cluster or a broker gets.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from headgate.errors import UserMistake

LEAST_VERSION = 17
_REMEDY = (
    f"install Java {LEAST_VERSION} (for example the package openjdk-{LEAST_VERSION}-jre-headless) "
    "or let JAVA_HOME point to one"
)
_VERSION = re.compile(r'version "(\d+)(?:\.(\d+))?[^"]*"')
_ANSWER_WITHIN_S = 30.0


@dataclass(frozen=True, slots=True, kw_only=True)
class JavaInstallation:
    path: Path
    """The ``java`` executable."""
    version: int
    """The feature release: 17, 21, …"""

    @property
    def home(self) -> Path:
        """What ``JAVA_HOME`` must be for this Java to be used."""
        return self.path.resolve().parent.parent


def find_java(environment: Mapping[str, str] | None = None, *, wanted_by: str = "Spark") -> JavaInstallation:
    """The Java that would be used; a sentence with the remedy when there is none that can be."""
    env = os.environ if environment is None else environment
    path, source = _locate(env, wanted_by)
    version = _version_of(path, source)
    if version < LEAST_VERSION:
        raise UserMistake(
            f"{wanted_by} needs Java {LEAST_VERSION} or newer, but {path} (from {source}) is Java {version}; {_REMEDY}"
        )
    return JavaInstallation(path=path, version=version)


def _locate(env: Mapping[str, str], wanted_by: str) -> tuple[Path, str]:
    home = env.get("JAVA_HOME", "").strip()
    if home:
        path = Path(home) / "bin" / "java"
        if not os.access(path, os.X_OK):
            raise UserMistake(f"JAVA_HOME is {home}, but there is no Java at {path}; unset JAVA_HOME, or {_REMEDY}")
        return path, "JAVA_HOME"
    found = shutil.which("java", path=env.get("PATH", os.defpath))
    if found is None:
        raise UserMistake(
            f"{wanted_by} needs Java {LEAST_VERSION} or newer, but JAVA_HOME is not set and "
            f"there is no java on the PATH; {_REMEDY}"
        )
    return Path(found), "the PATH"


def _version_of(path: Path, source: str) -> int:
    try:
        answer = subprocess.run(
            [str(path), "-version"], capture_output=True, text=True, errors="replace", timeout=_ANSWER_WITHIN_S
        )
    except (OSError, subprocess.SubprocessError) as error:
        raise UserMistake(f"the Java at {path} (from {source}) cannot be run ({error}); {_REMEDY}") from None
    match = _VERSION.search(answer.stderr + answer.stdout)
    if match is None:
        raise UserMistake(f"the Java at {path} (from {source}) does not tell its version; {_REMEDY}")
    first, second = int(match.group(1)), match.group(2)
    # Up to Java 8 the version was written as 1.8.
    return int(second) if first == 1 and second else first
