"""How a terminal finds the controllers and agents that run on this machine.

Every running part has one file in a folder of the user's that nobody else may read, because the file
holds the part's token. A part that died without removing its file is recognised by its process and
swept away by the next one who looks. The folder may be shared between machines (a home on the
network): files of other machines are left alone.
"""

from __future__ import annotations

import hashlib
import os
import re
import secrets
import time
from contextlib import suppress
from dataclasses import dataclass, field
from enum import StrEnum
from pathlib import Path
from socket import gethostname
from types import TracebackType
from typing import Self

import platformdirs

from headgate import codec
from headgate.errors import UserMistake, nearest
from headgate.link.processes import lives, start_of

HOME_VARIABLE = "HEADGATE_HOME"


class Role(StrEnum):
    CONTROLLER = "controller"
    AGENT = "agent"


@dataclass(frozen=True, slots=True, kw_only=True)
class RunningPart:
    """A controller or an agent, and how to reach it."""

    app: str
    role: Role
    address: str
    token: str = field(repr=False)
    host: str
    pid: int
    process_start: str
    registered_s: float
    """Seconds since the epoch, to tell the newest of several."""


class Registration:
    """Stands for the file of one running part; removing it twice does nothing."""

    def __init__(self, part: RunningPart, path: Path) -> None:
        self.part = part
        self.path = path

    def remove(self) -> None:
        with suppress(OSError):
            self.path.unlink(missing_ok=True)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self.remove()


def state_home() -> Path:
    """``$HEADGATE_HOME``, or the folder for Headgate in the user's state."""
    home = os.environ.get(HOME_VARIABLE)
    return Path(home) if home else Path(platformdirs.user_state_dir("headgate"))


def registry_folder() -> Path:
    """Where running parts leave their files."""
    return state_home() / "run"


def lease_path(app: str) -> Path:
    """Where the controllers of an app find out which of them leads."""
    return state_home() / "leases" / f"{file_name(app)}.json"


def register(*, app: str, role: Role | str, address: str, token: str) -> Registration:
    """Make this process's part known, until the registration is removed or the process ends."""
    pid = os.getpid()
    part = RunningPart(
        app=app,
        role=Role(role),
        address=address,
        token=token,
        host=gethostname(),
        pid=pid,
        process_start=start_of(pid) or "unknown",
        registered_s=time.time(),
    )
    folder = registry_folder()
    path = folder / f"{part.role}-{file_name(app)}-{pid}-{secrets.token_hex(4)}.json"
    try:
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        folder.chmod(0o700)
        _write_privately(path, codec.to_json(part))
    except OSError as error:
        raise UserMistake(
            f"the folder of running parts '{folder}' cannot be used ({error.strerror}); "
            f"set {HOME_VARIABLE} to a folder that you may write"
        ) from None
    return Registration(part, path)


def running(role: Role | str | None = None) -> tuple[RunningPart, ...]:
    """What runs on this machine, by app; files of dead processes are removed."""
    parts = []
    host = gethostname()
    for path in registry_folder().glob("*.json"):
        with suppress(OSError, UserMistake):  # removed meanwhile, or not a file of ours
            part = codec.from_json(RunningPart, path.read_bytes(), where=path.name)
            if part.host != host:
                continue
            if not lives(part.pid, part.process_start):
                path.unlink(missing_ok=True)
            elif role is None or part.role == role:
                parts.append(part)
    return tuple(sorted(parts, key=lambda part: (part.app, part.role, part.registered_s)))


def find(role: Role | str, app: str | None = None) -> RunningPart:
    """The running part of that role: the only one, or that of the app, the newest of several."""
    role = Role(role)
    parts = running(role)
    names = sorted({part.app for part in parts})
    if not parts:
        raise UserMistake(
            f"no {role} is running on this machine; start one with `headgate run APP.toml` or headgate.attach(...)"
        )
    if app is not None and app not in names:
        raise UserMistake(f"no {role} of app '{app}' is running on this machine{nearest(app, names)}")
    if app is None and len(names) > 1:
        raise UserMistake(f"{len(names)} apps have their {role} running here; name one of {', '.join(names)}")
    return [part for part in parts if app is None or part.app == app][-1]


def file_name(app: str) -> str:
    """Readable where possible, and never the same for two apps.

    >>> file_name("../etc")
    '---etc-f7f9121f'
    """
    readable = re.sub(r"[^A-Za-z0-9_]", "-", app)[:40]
    return f"{readable}-{hashlib.sha256(app.encode(errors='replace')).hexdigest()[:8]}"


def _write_privately(path: Path, content: bytes) -> None:
    """Whole or not at all, and never for a moment readable by others."""
    draft = path.with_name(f".{path.name}.draft")
    descriptor = os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    try:
        with os.fdopen(descriptor, "wb") as file:
            file.write(content)
        draft.replace(path)
    except BaseException:
        draft.unlink(missing_ok=True)
        raise
