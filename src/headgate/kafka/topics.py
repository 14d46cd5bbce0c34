"""Topics: made so that they are there afterwards, whoever made them, and seen by everyone."""

from __future__ import annotations

import contextlib
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from confluent_kafka import KafkaError, KafkaException
from confluent_kafka.admin import NewPartitions, NewTopic  # type: ignore[attr-defined]

from headgate.errors import Permanent, Temporary, UserMistake
from headgate.kafka.admin import END, Admin, Partition
from headgate.kafka.faults import fault, patiently
from headgate.kafka.settings import KafkaSettings

_SEEN_WITHIN_S = 30.0


@dataclass(frozen=True, slots=True)
class Topic:
    """A topic as it should be; without ``replicas`` the cluster's own default."""

    name: str
    partitions: int = 4
    replicas: int | None = None
    settings: Mapping[str, str] = field(default_factory=dict)

    def __post_init__(self) -> None:
        if not self.name or len(self.name) > 249 or self.name in (".", ".."):
            raise UserMistake(f"'{self.name}' cannot be the name of a topic; give 1 to 249 characters")
        if not all(sign.isascii() and (sign.isalnum() or sign in "._-") for sign in self.name):
            raise UserMistake(f"'{self.name}' cannot be the name of a topic; use letters, digits, '.', '_' and '-'")
        if self.partitions < 1:
            raise UserMistake(f"topic '{self.name}' cannot have {self.partitions} partitions; give 1 or more")


def ensure_topics(
    settings: KafkaSettings, topics: Iterable[Topic], *, grow: bool = False, within_s: float = _SEEN_WITHIN_S
) -> tuple[str, ...]:
    """Make the topics that are missing; every broker tells clients of all of them, and serves them, when this returns.

    One that exists with as many partitions or more is left as it is. One with fewer grows only when asked to,
    because keys then move to other partitions. The names of those that were made.
    """
    wanted = {topic.name: topic for topic in topics}
    admin = Admin(settings, within_s=within_s)
    have = _partitions(admin, wanted)
    small = [topic for name, topic in wanted.items() if 0 < have[name] < topic.partitions]
    if small and not grow:
        topic = small[0]
        raise UserMistake(
            f"topic '{topic.name}' at Kafka {settings.bootstrap} has {have[topic.name]} partitions and not "
            f"{topic.partitions}; let it grow, which moves keys to other partitions, or ask for {have[topic.name]}"
        )
    made = _create(admin, [topic for name, topic in wanted.items() if not have[name]])
    _grow(admin, small)
    _everyone_sees(
        admin, settings, lambda counts: all(counts[name] >= wanted[name].partitions for name in wanted), wanted
    )
    # A broker tells of a partition a moment before it serves it.
    partitions = [Partition(name, number) for name in wanted for number in range(wanted[name].partitions)]
    patiently(lambda: admin.offsets(partitions, END), within_s=within_s)
    return made


def delete_topics(settings: KafkaSettings, names: Sequence[str], *, within_s: float = _SEEN_WITHIN_S) -> None:
    """Delete topics; those that are not there stay away."""
    if not names:
        return
    admin = Admin(settings, within_s=within_s)
    for name, future in admin.client.delete_topics(list(names), operation_timeout=within_s).items():
        _settled(admin, future, f"deleting topic '{name}'", fine=KafkaError.UNKNOWN_TOPIC_OR_PART)
    _everyone_sees(admin, settings, lambda counts: not any(counts.values()), names)


def partitions_of(
    settings: KafkaSettings, topics: Sequence[str], *, admin: Admin | None = None
) -> dict[str, tuple[int, ...]]:
    """The partitions of each topic; a sentence for one that does not exist."""
    asked = admin or Admin(settings)
    known = asked.metadata().topics
    found = {}
    for name in topics:
        if name not in known or not known[name].partitions:
            raise UserMistake(
                f"there is no topic '{name}' at Kafka {settings.bootstrap}; create it, or check name and address"
            )
        found[name] = tuple(sorted(known[name].partitions))
    return found


def _create(admin: Admin, topics: Sequence[Topic]) -> tuple[str, ...]:
    if not topics:
        return ()
    new = [
        NewTopic(
            topic.name,
            num_partitions=topic.partitions,
            replication_factor=-1 if topic.replicas is None else topic.replicas,
            config=dict(topic.settings),
        )
        for topic in topics
    ]
    made = []
    for name, future in admin.client.create_topics(new, operation_timeout=admin.within_s).items():
        # Another process may have made it at the same moment.
        if _settled(admin, future, f"creating topic '{name}'", fine=KafkaError.TOPIC_ALREADY_EXISTS):
            made.append(name)
    return tuple(made)


def _grow(admin: Admin, topics: Sequence[Topic]) -> None:
    if topics:
        new = [NewPartitions(topic.name, topic.partitions) for topic in topics]
        for name, future in admin.client.create_partitions(new, operation_timeout=admin.within_s).items():
            _settled(admin, future, f"adding partitions to topic '{name}'", fine=KafkaError.INVALID_PARTITIONS)


def _settled(admin: Admin, future: Any, doing: str, *, fine: int) -> bool:
    """Whether it was done by us; an error that says that it has been done already is no error."""
    try:
        future.result(timeout=admin.within_s)
    except KafkaException as error:
        if error.args[0].code() == fine:
            return False
        raise fault(error, bootstrap=admin.bootstrap, doing=doing) from None
    except TimeoutError as error:
        raise fault(error, bootstrap=admin.bootstrap, doing=doing) from None
    return True


def _partitions(admin: Admin, names: Iterable[str]) -> dict[str, int]:
    """How many partitions with a leader each topic has; none for one that does not exist."""
    known = admin.metadata().topics
    counts = {}
    for name in names:
        partitions = known[name].partitions.values() if name in known and known[name].error is None else ()
        counts[name] = sum(1 for partition in partitions if partition.leader >= 0)
    return counts


def _everyone_sees(
    admin: Admin, settings: KafkaSettings, done: Callable[[dict[str, int]], bool], names: Iterable[str]
) -> None:
    """Wait until each broker tells it so, because a client may ask any of them first."""
    wanted = list(names)
    _wait_until(lambda: _partitions(admin, wanted), done, admin)
    brokers = admin.metadata().brokers.values()
    for broker in brokers if len(brokers) > 1 else ():
        # A client that knows no other address asks this one.
        with contextlib.suppress(Temporary):
            alone = KafkaSettings(f"{broker.host}:{broker.port}", settings.client)
            _wait_until(lambda alone=alone: _partitions(Admin(alone, within_s=1.0), wanted), done, admin)  # type: ignore[misc]


def _wait_until(look: Callable[[], dict[str, int]], done: Callable[[dict[str, int]], bool], admin: Admin) -> None:
    deadline = time.monotonic() + admin.within_s
    while not done(counts := look()):
        if time.monotonic() > deadline:
            said = ", ".join(f"{name}: {count}" for name, count in counts.items())
            raise Permanent(
                f"the topics at Kafka {admin.bootstrap} were not settled after {admin.within_s:.0f} s "
                f"(partitions with a leader: {said})"
            )
        time.sleep(0.02)
