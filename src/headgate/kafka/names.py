"""Settings of Kafka's two kinds of clients: what librdkafka calls things, what Java calls them.

Only what concerns the connection and who we are is known here. The rest is for those who produce and
consume, and is refused, because a word that is mistyped or means something else to the other kind of
client would be lost in silence.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import Path

from headgate.errors import UserMistake, nearest

ADDRESSES = "bootstrap.servers"
SECRETS = frozenset(
    {
        "sasl.password",
        "ssl.key.password",
        "ssl.keystore.password",
        "ssl.key.pem",
        "sasl.jaas.config",
        "ssl.keystore.key",
    }
)
_SAME = frozenset(
    {
        "client.dns.lookup",
        "client.id",
        "client.rack",
        "connections.max.idle.ms",
        "metadata.max.age.ms",
        "reconnect.backoff.max.ms",
        "reconnect.backoff.ms",
        "retry.backoff.ms",
        "sasl.mechanism",
        "security.protocol",
        "ssl.key.password",
    }
)
_RENAMED = {"socket.timeout.ms": "request.timeout.ms"}
_TRANSLATED = frozenset(
    {
        "sasl.password",
        "sasl.username",
        "ssl.ca.location",
        "ssl.ca.pem",
        "ssl.certificate.location",
        "ssl.certificate.pem",
        "ssl.endpoint.identification.algorithm",
        "ssl.key.location",
        "ssl.key.pem",
        "ssl.keystore.location",
        "ssl.keystore.password",
    }
)
_ONLY_CLIENT = frozenset(
    {
        "batch.size",
        "broker.address.family",
        "compression.type",
        "enable.ssl.certificate.verification",
        "linger.ms",
        "socket.keepalive.enable",
        "socket.nagle.disable",
    }
)
CLIENT_NAMES = _SAME | _TRANSLATED | _ONLY_CLIENT | _RENAMED.keys()
JAVA_NAMES = frozenset(
    {
        "sasl.jaas.config",
        "ssl.keystore.certificate.chain",
        "ssl.keystore.key",
        "ssl.keystore.type",
        "ssl.truststore.certificates",
        "ssl.truststore.location",
        "ssl.truststore.type",
        *_RENAMED.values(),
    }
)
_DANGEROUS = frozenset(
    {
        "debug",
        "plugin.library.paths",
        "sasl.client.callback.handler.class",
        "sasl.kerberos.kinit.cmd",
        "sasl.login.callback.handler.class",
        "sasl.login.class",
        "ssl.engine.factory.class",
        "ssl.engine.location",
        "ssl.providers",
    }
)
_MECHANISMS = ("PLAIN", "SCRAM-SHA-256", "SCRAM-SHA-512")
_PROTOCOLS = ("PLAINTEXT", "SASL_PLAINTEXT", "SASL_SSL", "SSL")
_PLAIN_LOGIN = "org.apache.kafka.common.security.plain.PlainLoginModule"
_SCRAM_LOGIN = "org.apache.kafka.common.security.scram.ScramLoginModule"
_JAAS = re.compile(rf"\s*(?:{re.escape(_PLAIN_LOGIN)}|{re.escape(_SCRAM_LOGIN)})\s+required\s(.*);\s*", re.DOTALL)
_JAAS_OPTION = re.compile(r'([A-Za-z_.]+)\s*=\s*"((?:[^"\\]|\\.)*)"', re.DOTALL)


def checked(client: Mapping[str, str]) -> dict[str, str]:
    """The settings of a client, with one word for each thing; a sentence for what cannot be used."""
    known = {}
    for given, value in client.items():
        if given == ADDRESSES:
            continue
        key = "sasl.mechanism" if given == "sasl.mechanisms" else given
        if key in _DANGEROUS:
            raise UserMistake(
                f"the client setting '{key}' can run programs or show secrets; it is not passed on: leave it out"
            )
        if key not in CLIENT_NAMES:
            raise UserMistake(f"'{key}' is not a setting of a connection to Kafka{nearest(key, CLIENT_NAMES)}")
        if not isinstance(value, str) or "\0" in value or ("\n" in value and not key.endswith(".pem")):
            raise UserMistake(f"the value of the client setting '{key}' cannot be used; give one line of text")
        known[key] = value
    protocol = known.get("security.protocol", "PLAINTEXT").upper()
    if protocol not in _PROTOCOLS:
        raise UserMistake(f"security.protocol={protocol} is unknown; give one of {', '.join(_PROTOCOLS)}")
    if "security.protocol" in known:
        known["security.protocol"] = protocol
    _check_sasl(known, wanted=protocol.startswith("SASL_"))
    return known


def _check_sasl(client: dict[str, str], *, wanted: bool) -> None:
    given = sorted(key for key in client if key.startswith("sasl."))
    if given and not wanted:
        raise UserMistake(f"the client setting '{given[0]}' has no effect by itself; set security.protocol to SASL_SSL")
    if not wanted:
        return
    mechanism = client.setdefault("sasl.mechanism", "PLAIN").upper()
    if mechanism not in _MECHANISMS:
        raise UserMistake(f"sasl.mechanism={mechanism} is not possible here; give one of {', '.join(_MECHANISMS)}")
    client["sasl.mechanism"] = mechanism
    for key in ("sasl.username", "sasl.password"):
        if not client.get(key):
            raise UserMistake(
                f"security.protocol={client['security.protocol']} needs the client setting '{key}'; give it"
            )


def to_java(client: Mapping[str, str]) -> dict[str, str]:
    """What Java's clients call it. Certificates are given by their content: executors need no file then."""
    java = {key: value for key, value in client.items() if key in _SAME}
    java |= {_RENAMED[key]: value for key, value in client.items() if key in _RENAMED}
    if "sasl.username" in client:
        module = _PLAIN_LOGIN if client["sasl.mechanism"] == "PLAIN" else _SCRAM_LOGIN
        user, password = _quoted(client["sasl.username"]), _quoted(client["sasl.password"])
        java["sasl.jaas.config"] = f'{module} required username="{user}" password="{password}";'
    if authority := _content(client, "ssl.ca"):
        java |= {"ssl.truststore.type": "PEM", "ssl.truststore.certificates": authority}
    certificate, key = _content(client, "ssl.certificate"), _content(client, "ssl.key")
    if (certificate is None) != (key is None):
        raise UserMistake(
            "a client certificate needs its key, and a key its certificate; give ssl.certificate and ssl.key"
        )
    if certificate is not None and key is not None:
        if "BEGIN PRIVATE KEY" not in key and "BEGIN ENCRYPTED PRIVATE KEY" not in key:
            raise UserMistake("Java reads the key of ssl.key as PKCS#8 only; convert it with `openssl pkcs8 -topk8`")
        java |= {"ssl.keystore.type": "PEM", "ssl.keystore.certificate.chain": certificate, "ssl.keystore.key": key}
    if "ssl.keystore.location" in client:
        stored = {key: client[key] for key in ("ssl.keystore.location", "ssl.keystore.password") if key in client}
        java |= {"ssl.keystore.type": "PKCS12", **stored}
    if (algorithm := client.get("ssl.endpoint.identification.algorithm")) is not None:
        java["ssl.endpoint.identification.algorithm"] = "" if algorithm == "none" else algorithm
    return java


