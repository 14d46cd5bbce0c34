"""Brokers that tests may break, which the one that all tests share must not be."""

from __future__ import annotations

import uuid
from collections.abc import Iterator

import pytest

from headgate.kafka.broker import LocalBroker, SaslUser


@pytest.fixture
def topic() -> str:
    """A name that no other test uses."""
    return f"topic-{uuid.uuid4().hex[:12]}"


@pytest.fixture(scope="session")
def own_broker() -> Iterator[LocalBroker]:
    """One that may be stopped and killed, and that has an encrypted listener with a password."""
    with LocalBroker(user=SaslUser("alice", 'wonder"land\\1')) as broker:
        yield broker
