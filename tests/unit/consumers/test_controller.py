"""The controller of a consumer group, over a group in virtual time."""

from __future__ import annotations

import random
from dataclasses import replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from virtual_group import START_S, VirtualGroup

from headgate.consumers.actions import GroupSettings, Phase, Send
from headgate.consumers.controller import GroupController
from headgate.consumers.group import difference, loads, pack_within
from headgate.consumers.messages import StopConsumingCommand, WriteSpeeds
from headgate.errors import UserMistake

SETTINGS = GroupSettings(algorithm_capacity=10.0, consumer_capacity=13.0, most_consumers=6)


def group(speeds: list[float], **options: object) -> VirtualGroup:
    named = {f"rows-{number}": speed for number, speed in enumerate(speeds)}
    made = VirtualGroup(**{"settings": SETTINGS, "speeds": named, **options})  # type: ignore[arg-type]
    made.start_controller()
    return made


def check_well(made: VirtualGroup) -> None:
    """Every partition has one reader, and no consumer more than it can take."""
    readers = made.readers()
    assert {partition: len(numbers) for partition, numbers in readers.items()} == dict.fromkeys(made.speeds, 1)
    assert all(load <= SETTINGS.consumer_capacity for load in made.loads().values())
    assert set(made.alive) == set(made.loads())


class TestPhases:
    def test_from_nothing_to_a_group_that_carries_its_partitions(self) -> None:
        made = group([4.0, 4.0, 4.0, 4.0])
        made.run(60)
        check_well(made)
        assert len(made.alive) == 2
        assert made.controller is not None
        assert made.controller.phase is Phase.SENTINEL
        wanted = ["synchronize", "synchronized", "unassigned-partition", "plan", "ready", "ready", "group-ready"]
        assert made.codes()[: len(wanted)] == wanted

    def test_a_consumer_that_gets_too_much_is_relieved(self) -> None:
        made = group([3.0, 3.0, 3.0])
        made.run(60)
        assert len(made.alive) == 1
        made.speeds["rows-0"] = 8.0
        made.run(60)
        check_well(made)
        assert len(made.alive) == 2
        assert "capacity-exceeded" in made.codes()

    def test_fewer_are_kept_when_fewer_do(self) -> None:
        made = group([6.0, 6.0, 6.0])
        made.run(60)
        assert len(made.alive) == 3
        made.speeds = dict.fromkeys(made.speeds, 1.0)
        made.run(60)
        check_well(made)
        assert len(made.alive) == 1
        assert "sentinel-timeout" in made.codes()

    def test_a_partition_that_is_new_is_read(self) -> None:
        made = group([3.0])
        made.run(60)
        made.speeds["rows-1"] = 3.0
        made.run(30)
        check_well(made)

    def test_one_that_is_gone_is_read_no_more(self) -> None:
        made = group([3.0, 3.0])
        made.run(60)
        del made.speeds["rows-1"]
        made.run(60)
        assert made.controller is not None
        assert set(made.controller.assignment) == {"rows-0"}

    def test_one_partition_that_is_too_fast_does_not_make_the_group_restless(self) -> None:
        made = group([20.0, 3.0])
        made.run(120)
        assert made.codes().count("plan") == 1
        assert made.codes().count("capacity-exceeded") == 0

    def test_without_speeds_nothing_is_decided(self) -> None:
        controller = GroupController(SETTINGS, term=1)
        controller.begin([], 0.0)
        assert controller.measured(WriteSpeeds(time_ms=0, speeds=()), 1.0) == []
        assert controller.tick([], 100.0) == []

    def test_more_than_the_group_may_have_is_said_and_all_partitions_are_read(self) -> None:
        made = group([9.0] * 9)
        made.run(120)
        assert len(made.alive) <= SETTINGS.most_consumers
        assert all(len(numbers) == 1 for numbers in made.readers().values())
        assert "too-few-consumers" in made.codes()


class TestHandover:
    def test_a_partition_is_started_elsewhere_only_after_it_was_stopped(self) -> None:
        made = group([4.0, 4.0])
        made.run(60)
        before = dict(made.lake.epochs)
        made.speeds = {"rows-0": 8.0, "rows-1": 8.0}
        made.run(60)
        check_well(made)
        changed = [partition for partition, epoch in made.lake.epochs.items() if epoch > before[partition]]
        for partition in changed:
            commits = [(moment, consumer) for moment, name, consumer, _ in made.lake.commits if name == partition]
            readers = [consumer for _, consumer in commits]
            # Once the new reader has begun, the old one has written nothing.
            first_new = readers.index(readers[-1])
            assert set(readers[first_new:]) == {readers[-1]}

    def test_what_is_not_acknowledged_is_said_again(self) -> None:
        made = group([4.0])
        made.run(30)
        made.inboxes[1].clear()
        made.speeds["rows-1"] = 4.0
        made.run(1.5)
        made.inboxes[1].clear()
        made.run(30)
        check_well(made)


