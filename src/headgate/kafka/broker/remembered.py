"""The user's own broker for development: brought up by one command, found again and taken down by others."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from socket import gethostname

from headgate.errors import UserMistake
from headgate.kafka.broker import layout as layouts
from headgate.kafka.broker import state
from headgate.kafka.broker.local import LocalBroker, answering, take_down
from headgate.kafka.broker.ports import USUAL_PORT, choose_ports, is_free

# The processes outlive the command that started them; nobody is to be warned of that.
_left_running: list[LocalBroker] = []


@dataclass(frozen=True, slots=True, kw_only=True)
class BrokerStatus:
    running: bool
    bootstrap: str
    brokers: int
    """How many there should be."""
    answering: int
    """How many of them clients are told of now."""
    folder: Path
    logs: tuple[Path, ...]
    pids: tuple[int, ...]
    fresh: bool = False
    """Whether this very call started it."""


def status() -> BrokerStatus | None:
    """The user's broker, running or kept; ``None`` if there is none."""
    record = state.remembered()
    return None if record is None else _status(record)


def up(*, brokers: int | None = None, port: int | None = None, folder: Path | None = None) -> BrokerStatus:
    """Bring the user's broker up, or find it running; a kept one goes on where it was."""
    with state.only_one():
        record = _of_this_host(state.remembered())
        if record is not None and record.failed:
            take_down(record, keep=False)
            record = None
        if record is not None and record.alive:
            _check_same(record, brokers=brokers, port=port, folder=folder)
            return _status(record)
        kept = record if record is not None and layouts.read(Path(record.layout.folder)) is not None else None
        wanted = folder.absolute() if folder is not None else Path(kept.layout.folder) if kept is not None else None
        if kept is not None and wanted != Path(kept.layout.folder):
            raise UserMistake(
                f"a broker is kept in {kept.layout.folder}, and only one is remembered; remove it first with "
                f"`headgate broker down`, or bring it up with --folder {kept.layout.folder}"
            )
        found = layouts.read(wanted) if wanted is not None else None
        count = brokers or (1 if found is None else len(found.nodes))
        local = LocalBroker(
            brokers=count,
            folder=wanted or state.state_home() / "data",
            ports=_ports(count, port) if found is None or port is not None else None,
            owned=False,
        )
        local.up()
        _left_running.append(local)
        fresh = state.remembered()
        assert fresh is not None
        return _status(fresh, fresh=True)


def down(*, keep: bool = False) -> BrokerStatus | None:
    """Take the user's broker down; what it was, or ``None`` if there was none."""
    with state.only_one():
        record = _of_this_host(state.remembered())
        if record is None:
            return None
        was = _status(record, ask=False)
        take_down(record, keep=keep)
        while _left_running:
            _left_running.pop().down(keep=True)
        return was


def _of_this_host(record: state.BrokerRecord | None) -> state.BrokerRecord | None:
    if record is not None and record.host != gethostname():
        raise UserMistake(
            f"the broker on record belongs to {record.host}, which shares its folder with this machine; "
            "go there, or set HEADGATE_HOME to another folder"
        )
    return record


def _ports(brokers: int, port: int | None) -> tuple[int, ...]:
    first = USUAL_PORT if port is None else port
    wanted = tuple(range(first, first + brokers))
    if port is None and not all(is_free(each) for each in wanted):
        return choose_ports(brokers)
    return wanted


def _check_same(record: state.BrokerRecord, *, brokers: int | None, port: int | None, folder: Path | None) -> None:
    layout = record.layout
    told = (
        (brokers, len(layout.nodes), "--brokers"),
        (port, layout.nodes[0].port, "--port"),
        (folder and folder.absolute(), Path(layout.folder), "--folder"),
    )
    for wanted, have, option in told:
        if wanted is not None and wanted != have:
            raise UserMistake(
                f"a broker is running already with {option} {have}, not {wanted}; take it down first with "
                "`headgate broker down`, or leave the option out"
            )


def _status(record: state.BrokerRecord, *, fresh: bool = False, ask: bool = True) -> BrokerStatus:
    layout = record.layout
    alive = [record.process_of(number) for number in record.alive]
    return BrokerStatus(
        running=bool(alive),
        bootstrap=layout.bootstrap,
        brokers=len(layout.nodes),
        answering=len(answering(layout)) if alive and ask else 0,
        folder=Path(layout.folder),
        logs=tuple(layout.log(node) for node in layout.nodes),
        pids=tuple(process.pid for process in alive if process is not None),
        fresh=fresh,
    )
