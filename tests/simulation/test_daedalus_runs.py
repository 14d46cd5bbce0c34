"""Daedalus in virtual time: it follows a load with few executors and few rescalings, and can be replayed."""

from __future__ import annotations

from functools import cache

import pytest

from headgate.control.replay import replay
from headgate.core.allocation import Bounds
from headgate.policies import Daedalus
from headgate.sim import load_scenario
from headgate.wiring.simulation import SimulatedRun, simulate
from headgate.wiring.specs import make_guards
from headgate.workloads import parse_workload

BOUNDS = Bounds(1, 18)


@cache
def run(policy: str, scenario: str) -> SimulatedRun:
    """Three hours of a sine whose peak is just under what twelve executors carry."""
    workload = parse_workload("sine:period=90m,low=0.1", peak=57_000.0, duration_s=3 * 3600.0)
    return simulate(policy=policy, workload=workload, scenario=load_scenario(scenario), bounds=BOUNDS)


def codes(found: SimulatedRun) -> set[str]:
    return {reason.code for tick in found.journal.ticks() for reason in tick.decision.reasons}


def test_where_a_rescale_stops_the_stream_it_needs_fewer_of_everything_than_hpa() -> None:
    ours, theirs = run("daedalus", "flink-like").result, run("hpa:target=0.8", "flink-like").result
    assert ours.executors.mean < 0.85 * theirs.executors.mean
    assert ours.rescalings < 0.5 * theirs.rescalings
    assert ours.latency_s.p95 < 0.5 * theirs.latency_s.p95


def test_where_it_does_not_it_is_about_as_good_with_far_fewer_rescalings() -> None:
    ours, theirs = run("daedalus", "spark").result, run("hpa:target=0.8", "spark").result
    assert ours.executors.mean < 1.1 * theirs.executors.mean
    assert ours.rescalings < 0.6 * theirs.rescalings
    assert ours.latency_s.p95 < 1.2 * theirs.latency_s.p95


def test_a_model_is_trained_adopted_and_used_and_recoveries_are_seen() -> None:
    assert {"training-adopted", "forecast-arima", "recovered", "fits", "grace-period"} <= codes(
        run("daedalus", "flink-like")
    )


def test_downtimes_of_an_engine_that_stops_are_learned() -> None:
    last = run("daedalus", "flink-like").journal.last_tick()
    assert last is not None
    known = last.memory["downtimes"]["directions"]
    assert known["out"] == pytest.approx(30.0, rel=0.2)
    assert known["in"] == pytest.approx(15.0, rel=0.2)


def test_a_replay_comes_to_the_same_decisions() -> None:
    journal = run("daedalus", "flink-like").journal
    ticks = list(replay(journal, policy=Daedalus(), guards=make_guards(()), recorded=True))
    assert len(ticks) == 180
    assert all(tick.same for tick in ticks)
