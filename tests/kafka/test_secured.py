"""A listener with a certificate that asks for name and password: who gets in, and who hears the password."""

from __future__ import annotations

import json
import logging
import subprocess
import sys
from pathlib import Path

import pytest
from written_records import write

from headgate.errors import Temporary, UserMistake
from headgate.kafka.admin import Admin
from headgate.kafka.broker import LocalBroker
from headgate.kafka.offsets import end_offsets
from headgate.kafka.probe import KafkaProbe
from headgate.kafka.settings import KafkaSettings
from headgate.kafka.topics import Topic, ensure_topics

APP = Path(__file__).with_name("secured_app.py")
SECRET = "land"


def test_a_client_with_the_password_is_let_in(own_broker: LocalBroker, topic: str) -> None:
    ensure_topics(own_broker.secured, [Topic(topic, 1)])
    write(own_broker.secured, topic, 3)
    assert sum(end_offsets(own_broker.secured, [topic]).values()) == 3
    assert KafkaProbe(own_broker.secured, [topic]).probe() == 3.0


def test_a_client_with_a_wrong_password_is_told(own_broker: LocalBroker, caplog: pytest.LogCaptureFixture) -> None:
    wrong = KafkaSettings(own_broker.secured.bootstrap, {**own_broker.secured.client, "sasl.password": "guessed"})
    with caplog.at_level(logging.DEBUG), pytest.raises(UserMistake, match="does not let us in") as mistake:
        Admin(wrong).metadata()
    assert "guessed" not in caplog.text + str(mistake.value)


def test_a_client_that_does_not_know_the_certificate_does_not_trust_it(own_broker: LocalBroker) -> None:
    secured = own_broker.secured
    unknowing = {key: value for key, value in secured.client.items() if key != "ssl.ca.location"}
    with pytest.raises(UserMistake, match="does not let us in"):
        Admin(KafkaSettings(secured.bootstrap, unknowing)).metadata()


def test_a_client_without_a_name_gets_no_answer(own_broker: LocalBroker) -> None:
    with pytest.raises(Temporary):
        Admin(KafkaSettings(own_broker.secured.bootstrap), within_s=1.0).metadata()


@pytest.mark.spark
def test_spark_reads_with_the_password_and_shows_it_nowhere(
    own_broker: LocalBroker, topic: str, tmp_path: Path
) -> None:
    ensure_topics(own_broker.settings, [Topic(topic, 2)])
    write(own_broker.settings, topic, 40)
    config = tmp_path / "client.properties"
    client = own_broker.secured.client
    escaped = client["sasl.password"].replace("\\", "\\\\")
    config.write_text(
        f"bootstrap.servers={own_broker.secured.bootstrap}\nsecurity.protocol=SASL_SSL\n"
        f"ssl.ca.location={client['ssl.ca.location']}\nsasl.mechanism=PLAIN\nsasl.username={client['sasl.username']}\nsasl.password={escaped}\n"
    )
    ran = subprocess.run([sys.executable, str(APP), str(config), topic], capture_output=True, text=True, timeout=200)
    assert ran.returncode == 0, ran.stderr
    shown = json.loads(ran.stdout.splitlines()[-1])
    assert shown["counted"] == 40
    assert shown["streamed"]["numInputRows"] == 40
    assert "SaslAuthenticationException" in shown["refused"]
    assert "jaas" in shown["settings"]["spark.redaction.regex"]
    assert shown["heap_mb"] <= 480
    assert not Path(shown["folder"]).exists()
    for said in (ran.stdout, ran.stderr, *(log.read_text() for log in own_broker.logs.values())):
        assert SECRET not in said
        assert "guessed" not in said
