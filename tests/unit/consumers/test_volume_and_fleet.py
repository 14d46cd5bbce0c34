"""What a consumer remembers, and consumers as processes of one machine."""

from __future__ import annotations

import json
import os
import signal
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from headgate.consumers.chronicle import Chronicle, read_chronicle
from headgate.consumers.fleet import LocalFleet
from headgate.consumers.messages import Held
from headgate.consumers.volume import Plan, Volume
from headgate.errors import Temporary

WAITS = "import signal, sys, time; signal.signal(signal.SIGTERM, lambda *_: sys.exit(0)); time.sleep(600)"
STUBBORN = "import signal, time; signal.signal(signal.SIGTERM, signal.SIG_IGN); time.sleep(600)"
DIES = "raise SystemExit(3)"


def wait_until(reached: Callable[[], bool]) -> None:
    deadline_s = time.monotonic() + 30
    while not reached():
        assert time.monotonic() < deadline_s
        time.sleep(0.02)


class TestVolume:
    def test_what_was_remembered_is_there_after_a_restart(self, tmp_path: Path) -> None:
        held = {"a-0": Held(topic="a", number=0, epoch=7)}
        plan = Plan(name="x", ranges={"a-0": (3, 9)}, commits_read=12)
        volume = Volume(tmp_path)
        volume.remember(held=held, term=4, next_offset=17)
        volume.remember(plan=plan)
        again = Volume(tmp_path).remembered
        assert (again.held, again.term, again.next_offset, again.plan) == (held, 4, 17, plan)

    @pytest.mark.parametrize("text", ["", "{", "[]", '{"held": {}}', '{"held": {"a-0": {}}, "plan": null}'])
    def test_a_volume_that_was_damaged_is_a_new_one(self, tmp_path: Path, text: str) -> None:
        (tmp_path / "consumer.json").write_text(text)
        remembered = Volume(tmp_path).remembered
        assert (dict(remembered.held), remembered.next_offset, remembered.plan) == ({}, None, None)


class TestFleet:
    @pytest.fixture
    def fleets(self, tmp_path: Path) -> Iterator[Callable[..., LocalFleet]]:
        made: list[LocalFleet] = []

        def make(script: str = WAITS, **options: object) -> LocalFleet:
            def command(_: int) -> list[str]:
                return [sys.executable, "-c", script, "group-token"]

            fleet = LocalFleet(tmp_path, command, token="group-token", **options)  # type: ignore[arg-type]
            made.append(fleet)
            return fleet

        yield make
        for fleet in made:
            fleet._grace_s = 1.0
            fleet.end_all()

    def test_consumers_live_until_they_are_deleted(self, fleets: Callable[..., LocalFleet]) -> None:
        fleet = fleets()
        fleet.create(1)
        fleet.create(2)
        pids = fleet.pids()
        fleet.create(1)
        assert fleet.pids() == pids
        fleet.delete(1)
        assert (fleet.members(), fleet.live()) == ({2}, {1, 2})
        with pytest.raises(Temporary, match="has not ended"):
            fleet.create(1)
        wait_until(lambda: fleet.supervise() is None and fleet.live() == {2})
        fleet.create(1)
        assert fleet.members() == {1, 2}

    def test_the_next_controller_finds_those_of_the_one_before(self, fleets: Callable[..., LocalFleet]) -> None:
        fleets().create(3)
        assert fleets().members() == {3}

    def test_one_that_is_killed_is_started_again(self, fleets: Callable[..., LocalFleet]) -> None:
        fleet = fleets()
        fleet.create(1)
        before = fleet.pids()[1]
        os.kill(before, signal.SIGKILL)
        wait_until(lambda: fleet.supervise() is None and fleet.pids()[1] != before)
        assert fleet.members() == {1}

    def test_one_that_fails_at_its_start_is_not_started_all_the_time(self, fleets: Callable[..., LocalFleet]) -> None:
        now_s = time.time()
        fleet = fleets(DIES, now_s=lambda: now_s)
        fleet.create(1)
        seen = set()
        for _ in range(40):
            fleet.supervise()
            seen.add(fleet.pids()[1])
            time.sleep(0.02)
        assert len(seen) <= 2
        now_s += 3.0
        wait_until(lambda: fleet.supervise() is None and fleet.pids()[1] not in seen)

    def test_one_that_does_not_listen_is_ended_after_a_while(self, fleets: Callable[..., LocalFleet]) -> None:
        now_s = time.time()
        fleet = fleets(STUBBORN, now_s=lambda: now_s)
        fleet.create(1)
        time.sleep(0.3)
        fleet.delete(1)
        fleet.supervise()
        assert fleet.live() == {1}
        now_s += 46.0
        wait_until(lambda: fleet.supervise() is None and fleet.live() == frozenset())

    def test_a_process_that_is_not_ours_is_left_alone(self, fleets: Callable[..., LocalFleet], tmp_path: Path) -> None:
        fleet = fleets()
        fleet.create(1)
        path = tmp_path / "consumer-1.json"
        record = json.loads(path.read_text())
        own = fleet.pids()[1]
        # A process id that was given again: ours.
        path.write_text(json.dumps(record | {"process": record["process"] | {"pid": os.getpid()}}))
        fleet.delete(1)
        wait_until(lambda: fleet.supervise() is None and fleet.live() == frozenset())
        os.kill(own, signal.SIGKILL)


def test_a_chronicle_is_read_up_to_half_a_line(tmp_path: Path) -> None:
    path = tmp_path / "group.jsonl"
    told = Chronicle(path, now_s=lambda: 5.0)
    told.tell("note", code="plan")
    told.close()
    with path.open("ab") as file:
        file.write(b'{"kind": "no')
    assert list(read_chronicle(path)) == [{"time_s": 5.0, "kind": "note", "code": "plan"}]
