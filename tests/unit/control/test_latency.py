"""Arrivals matched with the batches that finished them."""

import pytest

from headgate.control.latency import LatencyTrack
from headgate.core.sample import ArrivalPoint, Batch


def track(*, at_batch_end: bool = True) -> LatencyTrack:
    return LatencyTrack(keep_s=100, at_batch_end=at_batch_end)


def test_records_wait_from_their_arrival_to_the_end_of_their_batch() -> None:
    waits = track()
    # 10 records in second 0..1 and 30 in 1..2; a batch takes all 40 and ends at 3.
    waits.learn([ArrivalPoint(0, 0), ArrivalPoint(1, 10), ArrivalPoint(2, 40)], [Batch(0, 2, 3, 0, 40)])
    spread = waits.spread(since_s=0)
    assert spread is not None
    # Means of the pieces: 2.5 s for ten records, 1.5 s for thirty.
    assert spread.mean == pytest.approx((10 * 2.5 + 30 * 1.5) / 40)
    assert spread.p50 == 1.5
    assert spread.max == 2.5


def test_a_batch_may_span_samples_and_arrivals_may_come_late() -> None:
    waits = track()
    waits.learn([ArrivalPoint(0, 0), ArrivalPoint(1, 10)], [])
    waits.learn([ArrivalPoint(2, 20)], [Batch(0, 1, 2, 0, 5)])
    waits.learn([ArrivalPoint(3, 30)], [Batch(1, 2, 3, 5, 20)])
    spread = waits.spread(since_s=2.5)
    assert spread is not None
    # Records 5..10 arrived around 0.75, 10..20 around 1.5; both ended at 3.
    assert spread.mean == pytest.approx((5 * 2.25 + 10 * 1.5) / 15)


def test_records_from_before_the_curve_are_left_out() -> None:
    waits = track()
    waits.learn([ArrivalPoint(10, 100), ArrivalPoint(11, 110)], [Batch(0, 11, 12, 50, 110)])
    spread = waits.spread(since_s=0)
    assert spread is not None
    assert spread.mean == pytest.approx(1.5)


def test_pauses_in_the_arrivals_are_stepped_over() -> None:
    waits = track()
    points = [ArrivalPoint(0, 0), ArrivalPoint(1, 10), ArrivalPoint(5, 10), ArrivalPoint(6, 20)]
    waits.learn(points, [Batch(0, 6, 7, 0, 20)])
    spread = waits.spread(since_s=0)
    assert spread is not None
    assert spread.mean == pytest.approx((10 * 6.5 + 10 * 1.5) / 20)


def test_record_by_record_engines_count_from_the_middle_of_the_step() -> None:
    waits = track(at_batch_end=False)
    waits.learn([ArrivalPoint(0, 0), ArrivalPoint(1, 10)], [Batch(0, 1, 2, 0, 10)])
    spread = waits.spread(since_s=0)
    assert spread is not None
    assert spread.mean == pytest.approx(1.0)


def test_nothing_finished_means_nothing_known() -> None:
    waits = track()
    waits.learn([ArrivalPoint(0, 0), ArrivalPoint(1, 10)], [])
    assert waits.spread(since_s=0) is None


def test_old_records_are_forgotten() -> None:
    waits = LatencyTrack(keep_s=10, at_batch_end=True)
    waits.learn([ArrivalPoint(0, 0), ArrivalPoint(1, 10)], [Batch(0, 1, 2, 0, 10)])
    waits.learn([ArrivalPoint(49, 10), ArrivalPoint(50, 20)], [Batch(1, 50, 51, 10, 20)])
    spread = waits.spread(since_s=0)
    assert spread is not None
    assert spread.max == pytest.approx(1.5)


def test_a_curve_that_begins_with_a_pause_has_nothing_for_what_came_before_it() -> None:
    waits = track()
    points = [ArrivalPoint(10, 100), ArrivalPoint(11, 100), ArrivalPoint(12, 110)]
    waits.learn(points, [Batch(0, 12, 13, 50, 110)])
    spread = waits.spread(since_s=0)
    assert spread is not None
    assert spread.mean == pytest.approx(1.5)
