"""What runs, on record in the user's state folder.

A broker that belongs to a process is on record under its token, so that the next start can clear up
after an owner that was killed. The broker of ``headgate broker up`` belongs to the user: there is one,
it outlives the command, and nobody but ``down`` ends it.
"""

from __future__ import annotations

import contextlib
import fcntl
import json
import os
from collections.abc import Iterator
from dataclasses import asdict, dataclass, replace
from pathlib import Path

import platformdirs

from headgate.kafka.broker import layout as layouts
from headgate.kafka.broker.layout import Layout, Node
from headgate.processes import ProcessRecord, describe, end, matches, rebooted_since, this_machine

_REMEMBERED = "remembered.json"


@dataclass(frozen=True, slots=True, kw_only=True)
class BrokerRecord:
    layout: Layout
    machine: str
    owner: ProcessRecord | None = None
    """Whose it is; ``None`` for the user's own."""
    processes: tuple[ProcessRecord, ...] = ()
    failed: bool = False
    """Whether it never came up: then nothing of it but the log is worth keeping."""

    @property
    def host(self) -> str:
        return self.machine.split()[0]

    def process_of(self, number: int) -> ProcessRecord | None:
        """The living process of a broker."""
        if self.machine == this_machine():
            for process in self.processes:
                if process.role == role_of(number) and matches(process, token=self.layout.token):
                    return process
        return None

    @property
    def alive(self) -> tuple[int, ...]:
        """Numbers of the brokers whose process lives."""
        return tuple(node.number for node in self.layout.nodes if self.process_of(node.number) is not None)


def role_of(number: int) -> str:
    return f"broker {number}"


def new_record(layout: Layout, *, owned: bool) -> BrokerRecord:
    owner = describe(os.getpid(), role="owner") if owned else None
    return BrokerRecord(layout=layout, machine=this_machine(), owner=owner)


def with_process(record: BrokerRecord, number: int, pid: int) -> BrokerRecord:
    """The record after a broker's process was started, which replaces an earlier one of it."""
    others = [process for process in record.processes if process.role != role_of(number)]
    return replace(record, processes=(*others, describe(pid, role=role_of(number))))


def state_home() -> Path:
    """The environment variable HEADGATE_HOME moves it."""
    return Path(os.environ.get("HEADGATE_HOME") or platformdirs.user_state_dir("headgate")) / "brokers"


def record_path(record: BrokerRecord) -> Path:
    return state_home() / (_REMEMBERED if record.owner is None else f"{record.layout.token}.json")


def write_record(record: BrokerRecord) -> None:
    path = record_path(record)
    path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
    draft = path.with_suffix(".draft")
    draft.write_text(json.dumps(asdict(record)), encoding="utf-8")
    draft.replace(path)


def forget(record: BrokerRecord) -> None:
    record_path(record).unlink(missing_ok=True)


def remembered() -> BrokerRecord | None:
    """The user's own broker, running or kept."""
    return _read(state_home() / _REMEMBERED)


@contextlib.contextmanager
def only_one() -> Iterator[None]:
    """Two commands on the user's broker at the same time go one after the other."""
    folder = state_home()
    folder.mkdir(parents=True, exist_ok=True, mode=0o700)
    with (folder / "remembered.lock").open("a") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        yield


def reclaim() -> int:
    """End and remove the brokers of dead owners, leaving all that cannot be proved; how many processes there were."""
    ended = 0
    folder = state_home()
    for path in sorted(folder.glob("*.json")) if folder.is_dir() else ():
        record = _read(path)
        if record is None or record.owner is None or not _ours_to_clear(record, record.owner):
            continue
        if record.machine == this_machine():
            ended += end(record.processes, token=record.layout.token)
        layouts.remove(record.layout)
        path.unlink(missing_ok=True)
    return ended


def _ours_to_clear(record: BrokerRecord, owner: ProcessRecord) -> bool:
    if record.machine == this_machine():
        return not matches(owner)
    return rebooted_since(record.machine)


def _read(path: Path) -> BrokerRecord | None:
    try:
        data = json.loads(path.read_text(encoding="utf-8"))
        layout = data["layout"]
        nodes = tuple(Node(**node) for node in layout.pop("nodes"))
        owner = data["owner"]
        return BrokerRecord(
            layout=Layout(**layout, nodes=nodes),
            machine=data["machine"],
            owner=None if owner is None else ProcessRecord(**owner),
            processes=tuple(ProcessRecord(**process) for process in data["processes"]),
            failed=data["failed"],
        )
    except (OSError, ValueError, TypeError, KeyError, AttributeError):
        return None
