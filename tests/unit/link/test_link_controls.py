"""A person's levers work from another process."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from link_parts import STATUS, FakeControls

from headgate.core.status import Controls
from headgate.errors import UserMistake
from headgate.link import ControlClient, ControlServer


@pytest.fixture
def controls() -> FakeControls:
    return FakeControls()


@pytest.fixture
def client(controls: FakeControls) -> Iterator[ControlClient]:
    with ControlServer(controls, app="orders") as server:
        client = ControlClient(server.address, server.token)
        yield client
        client.close()


def test_the_status_is_that_of_the_controller(client: ControlClient) -> None:
    as_port: Controls = client
    assert as_port.status() == STATUS


def test_every_lever_is_pulled(controls: FakeControls, client: ControlClient) -> None:
    client.pause()
    client.resume()
    client.pin(6)
    client.unpin()
    assert controls.pulled == ["pause", "resume", "pin 6", "unpin"]


def test_a_negative_pin_is_refused(controls: FakeControls, client: ControlClient) -> None:
    with pytest.raises(UserMistake, match="give 0 or more"):
        client.pin(-1)
    assert controls.pulled == []
