"""Whatever happens to its executors, a simulated app loses no record, and repeats itself exactly."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from simulated_runs import Run, exact, start

from headgate.core.allocation import Bounds
from headgate.core.sample import Sample
from headgate.errors import UserMistake
from headgate.sim import SCENARIOS, SimulatedApp, VirtualClock
from headgate.sim.randomness import Chance, generator


def eventful(name: str, *, seed: int, orders: list[tuple[float, int]], failure_interval_s: float | None = 400.0) -> Run:
    scenario = SCENARIOS[name].changed(failure_interval_s=failure_interval_s)
    run = start(scenario, rate=lambda t: 3000 + 2500 * np.sin(t / 40), duration_s=400, seed=seed)
    for moment, executors in orders:
        run.go(moment)
        run.order(executors)
    run.go(max(400.0, run.clock.now_s() + 5))
    return run


moments = st.lists(st.tuples(st.floats(1, 390), st.integers(1, 8)), max_size=6, unique_by=lambda pair: pair[0]).map(
    sorted
)


@pytest.mark.parametrize("name", sorted(SCENARIOS))
@given(orders=moments, seed=st.integers(0, 1000))
@settings(max_examples=15)
def test_everything_that_arrived_is_done_or_waiting(name: str, orders: list[tuple[float, int]], seed: int) -> None:
    run = eventful(name, seed=seed, orders=orders)
    for index in range(len(run.samples[0].operators)):
        batches = run.batches(index)
        position = 0.0
        for batch in batches:
            assert batch.first_record == pytest.approx(position, abs=1e-6)
            assert batch.records > 0
            assert batch.finished_s > batch.started_s
            position = batch.end_record
        for before, after in itertools.pairwise(run.samples):
            assert after.operators[index].done_records >= before.operators[index].done_records
            assert after.operators[index].busy_s >= before.operators[index].busy_s - 1e-6
        last = run.samples[-1].operators[index]
        assert last.done_records == pytest.approx(position)
        assert last.done_records <= last.arrivals[-1].records + 1e-6
    for sample in run.samples:
        assert len([executor for executor in sample.executors if executor.state != "leaving"]) <= (
            sample.target_executors or 0
        )


@pytest.mark.parametrize("name", sorted(SCENARIOS))
def test_a_stream_that_ends_is_drained(name: str) -> None:
    run = eventful(name, seed=1, orders=[(50, 6), (200, 3), (300, 6)])
    assert run.app.ends_at_s == 400
    run.go(1500, every_s=50)
    assert run.app.drained
    assert run.samples[-1].operators[0].done_records == pytest.approx(run.samples[-1].operators[0].arrivals[-1].records)


@pytest.mark.parametrize("name", sorted(SCENARIOS))
def test_the_same_seed_and_orders_give_the_same_samples_bit_for_bit(name: str) -> None:
    orders = [(33.3, 5), (150.0, 2), (260.0, 7)]
    assert eventful(name, seed=5, orders=orders).samples == eventful(name, seed=5, orders=orders).samples
    assert eventful(name, seed=5, orders=orders).samples != eventful(name, seed=6, orders=orders).samples


def test_how_often_one_looks_does_not_change_what_happens() -> None:
    def outcome(every_s: float) -> list[object]:
        run = start(SCENARIOS["spark"], rate=7000, executors=2, duration_s=200)
        run.go(60, every_s=every_s)
        run.order(4)
        run.go(200, every_s=every_s)
        return [run.batches(), [event for sample in run.samples for event in sample.events]]

    assert outcome(0.7) == outcome(1.0) == outcome(5.0) == outcome(20.0)


def test_failures_do_not_shift_the_noise_or_the_start_ups() -> None:
    quiet = eventful("spark", seed=2, orders=[(100.0, 4)], failure_interval_s=None)
    deadly = eventful("spark", seed=2, orders=[(100.0, 4)], failure_interval_s=1e9)
    assert quiet.samples == deadly.samples
    draws = {generator(1, chance, 0).random() for chance in (Chance.NOISE, Chance.STARTUP, Chance.FAILURE)}
    assert len(draws) == 3


def test_the_curve_of_arrivals_has_a_point_for_every_second() -> None:
    run = start(exact(), rate=100)
    run.go(2.5, every_s=2.5)
    run.go(5, every_s=2.5)
    points = [point for sample in run.samples for point in sample.operators[0].arrivals]
    assert [(point.time_s, point.records) for point in points] == [
        (0, 0), (1, 100), (2, 200), (2.5, 250), (3, 300), (4, 400), (5, 500),
    ]  # fmt: skip


def test_a_backlog_may_be_there_from_the_start() -> None:
    clock = VirtualClock()
    app = SimulatedApp(exact(), np.array([500.0, 500.0]), bounds=Bounds(1, 2), clock=clock)
    run = Run(app, clock)
    sample: Sample = run.go(5)
    assert sample.operators[0].done_records == 500
    assert run.batches()[0].started_s == 0


@pytest.mark.parametrize("arrivals", [[], [0.0, np.nan], [0.0, 5.0, 4.0], [-1.0, 0.0], [[0.0, 1.0]]])
def test_arrivals_that_are_no_curve_are_refused(arrivals: list[float]) -> None:
    with pytest.raises(UserMistake):
        SimulatedApp(exact(), np.array(arrivals), bounds=Bounds(1, 2), clock=VirtualClock())


def test_a_negative_seed_is_refused() -> None:
    with pytest.raises(UserMistake, match="seed=-1"):
        SimulatedApp(exact(), np.array([0.0, 1.0]), bounds=Bounds(1, 2), clock=VirtualClock(), seed=-1)
