"""Real Kafka brokers on this machine for as long as a block of code, with a hand on each of them."""

from __future__ import annotations

import atexit
import contextlib
import subprocess
import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from types import TracebackType
from typing import Self

from headgate.class_archive import Making
from headgate.errors import HeadgateError, Temporary, UserMistake
from headgate.kafka.admin import Admin
from headgate.kafka.broker import layout as layouts
from headgate.kafka.broker import state
from headgate.kafka.broker.certificate import make_certificate
from headgate.kafka.broker.daemon import Installation, find_installation, format_storage, launch, wait_ready
from headgate.kafka.broker.layout import SIZES, Layout, SaslUser
from headgate.kafka.broker.ports import check_free, choose_ports
from headgate.kafka.settings import KafkaSettings
from headgate.processes import end

_STOPPED_WITHIN_S = 30.0


class LocalBroker:
    """One Kafka broker, or three, on loopback; a context manager.

    Topics of three brokers have three replicas of which two must be in step, so one broker can be lost.
    With a ``user`` there is a second listener that is encrypted and asks for name and password (TLS, SASL/PLAIN).

    ``owned`` says that the brokers go with this process, and that a later start clears up when this process
    was killed. Those that are not owned stay until somebody takes them down.
    """

    def __init__(
        self,
        *,
        brokers: int = 1,
        folder: Path | None = None,
        ports: Sequence[int] | None = None,
        user: SaslUser | None = None,
        owned: bool = True,
    ) -> None:
        if brokers not in SIZES:
            raise UserMistake(f"{brokers} brokers are not possible; give 1, or 3 to lose one of them")
        if ports is not None and (len(ports) != brokers or len(set(ports)) != brokers):
            raise UserMistake(f"{len(ports)} ports do not fit {brokers} brokers; give one of its own to each")
        self._brokers = brokers
        self._folder = folder
        self._ports = ports
        self._user = user
        self._owned = owned
        self._installation: Installation | None = None
        self._record: state.BrokerRecord | None = None
        self._processes: dict[int, subprocess.Popen[bytes]] = {}
        self._making: Making | None = None
        """What makes later brokers start faster."""
        self._admin: Admin | None = None

    @property
    def layout(self) -> Layout:
        if self._record is None:
            raise UserMistake("the broker is not running; start it first")
        return self._record.layout

    @property
    def settings(self) -> KafkaSettings:
        """How clients reach it."""
        return KafkaSettings(self.layout.bootstrap)

    @property
    def secured(self) -> KafkaSettings:
        """How clients enter through the listener that asks who they are."""
        if self._user is None:
            raise UserMistake("this broker has no secured listener; give it a user")
        named = {"sasl.username": self._user.name, "sasl.password": self._user.password}
        wanted = {"security.protocol": "SASL_SSL", "sasl.mechanism": "PLAIN", **named}
        wanted["ssl.ca.location"] = str(self.layout.authority)
        return KafkaSettings(self.layout.secured_bootstrap, wanted)

    @property
    def alive(self) -> tuple[int, ...]:
        """Numbers of the brokers whose process lives."""
        return () if self._record is None else self._record.alive

    @property
    def processes(self) -> tuple[int, ...]:
        """Ids of the processes that live."""
        record = self._record
        found = [] if record is None else [record.process_of(node.number) for node in record.layout.nodes]
        return tuple(process.pid for process in found if process is not None)

    @property
    def logs(self) -> Mapping[int, Path]:
        return {node.number: self.layout.log(node) for node in self.layout.nodes}

    def __enter__(self) -> Self:
        self.up()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.down()

    def up(self) -> None:
        """Start all brokers; they answer when this returns. A folder that was kept goes on with its topics."""
        state.reclaim()
        self._installation = find_installation()
        kept = None if self._folder is None else layouts.read(self._folder)
        layout = self._new_layout() if kept is None else self._check_kept(kept)
        self._record = state.new_record(layout, owned=self._owned)
        state.write_record(self._record)
        if self._owned:
            atexit.register(self.down)
        try:
            self._certify(self._installation, layout)
            format_storage(self._installation, layout)
            for node in layout.nodes:
                self._launch(node.number)
            self._wait([node.number for node in layout.nodes])
            if self._owned and self._installation.sharing is not None:
                self._making = self._installation.sharing.begin_making(self._installation.class_path)
        except BaseException as error:
            # A sentence may point to a log, which must still be there then; and what was kept stays kept.
            record = self._record
            self.down(keep=kept is not None or isinstance(error, HeadgateError))
            if kept is None and not self._owned and isinstance(error, HeadgateError):
                state.write_record(replace(record, failed=True))
            raise

    def down(self, *, keep: bool = False) -> None:
        """End all brokers and remove what they wrote, unless it is to be kept; may be called twice."""
        record, self._record = self._record, None
        if record is None:
            return
        atexit.unregister(self.down)
        self._admin = None
        if self._making is not None:
            self._making.stop()
            self._making = None
        take_down(record, keep=keep)
        for process in self._processes.values():
            process.wait()
        self._processes.clear()

    def kill(self, number: int) -> None:
        """End one broker as a crash does."""
        self._end(number, patience_s=0.0)

    def stop(self, number: int) -> None:
        """End one broker in order: it hands over what it leads."""
        self._end(number, patience_s=_STOPPED_WITHIN_S)

    def start(self, number: int) -> None:
        """Start one broker again, with its port and its data; it answers when this returns."""
        self.layout.node(number)
        if number not in self.alive:
            self._launch(number)
            self._wait([number])

    def _new_layout(self) -> Layout:
        folder = self._folder or Path(tempfile.mkdtemp(prefix="headgate-broker-"))
        made = self._folder is None or not folder.exists()
        try:
            folder.mkdir(parents=True, exist_ok=True, mode=0o700)
            if any(folder.iterdir()):
                raise UserMistake(f"the folder {folder} has other things in it; give a broker an empty or a new one")
            for port in self._ports or ():
                check_free(port)
            ports = self._ports or choose_ports(self._brokers)
            layout = layouts.plan(folder=folder, ports=ports, secured=self._user is not None, made_folder=made)
            layouts.write(layout, self._user)
        except OSError as error:
            raise UserMistake(f"the folder {folder} cannot be used for a broker ({error.strerror})") from None
        except UserMistake:
            if made:
                with contextlib.suppress(OSError):
                    folder.rmdir()
            raise
        return layout

    def _check_kept(self, kept: Layout) -> Layout:
        if len(kept.nodes) != self._brokers:
            raise UserMistake(
                f"the folder {kept.folder} was kept from {len(kept.nodes)} brokers and cannot be used for "
                f"{self._brokers}; ask for {len(kept.nodes)}, or give another folder"
            )
        ports = tuple(node.port for node in kept.nodes)
        if self._ports is not None and tuple(self._ports) != ports:
            raise UserMistake(
                f"the broker kept in {kept.folder} has port {ports[0]}, not {self._ports[0]}; leave the port out, "
                "or give another folder"
            )
        for port in ports:
            check_free(port)
        return kept

    def _certify(self, installation: Installation, layout: Layout) -> None:
        if self._user is not None and not layout.keystore.exists():
            make_certificate(
                installation.java,
                keystore=layout.keystore,
                authority=layout.authority,
                password=self._user.keystore_password,
            )

    def _launch(self, number: int) -> None:
        assert self._installation is not None
        assert self._record is not None
        process = launch(self._installation, self.layout, self.layout.node(number))
        self._processes[number] = process
        self._record = state.with_process(self._record, number, process.pid)
        state.write_record(self._record)

    def _wait(self, numbers: Sequence[int]) -> None:
        watched = {number: self._processes[number] for number in numbers}
        wait_ready(self.layout, watched, answering=self._answering, wanted=numbers)

    def _answering(self) -> tuple[int, ...]:
        if self._admin is None:
            self._admin = Admin(self.settings, within_s=0.5)
        return tuple(self._admin.metadata().brokers)

    def _end(self, number: int, *, patience_s: float) -> None:
        self.layout.node(number)
        process = None if self._record is None else self._record.process_of(number)
        if process is not None:
            end([process], token=self.layout.token, patience_s=patience_s)
            self._processes[number].wait()


def take_down(record: state.BrokerRecord, *, keep: bool) -> None:
    """End the processes on record; remove what they wrote, or let them close it in order."""
    end(record.processes, token=record.layout.token, patience_s=_STOPPED_WITHIN_S if keep else 0.0)
    if not keep:
        layouts.remove(record.layout)
    if record.owner is not None or not keep:
        state.forget(record)


def answering(layout: Layout, *, within_s: float = 2.0) -> tuple[int, ...]:
    """Numbers of the brokers that clients are told of now; none when nobody answers."""
    try:
        return tuple(sorted(Admin(KafkaSettings(layout.bootstrap), within_s=within_s).metadata().brokers))
    except Temporary:
        return ()
