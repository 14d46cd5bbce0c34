"""What a set of brokers looks like on disk: its nodes, their ports and the files that Kafka reads.

Everything that a broker writes is below one folder, and a note in it says what is there, so that a
folder that was kept can be brought up again.
"""

from __future__ import annotations

import base64
import contextlib
import json
import shutil
import uuid
from collections.abc import Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path

from headgate.errors import UserMistake
from headgate.kafka.broker.ports import LOOPBACK, choose_ports

_NOTE = "broker.json"
SIZES = (1, 3)


@dataclass(frozen=True, slots=True)
class SaslUser:
    """Who may enter through the secured listener."""

    name: str
    password: str = field(repr=False)
    keystore_password: str = field(default_factory=lambda: uuid.uuid4().hex, repr=False)
    """Of the file with the broker's own key."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Node:
    """One broker, which takes part in the controllers' quorum as well."""

    number: int
    port: int
    controller_port: int
    secured_port: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Layout:
    folder: str
    token: str
    """Stands in the command line of every process of this set."""
    cluster_id: str
    made_folder: bool
    """Whether the folder was made for it, and is to be removed with it."""
    nodes: tuple[Node, ...]

    @property
    def bootstrap(self) -> str:
        return ",".join(f"{LOOPBACK}:{node.port}" for node in self.nodes)

    @property
    def secured_bootstrap(self) -> str:
        return ",".join(f"{LOOPBACK}:{node.secured_port}" for node in self.nodes if node.secured_port is not None)

    def node(self, number: int) -> Node:
        for node in self.nodes:
            if node.number == number:
                return node
        raise UserMistake(f"there is no broker {number}; there are 1 to {len(self.nodes)}")

    def node_folder(self, node: Node) -> Path:
        return Path(self.folder) / f"node-{node.number}"

    def properties(self, node: Node) -> Path:
        return self.node_folder(node) / "server.properties"

    def scratch(self, node: Node) -> Path:
        return self.node_folder(node) / "tmp"

    @property
    def keystore(self) -> Path:
        """With the key of the secured listeners."""
        return self.node_folder(self.nodes[0]) / "broker.p12"

    @property
    def authority(self) -> Path:
        """The certificate by which clients of the secured listeners know that they talk to these brokers."""
        return self.node_folder(self.nodes[0]) / "broker.pem"

    def log(self, node: Node) -> Path:
        return self.node_folder(node) / "broker.log"


def plan(*, folder: Path, ports: Sequence[int], secured: bool, made_folder: bool) -> Layout:
    """A new set with these client ports, one broker each."""
    others = choose_ports(2 * len(ports), taken=ports)
    nodes = tuple(
        Node(
            number=index + 1,
            port=port,
            controller_port=others[2 * index],
            secured_port=others[2 * index + 1] if secured else None,
        )
        for index, port in enumerate(ports)
    )
    return Layout(
        folder=str(folder), token=uuid.uuid4().hex, cluster_id=_new_cluster_id(), made_folder=made_folder, nodes=nodes
    )


def _new_cluster_id() -> str:
    """As Kafka makes its own: never with a dash in front, which its tools would take for an option."""
    while True:
        made = base64.urlsafe_b64encode(uuid.uuid4().bytes).rstrip(b"=").decode()
        if not made.startswith("-"):
            return made


def write(layout: Layout, user: SaslUser | None) -> None:
    """The folders and files of a new set; only this user can read them."""
    for node in layout.nodes:
        layout.scratch(node).mkdir(parents=True, mode=0o700)
        path = layout.properties(node)
        path.touch(mode=0o600)
        path.write_text(server_properties(layout, node, user), encoding="utf-8")
    (Path(layout.folder) / _NOTE).write_text(json.dumps(asdict(layout)), encoding="utf-8")


def read(folder: Path) -> Layout | None:
    """What an earlier start has left in a folder; ``None`` if there is nothing."""
    note = folder / _NOTE
    if not note.exists():
        return None
    try:
        noted = json.loads(note.read_text(encoding="utf-8"))
        nodes = tuple(Node(**node) for node in noted.pop("nodes"))
        return Layout(**{**noted, "folder": str(folder)}, nodes=nodes)
    except (OSError, ValueError, TypeError, KeyError, AttributeError):
        raise UserMistake(f"{note} is damaged; remove the folder {folder} and start the broker anew") from None


