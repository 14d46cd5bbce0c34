"""A scenario calibrated from a run behaves like the one that ran."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from simulated_runs import Run, exact, start

from headgate.core.allocation import Bounds
from headgate.core.sample import Sample
from headgate.errors import UserMistake
from headgate.sim import SCENARIOS, Scenario, parse_scenario, scenario_to_toml
from headgate.sim.calibration import calibrate


def varied_run(scenario: Scenario, *, peak: float, every_s: float = 1.0, seed: int = 4) -> Run:
    """A load that swings while executors come and go."""
    run = start(scenario, lambda t: peak * (0.55 + 0.45 * np.sin(t / 60)), duration_s=1500, executors=3, seed=seed)
    for moment, executors in ((300, 5), (600, 2), (900, 6), (1200, 4)):
        run.go(moment, every_s=every_s)
        run.order(executors)
    run.go(1500, every_s=every_s)
    return run


@pytest.mark.parametrize("every_s", [1.0, 15.0])
def test_calibrating_a_simulated_run_recovers_its_scenario(every_s: float) -> None:
    truth = SCENARIOS["spark"]
    found = calibrate(varied_run(truth, peak=12_000, every_s=every_s).samples, name="again")
    assert found.name == "again"
    assert found.operators[0].capacity == pytest.approx(truth.operators[0].capacity, rel=0.03)
    assert found.trigger_s == truth.trigger_s
    assert found.overhead_s == pytest.approx(truth.overhead_s, rel=0.02)
    assert found.partitions == truth.partitions
    assert found.skew == 0
    assert found.noise == pytest.approx(truth.noise, rel=0.25)
    assert found.startup_s == pytest.approx(truth.startup_s, abs=3)
    assert found.startup_sd_s > 0
    assert found.slow_batch_s == pytest.approx(truth.slow_batch_s)
    assert found.stop_s == pytest.approx(truth.stop_s, abs=1.5)
    assert found.notes == ()


def test_skew_and_task_overhead_are_recovered() -> None:
    truth = exact(partitions=24, skew=0.5, task_overhead_s=0.01, noise=0.03)
    found = calibrate(varied_run(truth, peak=2000).samples, name="again")
    assert found.skew == pytest.approx(0.5, abs=0.08)
    assert found.operators[0].capacity == pytest.approx(1000, rel=0.05)


def test_the_slowness_of_new_executors_is_recovered() -> None:
    truth = exact(warm_up_s=60.0, warm_up_speed=0.5, starts_cold=True, noise=0.02)
    found = calibrate(varied_run(truth, peak=2000).samples, name="again")
    assert found.starts_cold
    assert found.warm_up_s == pytest.approx(60.0, abs=10)
    assert found.warm_up_speed == pytest.approx(0.5, abs=0.1)
    assert found.operators[0].capacity == pytest.approx(1000, rel=0.05)


def test_executors_that_start_warm_are_not_taken_for_slow() -> None:
    found = calibrate(varied_run(exact(noise=0.02), peak=2000).samples, name="again")
    assert found.warm_up_s == 0


def test_a_calibrated_scenario_behaves_like_the_run_it_came_from() -> None:
    first = varied_run(SCENARIOS["spark"], peak=12_000)
    found = parse_scenario(scenario_to_toml(calibrate(first.samples, name="again")), where="text")
    second = varied_run(found, peak=12_000, seed=9)
    durations = [np.mean([batch.duration_s for batch in run.batches()]) for run in (first, second)]
    assert durations[1] == pytest.approx(durations[0], rel=0.05)


def test_what_a_run_does_not_show_is_noted() -> None:
    run = start(exact(), rate=1000, executors=2)
    run.go(100)
    found = calibrate(run.samples, name="poor")
    text = " ".join(found.notes)
    assert "only 2 executors were seen" in text
    assert "hardly varied" in text
    assert "no executor joined" in text
    assert "no executor left" in text
    assert found.operators[0].capacity == pytest.approx(1000, rel=0.01)


def test_a_query_that_never_waits_has_no_trigger_to_show() -> None:
    run = start(exact(), rate=lambda t: 2500 + 5 * t, executors=2)
    run.go(500)
    found = calibrate(run.samples, name="late")
    assert found.trigger_s == 0
    assert any("trigger" in note for note in found.notes)


def test_batches_without_a_run_time_are_still_of_use() -> None:
    run = varied_run(exact(overhead_s=0.001), peak=2000)
    stripped = [_without_run_time(sample) for sample in run.samples]
    assert calibrate(stripped, name="plain").operators[0].capacity == pytest.approx(1000, rel=0.05)


def _without_run_time(sample: Sample) -> Sample:
    operators = tuple(
        replace(operator, batches=tuple(batch._replace(run_s=None) for batch in operator.batches))
        for operator in sample.operators
    )
    return replace(sample, operators=operators)


def test_the_limit_of_records_and_selectivity_are_taken_over() -> None:
    operators = ({"name": "query", "capacity": 1000.0, "selectivity": 0.25},)
    run = start(exact(records_per_trigger=900.0, operators=operators), rate=lambda t: 500 + 300 * np.sin(t / 9))
    run.go(200)
    found = calibrate(run.samples, name="limited")
    assert found.records_per_trigger == 900
    assert found.operators[0].selectivity == 0.25


def test_every_operator_of_a_graph_is_calibrated() -> None:
    run = varied_run(SCENARIOS["chain"].changed(noise=0.0), peak=4000)
    found = calibrate(run.samples, name="chain again")
    assert [operator.name for operator in found.operators] == ["parse", "enrich", "count"]
    assert found.operators[1].upstream == ("parse",)
    assert found.operators[1].selectivity == pytest.approx(0.5)
    assert any("shared" in note for note in found.notes)


def test_too_little_to_learn_from_is_said() -> None:
    with pytest.raises(UserMistake, match="no samples"):
        calibrate([], name="empty")
    run = start(exact(), rate=100)
    run.go(4)
    with pytest.raises(UserMistake, match="longer run"):
        calibrate(run.samples, name="short")
    assert run.app.describe().bounds == Bounds(1, 20)
