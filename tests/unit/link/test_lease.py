"""Who leads, by a file."""

from __future__ import annotations

from pathlib import Path

import pytest

from headgate.errors import Temporary
from headgate.link.lease import FileLease


class Machine:
    """Controllers of one machine, on its clock."""

    def __init__(self, folder: Path) -> None:
        self.path = folder / "leases" / "app.json"
        self.time_s = 1000.0

    def controller(self, name: str, *, takeover_s: float = 10.0) -> FileLease:
        return FileLease(self.path, owner=name, takeover_s=takeover_s, now_s=lambda: self.time_s)


@pytest.fixture
def machine(tmp_path: Path) -> Machine:
    return Machine(tmp_path)


def test_the_first_leads_and_the_second_stands_by(machine: Machine) -> None:
    first, second = machine.controller("a"), machine.controller("b")
    assert first.seek(newest_epoch=0) == 1
    machine.time_s += 6.9
    assert second.seek(newest_epoch=1) is None
    assert first.keep()
    machine.time_s += 6.9
    assert second.seek(newest_epoch=1) is None


def test_a_leader_that_is_silent_is_replaced_and_knows_it_when_it_comes_back(machine: Machine) -> None:
    first, second = machine.controller("a"), machine.controller("b")
    first.seek(newest_epoch=0)
    machine.time_s += 7
    assert second.seek(newest_epoch=1) == 2
    assert not first.keep()
    assert first.seek(newest_epoch=2) is None
    # It cannot take away what is not its own any more.
    first.resign()
    assert second.keep()


def test_an_epoch_is_greater_than_all_that_leaders_had_and_all_that_agents_obeyed(machine: Machine) -> None:
    first, second = machine.controller("a"), machine.controller("b")
    assert first.seek(newest_epoch=7) == 8
    machine.time_s += 10
    # The agent has not heard of 8, because its leader never had anything to order.
    assert second.seek(newest_epoch=7) == 9


def test_who_resigns_is_replaced_at_once(machine: Machine) -> None:
    first, second = machine.controller("a"), machine.controller("b")
    first.seek(newest_epoch=0)
    first.resign()
    assert second.seek(newest_epoch=1) == 2


@pytest.mark.parametrize("content", [b"", b"{", b"[]", b'{"owner": 3}'])
def test_a_file_that_was_cut_off_is_no_lease(machine: Machine, content: bytes) -> None:
    machine.path.parent.mkdir(parents=True)
    machine.path.write_bytes(content)
    assert machine.controller("a").seek(newest_epoch=4) == 5


def test_a_lease_from_before_the_machine_started_is_void(machine: Machine) -> None:
    machine.controller("a").seek(newest_epoch=0)
    machine.time_s = 3.0
    assert machine.controller("b").seek(newest_epoch=1) == 2


def test_a_folder_that_cannot_be_used_is_said(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(Temporary, match="cannot be used"):
        FileLease(tmp_path / "file" / "lease.json").seek(newest_epoch=0)
