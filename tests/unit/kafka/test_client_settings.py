"""Settings of Kafka's clients: translated both ways, checked, and silent about secrets."""

from __future__ import annotations

import copy
import logging
import pickle
from dataclasses import asdict, dataclass
from pathlib import Path

import pytest
from pydantic import TypeAdapter
from pydantic.errors import PydanticSchemaGenerationError

from headgate.errors import UserMistake
from headgate.kafka.settings import KafkaSettings

PASSWORD = 'pa"ss\\wörd;='
SASL = {
    "security.protocol": "SASL_PLAINTEXT",
    "sasl.mechanism": "PLAIN",
    "sasl.username": "alice",
    "sasl.password": PASSWORD,
}
CERTIFICATE = "-----BEGIN CERTIFICATE-----\nMIIB\n-----END CERTIFICATE-----\n"
KEY = "-----BEGIN PRIVATE KEY-----\nMIIE\n-----END PRIVATE KEY-----\n"


def test_a_client_gets_its_own_names() -> None:
    settings = KafkaSettings("a:9092, b:9092", {**SASL, "client.id": "me"})
    assert settings.for_client() == {"bootstrap.servers": "a:9092,b:9092", **SASL, "client.id": "me"}


def test_spark_gets_a_login_instead_of_name_and_password() -> None:
    options = KafkaSettings("a:9092", {**SASL, "linger.ms": "5", "socket.timeout.ms": "7000"}).for_spark()
    assert options == {
        "kafka.bootstrap.servers": "a:9092",
        "kafka.security.protocol": "SASL_PLAINTEXT",
        "kafka.sasl.mechanism": "PLAIN",
        "kafka.sasl.jaas.config": (
            "org.apache.kafka.common.security.plain.PlainLoginModule required "
            'username="alice" password="pa\\"ss\\\\wörd;=";'
        ),
        "kafka.request.timeout.ms": "7000",
    }


def test_spark_gets_the_content_of_certificates(tmp_path: Path) -> None:
    authority, certificate, key = (tmp_path / name for name in ("ca.pem", "client.pem", "client.key"))
    authority.write_text(CERTIFICATE)
    certificate.write_text(CERTIFICATE)
    key.write_text(KEY)
    wanted = {
        "security.protocol": "ssl",
        "ssl.ca.location": str(authority),
        "ssl.certificate.location": str(certificate),
        "ssl.key.location": str(key),
        "ssl.endpoint.identification.algorithm": "none",
    }
    assert KafkaSettings("a:9093", wanted).for_spark() == {
        "kafka.bootstrap.servers": "a:9093",
        "kafka.security.protocol": "SSL",
        "kafka.ssl.truststore.type": "PEM",
        "kafka.ssl.truststore.certificates": CERTIFICATE,
        "kafka.ssl.keystore.type": "PEM",
        "kafka.ssl.keystore.certificate.chain": CERTIFICATE,
        "kafka.ssl.keystore.key": KEY,
        "kafka.ssl.endpoint.identification.algorithm": "",
    }


@pytest.mark.parametrize(
    "client",
    [
        {},
        SASL,
        {**SASL, "sasl.mechanism": "SCRAM-SHA-512", "client.id": "me", "socket.timeout.ms": "7000"},
        {"security.protocol": "SSL", "ssl.ca.pem": CERTIFICATE, "ssl.certificate.pem": CERTIFICATE, "ssl.key.pem": KEY},
        {"security.protocol": "SSL", "ssl.keystore.location": "/k.p12", "ssl.keystore.password": "x"},
        {"security.protocol": "SSL", "ssl.endpoint.identification.algorithm": "none"},
    ],
)
def test_options_of_a_source_lead_back_to_the_settings(client: dict[str, str]) -> None:
    settings = KafkaSettings("a:9092", client)
    options = {key.upper(): value for key, value in settings.for_spark().items()}
    assert KafkaSettings.from_spark(options | {"subscribe": "orders", "kafka.fetch.max.bytes": "1"}) == settings


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"subscribe": "orders"}, "kafka.bootstrap.servers"),
        ({"kafka.ssl.truststore.location": "/t.jks"}, "truststore of type JKS"),
        ({"kafka.ssl.keystore.location": "/k.jks", "kafka.ssl.keystore.type": "JKS"}, "keystore of type JKS"),
        ({"kafka.sasl.jaas.config": "com.sun.security.auth.module.JndiLoginModule required x=1;"}, "PlainLoginModule"),
    ],
)
def test_options_that_a_client_cannot_use_are_said(options: dict[str, str], words: str) -> None:
    address = {} if words == "kafka.bootstrap.servers" else {"kafka.bootstrap.servers": "a:9092"}
    with pytest.raises(UserMistake, match=words):
        KafkaSettings.from_spark(options | address)


