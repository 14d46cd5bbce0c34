"""The Java processes of Kafka: one that prepares a broker's storage, and the broker itself."""

from __future__ import annotations

import os
import subprocess
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from headgate.class_archive import Sharing, find_sharing
from headgate.errors import Permanent, Temporary, UserMistake
from headgate.jars import KAFKA_BROKER, jar_files
from headgate.java import JavaInstallation, find_java
from headgate.kafka.broker.layout import Layout, Node
from headgate.kafka.broker.ports import is_free

_HEAP = "-Xmx400m"
_FORMATTED_WITHIN_S = 60.0
_UP_WITHIN_S = 90.0
_TELLING = ("Exception", "ERROR", "FATAL", "Error")


@dataclass(frozen=True, slots=True, kw_only=True)
class Installation:
    """The Java and the archives that brokers are started from."""

    java: JavaInstallation
    archives: tuple[Path, ...]
    sharing: Sharing | None = None
    """How its processes share their classes, where they can."""

    @property
    def class_path(self) -> str:
        return os.pathsep.join(str(path) for path in self.archives)

    def environment(self) -> dict[str, str]:
        # The class path is long, and command lines are for what a person wants to see of a process.
        return {**os.environ, "CLASSPATH": self.class_path}

    def command(self, *words: str, token: str) -> list[str]:
        sharing = () if self.sharing is None else self.sharing.java_options
        return [str(self.java.path), mark(token), *sharing, *words]


def find_installation() -> Installation:
    java, archives = find_java(wanted_by="Kafka"), jar_files(KAFKA_BROKER)
    return Installation(java=java, archives=archives, sharing=find_sharing("kafka", java, archives))


def mark(token: str) -> str:
    """A Java option that does nothing but prove whose process it is."""
    return f"-Dheadgate.broker={token}"


def format_storage(installation: Installation, layout: Layout) -> None:
    """Prepare the folders of all brokers, at once; a folder that has been prepared stays as it is."""
    running = [
        subprocess.Popen(
            installation.command(
                "-Xmx128m", "-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1",
                "-Dorg.slf4j.simpleLogger.defaultLogLevel=warn",
                "kafka.tools.StorageTool", "format", "--ignore-formatted",
                "-t", layout.cluster_id, "-c", str(layout.properties(node)),
                token=layout.token,
            ),
            env=installation.environment(),
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            start_new_session=True,
        )
        for node in layout.nodes
    ]  # fmt: skip
    try:
        for process in running:
            said, _ = process.communicate(timeout=_FORMATTED_WITHIN_S)
            if process.returncode:
                raise Permanent(
                    f"the storage of a Kafka broker in {layout.folder} could not be prepared: "
                    f"{telling_line(said.decode(errors='replace'))}"
                )
    except subprocess.TimeoutExpired:
        raise Permanent(
            f"preparing the storage in {layout.folder} took more than {_FORMATTED_WITHIN_S:.0f} s"
        ) from None
    finally:
        for process in running:
            if process.poll() is None:
                process.kill()
            process.wait()
            if process.stdout is not None:
                process.stdout.close()


def launch(installation: Installation, layout: Layout, node: Node) -> subprocess.Popen[bytes]:
    """Start a broker in a session of its own, so that an interrupt at the terminal does not reach it."""
    command = installation.command(
        "-Xms64m", _HEAP, "-XX:+UseSerialGC", "-XX:-UsePerfData",
        # Unpacked libraries of compression lie there; a killed broker leaves them behind.
        f"-Djava.io.tmpdir={layout.scratch(node)}",
        "-Dorg.slf4j.simpleLogger.showDateTime=true",
        "-Dorg.slf4j.simpleLogger.dateTimeFormat=yyyy-MM-dd HH:mm:ss.SSS",
        "kafka.Kafka", str(layout.properties(node)),
        token=layout.token,
    )  # fmt: skip
    with layout.log(node).open("ab") as log:
        return subprocess.Popen(
            command,
            env=installation.environment(),
            cwd=layout.node_folder(node),
            stdin=subprocess.DEVNULL,
            stdout=log,
            stderr=subprocess.STDOUT,
            start_new_session=True,
        )


def wait_ready(
    layout: Layout,
    processes: Mapping[int, subprocess.Popen[bytes]],
    *,
    answering: Callable[[], Sequence[int]],
    wanted: Sequence[int],
) -> None:
    """Until the brokers tell clients that all of these are there."""
    deadline = time.monotonic() + _UP_WITHIN_S
    while True:
        for number, process in processes.items():
            if process.poll() is not None:
                raise _died(layout, layout.node(number), process.returncode)
        try:
            there = answering()
        except Temporary:
            there = ()
        if set(wanted) <= set(there):
            return
        if time.monotonic() > deadline:
            first = layout.node(wanted[0])
            raise Permanent(
                f"Kafka was not ready after {_UP_WITHIN_S:.0f} s: brokers {list(there)} of {list(wanted)} answer; "
                f"the log is {layout.log(first)}"
            )
        time.sleep(0.05)


def telling_line(text: str) -> str:
    """The line of a log that says most about why its process ended.

    >>> telling_line("[main] INFO up\\n[main] ERROR - java.net.BindException: in use\\n\\tat a.b\\n[main] INFO bye\\n")
    '[main] ERROR - java.net.BindException: in use'
    """
    lines = [line.strip() for line in text.splitlines() if line.strip() and not line.startswith(("\tat ", "\t..."))]
    telling = [line for line in lines if any(word in line for word in _TELLING)]
    return (telling[-1] if telling else lines[-1] if lines else "its log is empty")[:300]


def _died(layout: Layout, node: Node, code: int) -> Permanent | UserMistake:
    log = layout.log(node)
    text = log.read_text(errors="replace") if log.exists() else ""
    if "BindException" in text or "Address already in use" in text:
        ports = [port for port in (node.port, node.controller_port) if not is_free(port)] or [node.port]
        return UserMistake(
            f"port {ports[0]} of Kafka broker {node.number} is taken by another program; stop that program, "
            f"or choose another port with --port (log: {log})"
        )
    return Permanent(f"Kafka broker {node.number} ended with code {code}: {telling_line(text)} (log: {log})")