def remove(layout: Layout) -> None:
    """Everything that was written for the set, and nothing else that is in its folder."""
    folder = Path(layout.folder)
    for node in layout.nodes:
        shutil.rmtree(layout.node_folder(node), ignore_errors=True)
    (folder / _NOTE).unlink(missing_ok=True)
    if layout.made_folder:
        # Somebody may have put a file of their own there; then the folder stays with it.
        with contextlib.suppress(OSError):
            folder.rmdir()


def server_properties(layout: Layout, node: Node, user: SaslUser | None) -> str:
    """The settings of one broker: small, on loopback, and quick to notice that another one has gone."""
    size = len(layout.nodes)
    voters = ",".join(f"{each.number}@{LOOPBACK}:{each.controller_port}" for each in layout.nodes)
    listeners = [f"PLAINTEXT://{LOOPBACK}:{node.port}"]
    if node.secured_port is not None:
        listeners.append(f"SECURED://{LOOPBACK}:{node.secured_port}")
    settings = {
        "process.roles": "broker,controller",
        "node.id": node.number,
        "controller.quorum.voters": voters,
        "listeners": ",".join([*listeners, f"CONTROLLER://{LOOPBACK}:{node.controller_port}"]),
        "advertised.listeners": ",".join(listeners),
        "controller.listener.names": "CONTROLLER",
        "inter.broker.listener.name": "PLAINTEXT",
        "listener.security.protocol.map": "CONTROLLER:PLAINTEXT,PLAINTEXT:PLAINTEXT,SECURED:SASL_SSL",
        "log.dirs": layout.node_folder(node) / "data",
        # A mistyped topic is an error and not a new topic.
        "auto.create.topics.enable": "false",
        "num.partitions": 4,
        "default.replication.factor": size,
        "min.insync.replicas": max(1, size - 1),
        "offsets.topic.num.partitions": 4,
        "offsets.topic.replication.factor": size,
        "transaction.state.log.num.partitions": 4,
        "transaction.state.log.replication.factor": size,
        "transaction.state.log.min.isr": max(1, size - 1),
        "share.coordinator.state.topic.replication.factor": size,
        "share.coordinator.state.topic.min.isr": max(1, size - 1),
        "group.initial.rebalance.delay.ms": 0,
        "broker.heartbeat.interval.ms": 1000,
        "broker.session.timeout.ms": 6000,
        "log.segment.bytes": 64 * 2**20,
        # By default the cleaner of compacted topics takes 128 MB of a heap that is small here.
        "log.cleaner.dedupe.buffer.size": 8 * 2**20,
        # Whoever develops with short retention wants to see it at work within seconds, not minutes.
        "log.retention.check.interval.ms": 5_000,
        "num.network.threads": 2,
        "num.io.threads": 4,
    }
    if user is not None:
        users = f'user_{user.name}="{_quoted(user.password)}"'
        settings |= {
            "sasl.enabled.mechanisms": "PLAIN",
            "listener.name.secured.ssl.keystore.type": "PKCS12",
            "listener.name.secured.ssl.keystore.location": layout.keystore,
            "listener.name.secured.ssl.keystore.password": user.keystore_password,
            "listener.name.secured.plain.sasl.jaas.config": (
                f"org.apache.kafka.common.security.plain.PlainLoginModule required {users};"
            ),
        }
    return "".join(f"{key}={_escaped(str(value))}\n" for key, value in settings.items())


def _quoted(text: str) -> str:
    """As it stands between the quotes of a JAAS configuration."""
    return text.replace("\\", "\\\\").replace('"', '\\"')


def _escaped(text: str) -> str:
    """As it stands in a file of Java properties, which are Latin-1."""
    escaped = text.replace("\\", "\\\\").encode("utf-16-be", errors="surrogatepass")
    units = [int.from_bytes(escaped[at : at + 2]) for at in range(0, len(escaped), 2)]
    return "".join(chr(unit) if 31 < unit < 127 else f"\\u{unit:04x}" for unit in units)
