"""What a consumer takes in one cycle."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from headgate.consumers.cycle import RecordSizes, bytes_waiting, plan_intake

COUNTS = st.dictionaries(st.integers(0, 20).map(lambda n: f"a-{n}"), st.integers(0, 5000), min_size=1)


@given(waiting=COUNTS, batch=st.integers(1, 100_000), size=st.floats(1, 1000))
def test_it_takes_what_fits_and_never_leaves_room_while_something_waits(
    waiting: dict[str, int], batch: int, size: float
) -> None:
    positions = dict.fromkeys(waiting, 100)
    ends = {partition: 100 + count for partition, count in waiting.items()}
    intake = plan_intake(positions, begins={}, ends=ends, record_bytes=size, batch_bytes=batch)
    room = max(1, int(batch / size))
    assert intake.records <= room
    assert intake.records == min(room, sum(waiting.values()))
    for partition, (first, end) in intake.ranges.items():
        assert 100 == first < end <= ends[partition]


@given(waiting=COUNTS)
def test_no_partition_is_left_waiting_for_the_sake_of_a_fast_one(waiting: dict[str, int]) -> None:
    positions = dict.fromkeys(waiting, 0)
    intake = plan_intake(positions, begins={}, ends=waiting, record_bytes=1.0, batch_bytes=100.0 * len(waiting))
    for partition, count in waiting.items():
        taken = intake.ranges.get(partition, (0, 0))[1]
        assert taken >= min(count, 100)


def test_what_retention_has_deleted_is_left_out_and_counted() -> None:
    intake = plan_intake(
        {"a-0": 10, "a-1": 10}, begins={"a-0": 40}, ends={"a-0": 50, "a-1": 10}, record_bytes=1.0, batch_bytes=100.0
    )
    assert intake.ranges == {"a-0": (10, 50)}
    assert intake.lost == {"a-0": 30}
    assert intake.records == 10


def test_a_partition_that_retention_has_emptied_is_moved_on() -> None:
    intake = plan_intake({"a-0": 10}, begins={"a-0": 40}, ends={"a-0": 40}, record_bytes=1.0, batch_bytes=100.0)
    assert intake.ranges == {"a-0": (10, 40)}
    assert intake.records == 0


def test_sizes_follow_what_is_seen() -> None:
    sizes = RecordSizes()
    sizes.learn(records=0, size=0)
    assert not sizes.seen
    sizes.learn(records=10, size=1000)
    sizes.learn(records=10, size=2000)
    assert sizes.mean_bytes == 150.0
    assert bytes_waiting({"a-0": 5}, {"a-0": 15, "a-1": 9}, record_bytes=150.0) == 1500.0
