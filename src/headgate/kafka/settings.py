"""How a Kafka cluster is reached: one value, given to every client and to Spark, that never shows its secrets."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import NoReturn

from headgate.errors import UserMistake
from headgate.kafka.names import ADDRESSES, CLIENT_NAMES, JAVA_NAMES, SECRETS, checked, from_java, to_java

_ADDRESS = re.compile(r"(?:[A-Za-z0-9._-]+|\[[0-9A-Fa-f:.]+\]):(\d{1,5})")
_ESCAPES = {"t": "\t", "n": "\n", "r": "\r", "f": "\f"}


class ClientSettings(Mapping[str, str]):
    """Settings of a client by librdkafka's names, which show their names only."""

    __slots__ = ("_values",)

    def __init__(self, values: Mapping[str, str]) -> None:
        self._values = checked(values)
        if ADDRESSES in values:
            self._values[ADDRESSES] = _checked_bootstrap(values[ADDRESSES])

    def __getitem__(self, key: str) -> str:
        return self._values[key]

    def __iter__(self) -> Iterator[str]:
        return iter(self._values)

    def __len__(self) -> int:
        return len(self._values)

    def __repr__(self) -> str:
        return f"ClientSettings({', '.join(sorted(self._values))})"

    def __reduce__(self) -> NoReturn:
        raise TypeError("client settings of Kafka may hold secrets and are not pickled")


class KafkaSettings:
    """Where the brokers are, and what clients must say to be let in.

    ``client`` has the names of librdkafka (``security.protocol``, ``sasl.username``, ``ssl.ca.location``, …).
    This is no dataclass on purpose: what walks over the fields of values, to write them down, finds none here.

    >>> KafkaSettings("127.0.0.1:9092")
    KafkaSettings('127.0.0.1:9092')
    >>> KafkaSettings("kafka:9093", {"security.protocol": "SSL", "ssl.key.password": "secret"})
    KafkaSettings('kafka:9093', 2 client settings)
    """

    __slots__ = ("_bootstrap", "_client")

    def __init__(self, bootstrap: str, client: Mapping[str, str] | None = None) -> None:
        self._bootstrap = _checked_bootstrap(bootstrap)
        # An address among the settings of a client is the fallback for those who are given no other.
        self._client = ClientSettings({key: value for key, value in (client or {}).items() if key != ADDRESSES})

    @property
    def bootstrap(self) -> str:
        return self._bootstrap

    @property
    def client(self) -> ClientSettings:
        return self._client

    @property
    def has_secrets(self) -> bool:
        return not SECRETS.isdisjoint(self._client)

    def for_client(self) -> dict[str, str]:
        """For ``confluent_kafka``."""
        return {ADDRESSES: self._bootstrap, **self._client}

    def for_spark(self) -> dict[str, str]:
        """Options of Spark's Kafka source and sink."""
        java = {ADDRESSES: self._bootstrap, **to_java(self._client)}
        return {f"kafka.{key}": value for key, value in java.items()}

    @classmethod
    def from_spark(cls, options: Mapping[str, str]) -> KafkaSettings:
        """Of a source's options, whatever their case; what does not concern the connection is left aside.

        >>> KafkaSettings.from_spark({"Kafka.Bootstrap.Servers": "kafka:9092", "subscribe": "orders"})
        KafkaSettings('kafka:9092')
        """
        java = {key.lower().removeprefix("kafka."): value for key, value in options.items() if _is_kafkas(key)}
        bootstrap = java.pop(ADDRESSES, None)
        if bootstrap is None:
            raise UserMistake("the options of the source do not name any broker; set kafka.bootstrap.servers")
        known = CLIENT_NAMES | JAVA_NAMES
        return cls(bootstrap, from_java({key: value for key, value in java.items() if key in known}))

    @staticmethod
    def read_client_config(path: Path) -> ClientSettings:
        """Settings from a file of ``key=value`` lines, with the names of either kind of client.

        They are given to ``KafkaSettings``, whose address may be the file's ``bootstrap.servers``.
        """
        try:
            text = path.read_text(encoding="utf-8")
        except OSError as error:
            raise UserMistake(
                f"the client settings '{path}' cannot be read ({error.strerror}); check the path"
            ) from None
        except UnicodeDecodeError:
            raise UserMistake(f"the client settings '{path}' are not text; give a file of key=value lines") from None
        values = _properties(text, path)
        try:
            return ClientSettings(from_java(values))
        except UserMistake as mistake:
            raise UserMistake(f"in '{path}': {mistake}") from None

    def __repr__(self) -> str:
        count = len(self._client)
        told = f", {count} client setting{'' if count == 1 else 's'}" if count else ""
        return f"KafkaSettings({self._bootstrap!r}{told})"

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, KafkaSettings):
            return NotImplemented
        return (self._bootstrap, dict(self._client)) == (other._bootstrap, dict(other._client))

    def __hash__(self) -> int:
        return hash((self._bootstrap, frozenset(self._client.items())))

    def __reduce__(self) -> tuple[type[KafkaSettings], tuple[str, dict[str, str]]]:
        if self.has_secrets:
            raise TypeError(
                f"the settings for Kafka at {self._bootstrap} hold secrets and are not pickled; "
                "hand over what for_client() gives, through a pipe"
            )
        return KafkaSettings, (self._bootstrap, dict(self._client))


def _is_kafkas(key: str) -> bool:
    return key.lower().startswith("kafka.")


def _checked_bootstrap(bootstrap: str) -> str:
    addresses = [address.strip() for address in bootstrap.split(",")]
    for address in addresses:
        match = _ADDRESS.fullmatch(address)
        if match is None or not 1 <= int(match.group(1)) <= 65535:
            raise UserMistake(f"'{address}' is not the address of a Kafka broker; give host:port, several with commas")
    return ",".join(addresses)


def _properties(text: str, path: Path) -> dict[str, str]:
    """Lines of Java properties: comments, escapes, and values that go on after a backslash."""
    values: dict[str, str] = {}
    numbered = enumerate(text.splitlines(), start=1)
    for number, raw in numbered:
        line = raw.lstrip()
        if not line or line[0] in "#!":
            continue
        while _goes_on(line):
            line = line[:-1] + next(numbered, (0, ""))[1].lstrip()
        key, sign, value = line.partition("=")
        if not sign or not key.strip():
            # The line itself is not repeated: it may be half of a secret.
            raise UserMistake(f"line {number} of '{path}' is not key=value; correct it")
        if key.strip() in values:
            raise UserMistake(f"'{key.strip()}' stands twice in '{path}'; remove one of the two (line {number})")
        values[key.strip()] = _unescaped(value.strip())
    return values


def _goes_on(line: str) -> bool:
    return (len(line) - len(line.rstrip("\\"))) % 2 == 1


def _unescaped(value: str) -> str:
    def sign(match: re.Match[str]) -> str:
        if match.group(1):
            return chr(int(match.group(1), 16))
        return _ESCAPES.get(match.group(2), match.group(2))

    return re.sub(r"\\(?:u([0-9A-Fa-f]{4})|(.))", sign, value, flags=re.DOTALL)