def from_java(java: Mapping[str, str]) -> dict[str, str]:
    """What librdkafka calls it; names of its own pass as they are."""
    left = dict(java)
    client: dict[str, str] = {}
    if (jaas := left.pop("sasl.jaas.config", None)) is not None:
        client["sasl.username"], client["sasl.password"] = _login(jaas)
    for new, old in _RENAMED.items():
        if old in left:
            client[new] = left.pop(old)
    trust = left.pop("ssl.truststore.type", "JKS" if "ssl.truststore.location" in left else "PEM")
    if trust.upper() != "PEM":
        raise UserMistake(
            f"a truststore of type {trust} can be read by Java only; give its certificates as PEM (ssl.ca.location)"
        )
    for old, new in (("ssl.truststore.location", "ssl.ca.location"), ("ssl.truststore.certificates", "ssl.ca.pem")):
        if old in left:
            client[new] = left.pop(old)
    kind = left.pop("ssl.keystore.type", "PKCS12").upper()
    if kind == "PEM" and "ssl.keystore.location" in left:
        both = left.pop("ssl.keystore.location")
        client |= {"ssl.certificate.location": both, "ssl.key.location": both}
    elif kind not in ("PEM", "PKCS12"):
        raise UserMistake(f"a keystore of type {kind} can be read by Java only; give it as PEM or PKCS12")
    for old, new in (("ssl.keystore.certificate.chain", "ssl.certificate.pem"), ("ssl.keystore.key", "ssl.key.pem")):
        if old in left:
            client[new] = left.pop(old)
    if left.get("ssl.endpoint.identification.algorithm") == "":
        left["ssl.endpoint.identification.algorithm"] = "none"
    return {**left, **client}


def _content(client: Mapping[str, str], name: str) -> str | None:
    if (pem := client.get(f"{name}.pem")) is not None:
        return pem
    place = client.get(f"{name}.location")
    if place is None:
        return None
    try:
        return Path(place).read_text(encoding="ascii")
    except (OSError, ValueError) as error:
        reason = error.strerror if isinstance(error, OSError) else "it is not PEM"
        raise UserMistake(
            f"the file of the client setting '{name}.location' ({place}) cannot be read ({reason})"
        ) from None


def _login(jaas: str) -> tuple[str, str]:
    match = _JAAS.fullmatch(jaas)
    options = dict(_JAAS_OPTION.findall(match.group(1))) if match else {}
    if not {"username", "password"} <= options.keys():
        raise UserMistake(
            "sasl.jaas.config can be used only with PlainLoginModule or ScramLoginModule, "
            "required, and with username and password in quotes"
        )
    return _unquoted(options["username"]), _unquoted(options["password"])


def _quoted(text: str) -> str:
    return text.replace("\\", "\\\\").replace('"', '\\"')


def _unquoted(text: str) -> str:
    return re.sub(r"\\(.)", r"\1", text, flags=re.DOTALL)