@pytest.mark.parametrize(
    ("bootstrap", "client", "words"),
    [
        ("", {}, "host:port"),
        ("localhost", {}, "host:port"),
        ("localhost:99999", {}, "host:port"),
        ("a:1,,b:2", {}, "host:port"),
        ("a:1", {"sasl.pasword": "x"}, "did you mean 'sasl.password'"),
        ("a:1", {"sasl.password": "x"}, "set security.protocol"),
        ("a:1", {"security.protocol": "TLS"}, "SASL_SSL"),
        ("a:1", {"security.protocol": "SASL_SSL"}, "sasl.username"),
        ("a:1", {**SASL, "sasl.mechanism": "GSSAPI"}, "SCRAM-SHA-256"),
        ("a:1", {"client.id": "a\nb"}, "one line"),
        ("a:1", {"plugin.library.paths": "/x.so"}, "can run programs"),
        ("a:1", {"debug": "all"}, "show secrets"),
    ],
)
def test_wrong_settings_are_one_sentence(bootstrap: str, client: dict[str, str], words: str) -> None:
    with pytest.raises(UserMistake, match=words) as mistake:
        KafkaSettings(bootstrap, client)
    assert "\n" not in str(mistake.value)


@pytest.mark.parametrize(
    ("client", "words"),
    [
        ({"ssl.ca.location": "/no/such.pem"}, "ssl.ca.location"),
        ({"ssl.certificate.pem": CERTIFICATE}, "needs its key"),
        ({"ssl.certificate.pem": CERTIFICATE, "ssl.key.pem": "-----BEGIN RSA PRIVATE KEY-----"}, "openssl pkcs8"),
    ],
)
def test_certificates_that_java_cannot_use_are_said(client: dict[str, str], words: str) -> None:
    with pytest.raises(UserMistake, match=words):
        KafkaSettings("a:1", {"security.protocol": "SSL", **client}).for_spark()


def test_a_file_may_speak_either_language(tmp_path: Path) -> None:
    path = tmp_path / "client.properties"
    path.write_text(
        "# to be let in\n"
        "bootstrap.servers = a:9092\n"
        "security.protocol=SASL_SSL\n"
        "sasl.mechanism=SCRAM-SHA-256\n"
        "sasl.jaas.config=org.apache.kafka.common.security.scram.ScramLoginModule required \\\n"
        '    username="alice" \\\n'
        '    password="x\\u00e4=\\\\\\\\y";\n'
        "ssl.truststore.type=PEM\n"
        "ssl.truststore.location=/ca.pem\n"
    )
    client = KafkaSettings.read_client_config(path)
    assert dict(client) == {
        "bootstrap.servers": "a:9092",
        "security.protocol": "SASL_SSL",
        "sasl.mechanism": "SCRAM-SHA-256",
        "sasl.username": "alice",
        "sasl.password": "xä=\\y",
        "ssl.ca.location": "/ca.pem",
    }
    assert KafkaSettings("b:9092", client).for_client()["bootstrap.servers"] == "b:9092"


@pytest.mark.parametrize(
    ("content", "words"),
    [
        (b"sasl.password\n", "line 1"),
        (b"client.id=a\nclient.id=b\n", "twice"),
        (b"\xff\xfe", "not text"),
        (b"clientid=a\n", "client.id"),
        (b"bootstrap.servers=here\n", "host:port"),
    ],
)
def test_a_bad_file_is_named(tmp_path: Path, content: bytes, words: str) -> None:
    path = tmp_path / "client.properties"
    path.write_bytes(content)
    with pytest.raises(UserMistake, match=words) as mistake:
        KafkaSettings.read_client_config(path)
    assert "\n" not in str(mistake.value)
    with pytest.raises(UserMistake, match=r"missing\.properties"):
        KafkaSettings.read_client_config(tmp_path / "missing.properties")


def test_secrets_are_never_shown(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    settings = KafkaSettings("a:9092", {**SASL, "sasl.password": "hidden-word"})
    with caplog.at_level(logging.DEBUG):
        logging.getLogger("test").info("%s %r %s", settings, settings, settings.client)
    path = tmp_path / "client.properties"
    path.write_text("security.protocol=SASL_SSL\nsasl.username=alice\nsasl.password hidden-word\n")
    with pytest.raises(UserMistake) as mistake:
        KafkaSettings.read_client_config(path)
    shown = [caplog.text, f"{settings}", f"{settings!r}", f"{settings.client}", str(mistake.value)]
    assert not any("hidden-word" in text for text in shown)
    assert "a:9092" in repr(settings)


def test_what_walks_over_values_to_write_them_down_finds_no_secret() -> None:
    @dataclass
    class Holder:
        settings: KafkaSettings

    settings = KafkaSettings("a:9092", SASL)
    assert PASSWORD not in str(vars(Holder(settings)))
    for write_down in (pickle.dumps, copy.deepcopy):
        for value in (settings, settings.client):
            with pytest.raises(TypeError, match="not pickled"):
                write_down(value)
    with pytest.raises(TypeError, match="not pickled"):
        asdict(Holder(settings))
    with pytest.raises(PydanticSchemaGenerationError):
        TypeAdapter(KafkaSettings)


def test_settings_without_secrets_travel() -> None:
    settings = KafkaSettings("a:9092", {"client.id": "me"})
    assert pickle.loads(pickle.dumps(settings)) == settings
    assert len({settings, KafkaSettings("a:9092", {"client.id": "me"})}) == 1
    assert settings != KafkaSettings("a:9092")