class TestFaults:
    def test_a_consumer_that_is_killed_comes_back_and_goes_on(self) -> None:
        made = group([6.0, 6.0])
        made.run(60)
        readers = made.readers()
        made.kill(1)
        made.run(25)
        assert made.readers() == readers
        assert "restarted" in made.codes()
        assert "lost" not in made.codes()

    def test_a_silent_one_loses_its_partitions_and_can_write_nothing_when_it_comes_back(self) -> None:
        made = group([6.0, 6.0])
        made.run(60)
        lost = made.readers()["rows-0"][0]
        made.alive[lost].paused_until_s = made.now_s + 90
        paused_s = made.now_s
        made.run(150)
        check_well(made)
        assert "lost" in made.codes()
        later = [consumer for moment, name, consumer, _ in made.lake.commits if name == "rows-0" and moment > paused_s]
        assert later
        assert lost not in later
        assert made.lake.refused == 1

    @pytest.mark.parametrize("rescue", [True, False])
    def test_what_a_lost_one_read_is_read_by_the_others_until_a_new_one_is_ready(self, rescue: bool) -> None:
        made = group([6.0, 6.0, 6.0], settings=replace(SETTINGS, rescue=rescue))
        made.run(60)
        (lost,) = made.readers()["rows-0"]
        made.alive[lost].paused_until_s = made.now_s + 90
        made.run(150)
        given_s = next(moment_s for moment_s, note in made.notes if note.code == "lost")
        again_s = next(
            moment_s for moment_s, partition, *_ in made.lake.commits if partition == "rows-0" and moment_s > given_s
        )
        assert (again_s - given_s < START_S) is rescue
        check_well(made)

    def test_one_that_is_lost_while_another_one_starts_is_replaced_at_once(self) -> None:
        made = group([6.0, 3.0, 8.0])
        made.run(60)
        (other,), (lost,) = made.readers()["rows-0"], made.readers()["rows-2"]
        assert made.readers()["rows-1"] == [other]
        made.alive[lost].paused_until_s = made.now_s + 90
        made.run(SETTINGS.lease_s - 8)
        made.speeds["rows-1"] = 9.0
        made.run(4)
        assert len(made.alive) == 3
        made.run(8)
        assert "lost" in made.codes()
        assert made.readers()["rows-2"] == [other]
        made.run(150)
        check_well(made)

    @pytest.mark.parametrize("moment_s", [0.5, 3.0, 12.0, 16.0, 18.0, 20.0, 30.0])
    def test_a_controller_that_dies_in_any_state_is_followed_by_one_that_finds_out(self, moment_s: float) -> None:
        made = group([6.0, 6.0, 3.0])
        made.run(moment_s)
        made.kill_controller()
        made.run(3)
        made.start_controller()
        made.run(120)
        check_well(made)

    def test_an_earlier_controller_is_not_listened_to(self) -> None:
        made = group([6.0, 6.0])
        made.run(60)
        readers, old = made.readers(), made.controller
        assert old is not None
        made.start_controller()
        made.run(10)
        held = made.alive[1].volume.values()
        stop = StopConsumingCommand(term=old.term, request=99, partitions=tuple(held))
        made.carry_out([Send(1, stop)])
        made.run(10)
        assert made.readers() == readers

    @settings(max_examples=40)
    @given(seed=st.integers(min_value=0, max_value=10_000))
    def test_whatever_happens_no_partition_has_two_who_can_write_and_in_the_end_each_has_one(self, seed: int) -> None:
        chance = random.Random(seed)
        made = group([chance.uniform(0, 9) for _ in range(8)], seed=seed)
        for _ in range(25):
            match chance.randrange(6):
                case 0 if made.alive:
                    made.kill(chance.choice(sorted(made.alive)))
                case 1 if made.alive:
                    victim = made.alive[chance.choice(sorted(made.alive))]
                    victim.paused_until_s = made.now_s + chance.uniform(1, 60)
                case 2:
                    made.kill_controller()
                    made.run(chance.uniform(0.5, 10))
                    made.start_controller()
                case _:
                    partition = chance.choice(sorted(made.speeds))
                    made.speeds[partition] = chance.uniform(0, 9)
            made.run(chance.uniform(0.5, 25))
            assert all(len(numbers) <= 1 for numbers in made.readers().values())
        made.run(300)
        assert {partition: len(numbers) for partition, numbers in made.readers().items()} == dict.fromkeys(
            made.speeds, 1
        )


class TestGroup:
    def test_the_difference_between_two_states_has_all_three_cases_of_the_paper(self) -> None:
        current = {"a-0": 1, "a-1": 1, "a-2": 2}
        wanted = {"a-0": 1, "a-1": 3, "a-3": 1}
        steps = difference(current, wanted, live=frozenset({1, 2}))
        assert (steps.create, steps.delete) == ((3,), (2,))
        assert steps.starts == {"a-1": 3, "a-3": 1}
        assert steps.stops == {"a-1": 1, "a-2": 2}

    def test_loads_count_what_is_not_measured_as_nothing(self) -> None:
        assert loads({"a-0": 5.0}, {"a-0": 1, "a-1": 2}) == {1: 5.0, 2: 0.0}

    @given(
        st.dictionaries(st.integers(0, 30).map(lambda n: f"a-{n}"), st.floats(0, 12), min_size=1, max_size=31),
        st.integers(1, 6),
        st.sampled_from(["mbf", "mwf", "bfd", "nf"]),
    )
    def test_a_group_is_never_larger_than_it_may_be(self, speeds: dict[str, float], most: int, algorithm: str) -> None:
        current = {partition: 1 + number % 9 for number, partition in enumerate(speeds)}
        packed, counted = pack_within(speeds, current, capacity=10.0, algorithm=algorithm, most=most)
        assert set(packed) == set(speeds)
        assert len(set(packed.values())) <= most
        assert counted >= 10.0

    def test_a_group_of_nobody_is_refused(self) -> None:
        with pytest.raises(UserMistake, match="reads nothing"):
            pack_within({"a-0": 1.0}, {}, capacity=1.0, algorithm="mbf", most=0)

    @pytest.mark.parametrize("name", ["algorithm_capacity", "consumer_capacity", "lease_s", "most_consumers"])
    def test_a_group_that_can_carry_nothing_is_refused(self, name: str) -> None:
        with pytest.raises(UserMistake, match=name):
            GroupSettings(**{name: 0})  # type: ignore[arg-type]
