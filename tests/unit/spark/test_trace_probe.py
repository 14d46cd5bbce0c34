"""The embedded source's arrivals at any moment."""

from __future__ import annotations

from fake_driver import HandClock

from headgate.spark.trace_probe import trace_probe


def test_a_traces_arrivals_follow_its_schedule() -> None:
    clock = HandClock(1002.5)
    probe = trace_probe(
        [{"workload": "constant:rate=100", "start_time_s": "1000.0", "duration_s": "60", "partitions": "2"}],
        now_s=clock,
    )
    assert probe is not None
    assert probe.probe() == 250
    clock.time_s = 5000.0
    assert probe.probe() == 6000


def test_other_sources_have_no_schedule() -> None:
    assert trace_probe([]) is None
    assert trace_probe([{"subscribe": "orders"}]) is None
    assert trace_probe([{"workload": "nonsense", "start_time_s": "1"}]) is None
    assert trace_probe([{"workload": "constant:rate=1", "start_time_s": "1"}] * 2) is None
