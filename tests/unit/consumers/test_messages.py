"""Messages between monitor, controller and consumers: typed, versioned, and never mistaken for something else."""

from __future__ import annotations

import dataclasses

import pytest
from hypothesis import given
from hypothesis import strategies as st

from headgate.consumers.avro import Unreadable, Vocabulary
from headgate.consumers.messages import (
    METADATA,
    SPEEDS,
    Held,
    Leads,
    PartitionSpeed,
    StartConsumingCommand,
    StartConsumingEvent,
    StateEvent,
    StopConsumingCommand,
    StopConsumingEvent,
    TellState,
    WriteSpeeds,
    first_epoch,
)

HELD = (Held(topic="rows", number=3, epoch=7), Held(topic="rows", number=4, epoch=8))
SPOKEN = [
    Leads(controller="one"),
    StartConsumingCommand(term=4, request=9, partitions=HELD),
    StopConsumingCommand(term=4, request=9, partitions=()),
    TellState(term=4, request=2),
    StartConsumingEvent(consumer=2, request=9, partitions=HELD),
    StopConsumingEvent(consumer=2, request=9, partitions=HELD),
    StateEvent(consumer=2, incarnation="x", request=None, partitions=HELD, time_ms=17, cycle_s=1.5, bytes_per_s=None),
]


@pytest.mark.parametrize("message", SPOKEN, ids=lambda message: type(message).__name__)
def test_what_is_said_is_understood(message: object) -> None:
    assert METADATA.decode(METADATA.encode(message)) == message


def test_speeds_are_understood() -> None:
    speeds = WriteSpeeds(
        time_ms=1, speeds=(PartitionSpeed(topic="rows", number=0, bytes_per_s=1.5e6, records_per_s=15_000.0),)
    )
    assert SPEEDS.decode(SPEEDS.encode(speeds)) == speeds


@given(st.one_of(st.none(), st.binary(max_size=200)))
def test_garbage_is_told_apart(data: bytes | None) -> None:
    with pytest.raises(Unreadable, match="left aside"):
        METADATA.decode(data)


@given(st.sampled_from(SPOKEN), st.data())
def test_a_message_that_was_cut_off_or_added_to_is_not_believed(message: object, data: st.DataObject) -> None:
    whole = METADATA.encode(message)
    cut = data.draw(st.integers(min_value=0, max_value=len(whole) - 1))
    with pytest.raises(Unreadable):
        METADATA.decode(whole[:cut])
    with pytest.raises(Unreadable):
        METADATA.decode(whole + b"\x00")


def test_another_version_of_a_message_is_refused_with_its_schema() -> None:
    @dataclasses.dataclass(frozen=True)
    class TellState:
        term: int
        request: int
        politely: bool

    newer = Vocabulary([TellState], namespace="headgate.consumers.v2")
    with pytest.raises(Unreadable, match=r"unknown schema [0-9a-f]{16}.*update"):
        METADATA.decode(newer.encode(TellState(term=1, request=1, politely=True)))


def test_messages_of_one_topic_are_not_taken_for_those_of_the_other() -> None:
    with pytest.raises(Unreadable):
        SPEEDS.decode(METADATA.encode(TellState(term=1, request=1)))


def test_the_schemas_have_not_changed_without_another_version() -> None:
    """Fingerprints as they are on disk and on the wire: a change here needs a new namespace."""
    marks = {type(message).__name__: METADATA.encode(message)[2:10].hex() for message in SPOKEN}
    assert marks == FINGERPRINTS


def test_epochs_of_a_later_term_are_greater() -> None:
    assert first_epoch(0) < first_epoch(1) < first_epoch(1_000_000) < 2**63


FINGERPRINTS = {
    "Leads": "a53c44830ed02ad2",
    "StartConsumingCommand": "6e90033c79718b2f",
    "StopConsumingCommand": "95a0000eb78f4c92",
    "TellState": "7f29c7c4330956d5",
    "StartConsumingEvent": "d4a918c00ffa13e8",
    "StopConsumingEvent": "7b545e4f90ee593d",
    "StateEvent": "a3197a4bb3506987",
}
