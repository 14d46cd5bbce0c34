"""Errors of Kafka's client as our kinds, and what is said while a broker is gone."""

from __future__ import annotations

import logging

import pytest
from confluent_kafka import KafkaError, KafkaException

from headgate.errors import HeadgateError, Permanent, Temporary, UserMistake
from headgate.kafka.faults import Complaints, Presence, fault, patiently


@pytest.mark.parametrize(
    ("error", "kind", "words"),
    [
        (KafkaError(KafkaError._ALL_BROKERS_DOWN), Temporary, "a:9092"),
        (KafkaException(KafkaError(KafkaError.NOT_ENOUGH_REPLICAS)), Temporary, "NOT_ENOUGH_REPLICAS"),
        (TimeoutError(), Temporary, "no answer in time"),
        (KafkaError(KafkaError.SASL_AUTHENTICATION_FAILED), UserMistake, "check user"),
        (KafkaError(KafkaError.TOPIC_AUTHORIZATION_FAILED), UserMistake, "does not allow"),
        (KafkaError(KafkaError.UNKNOWN_TOPIC_OR_PART), UserMistake, "create it"),
        (KafkaError(KafkaError.POLICY_VIOLATION), Permanent, "refused"),
        (ValueError("odd"), Permanent, "odd"),
    ],
)
def test_each_error_has_its_kind(error: Exception, kind: type[HeadgateError], words: str) -> None:
    found = fault(error, bootstrap="a:9092", doing="reading offsets")
    assert type(found) is kind
    assert words in str(found)
    assert "reading offsets" in str(found)
    assert "\n" not in str(found)


def test_an_error_of_ours_stays_what_it_is() -> None:
    mistake = UserMistake("no")
    assert fault(mistake, bootstrap="a:9092", doing="x") is mistake


def test_only_what_cannot_pass_is_remembered_of_complaints() -> None:
    complaints = Complaints()
    complaints(KafkaError(KafkaError._TRANSPORT))
    assert complaints.not_let_in is None
    complaints(KafkaError(KafkaError._AUTHENTICATION))
    assert complaints.not_let_in is not None


def test_gone_and_back_are_each_said_once(caplog: pytest.LogCaptureFixture) -> None:
    now = iter([10.0, 17.5])
    presence = Presence("a:9092", now_s=lambda: next(now))
    with caplog.at_level(logging.WARNING):
        presence.answered()
        for _ in range(3):
            presence.lost(Temporary("a:9092 does not answer"))
        assert presence.gone
        for _ in range(3):
            presence.answered()
    assert caplog.messages == [
        "a:9092 does not answer (asked again until it answers)",
        "Kafka at a:9092 answers again after 7.5 s",
    ]


def test_what_is_temporary_is_asked_again_and_given_up_in_the_end() -> None:
    answers = iter([Temporary("one"), Temporary("two")])

    def ask() -> str:
        for error in answers:
            raise error
        return "there"

    assert patiently(ask, within_s=5.0, first_s=0.001) == "there"

    def never() -> str:
        raise Temporary("gone")

    with pytest.raises(Temporary, match="gone"):
        patiently(never, within_s=0.0)


def test_what_is_not_temporary_is_not_asked_again() -> None:
    asked = []

    def ask() -> None:
        asked.append(1)
        raise UserMistake("no")

    with pytest.raises(UserMistake):
        patiently(ask, within_s=5.0)
    assert len(asked) == 1
