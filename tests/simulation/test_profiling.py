"""Profiling runs in virtual time find what the scenario says, and Phoebe can live on them."""

from __future__ import annotations

from pathlib import Path

import pytest

from headgate import codec
from headgate.core.allocation import Bounds
from headgate.core.profile import Profile
from headgate.sim import Scenario, load_scenario
from headgate.wiring.profiling import Profiling, ProfilingWishes, SimulatedBench
from headgate.wiring.simulation import simulate
from headgate.workloads import parse_workload


def profiled(scenario: Scenario, *, executors: tuple[int, ...] = (2, 6), watch_s: float = 600.0) -> Profile:
    bench = SimulatedBench(scenario=scenario)
    wishes = ProfilingWishes(executors=executors, watch_s=watch_s, drain_s=120.0)
    found = Profiling(bench, wishes, app="a", about={}, say=lambda _: None).run()
    assert found is not None
    return found


def test_an_engine_that_restarts_is_found_out() -> None:
    found = profiled(load_scenario("flink-like").changed(noise=0.0))
    assert [size.executors for size in found.sizes] == [2, 6]
    for size in found.sizes:
        assert size.capacity == pytest.approx(5000.0 * size.executors, rel=0.03)
        assert len(size.loads) == 6
        assert all(load.latency_s < 0.1 for load in size.loads[:-1])
        # A tenth too much for half a minute: the queue grows all the time.
        assert size.loads[-1].latency_s > 1.0
        half, most = size.failures
        assert half.downtime_s == pytest.approx(30.0, abs=1.5)
        # Down for 30 s and up to 10 s again, caught up with at a rate of capacity − load.
        assert half.recovery_s == pytest.approx(30.0 + (30.0 + 5.0) * 0.5 / 0.5, abs=10.0)
        assert most.recovery_s == pytest.approx(30.0 + (30.0 + 5.0) * 0.8 / 0.2, abs=30.0)
    assert found.executor_seconds > 8 * (6 * 30 + 2 * 600)


def test_an_engine_that_goes_on_has_hardly_a_downtime() -> None:
    found = profiled(load_scenario("spark").changed(noise=0.0), watch_s=300.0)
    for size in found.sizes:
        assert 0.7 < size.loads[0].latency_s < 2.5
        assert all(failure.downtime_s < 15.0 for failure in size.failures)
        assert size.failures[0].recovery_s is not None
        assert size.failures[0].recovery_s < 60.0


def test_phoebe_follows_a_load_by_its_profile(tmp_path: Path) -> None:
    scenario = load_scenario("flink-like")
    file = tmp_path / "flink-like.json"
    file.write_bytes(codec.to_json(profiled(scenario, executors=(1, 6, 12, 18))))
    workload = parse_workload("sine:period=90m,low=0.1", peak=57_000.0, duration_s=3 * 3600.0)
    run = simulate(policy=f"phoebe:profile={file}", workload=workload, scenario=scenario, bounds=Bounds(1, 18))
    assert 7.0 < run.result.executors.mean < 15.0
    assert 3 <= run.result.rescalings <= 20
    assert run.result.lag_records.final < 60_000
    # Each rescale was preceded by a checkpoint, so nothing was worked off again.
    restarted = [event for sample in run.journal.samples() for event in sample.events if "replays" in event.message]
    assert restarted
    assert all(event.figures["replay_records"] == 0.0 for event in restarted)
