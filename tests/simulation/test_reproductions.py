"""The papers' experiments: what they consist of, and that they run from the first simulation to the page."""

from __future__ import annotations

from functools import partial
from pathlib import Path

import pytest

from headgate.cli import run_cli
from headgate.core.allocation import Bounds
from headgate.experiments import EXPERIMENTS, Runner, consumer_group, daedalus, elastic_functions, packing_view
from headgate.experiments.page import reproduction_page
from headgate.experiments.reproduction import Arm, Figure, Job, Published
from headgate.experiments.trials import averaged, observe
from headgate.sim import load_scenario
from headgate.sim.capacity import carried
from headgate.workloads import parse_workload, read_trace

TRACES = Path(__file__).parents[3] / "shared" / "traces"
NOWHERE = Path("no-traces-here")


def test_peaks_are_shares_of_what_so_many_executors_carry() -> None:
    assert carried(load_scenario("flink-like"), 12) == pytest.approx(60_000.0)
    for job in daedalus.flink_jobs(NOWHERE):
        load = job.workload(0)
        assert load.peak == pytest.approx(job.peak_share * 60_000.0)
        assert load.duration_s == 6 * 3600


def test_a_hash_makes_the_same_executors_carry_less_and_each_seed_differently() -> None:
    scenario = daedalus.kafka_streams_job(NOWHERE).scenario
    found = [carried(scenario, 12, seed=seed) for seed in range(5)]
    assert len(set(found)) > 1
    assert all(0.4 * 60_000 < rate < 0.85 * 60_000 for rate in found)
    assert carried(scenario, 1) == pytest.approx(5000.0)


def test_recorded_workloads_last_six_hours_and_keep_their_shape(tmp_path: Path) -> None:
    lengths = {"wordcount-sine-6h": 21_600, "advertising-6h": 21_601, "traffic-6h": 25_000}
    traces = TRACES
    if not TRACES.is_dir():
        traces = tmp_path
        for name, length in lengths.items():
            rates = parse_workload(daedalus.SHAPES[name], duration_s=float(length)).rates
            rows = "".join(f"{second},{rate:.6f}\n" for second, rate in enumerate(rates))
            (tmp_path / f"{name}.csv").write_text("seconds,records_per_second\n" + rows)
    for job, name in zip(daedalus.flink_jobs(traces), (0, 0, 1, 2), strict=True):
        recorded = read_trace(str(traces / f"{list(lengths)[name]}.csv")).recorded
        load = job.workload(0)
        assert load.duration_s == 6 * 3600
        assert load.rates.mean() / load.peak == pytest.approx(recorded.mean() / recorded.max(), rel=0.02)
        assert job.floor == pytest.approx(load.rates.mean() / 5000.0)


def test_figures_are_averaged_and_compared_with_what_was_published() -> None:
    job = Job(
        title="short",
        about="",
        trace="sine:period=20m,low=0.2",
        scenario=load_scenario("flink-like"),
        bounds=Bounds(1, 18),
        arms=(Arm(label="HPA", policy="hpa", published=Published(executors=4.0, latency_s=2.0)),),
        duration_s=1800.0,
        peak_share=0.5,
        peak_executors=12,
    )
    seen = [observe((job.simulation(job.arms[0], seed), None)) for seed in (0, 1)]
    row = averaged(job.arms[0], seen)
    means = [one.result.executors.mean for one in seen]
    assert row.executors == Figure(mean=sum(means) / 2, least=min(means), most=max(means), published=4.0)
    assert row.executors.deviation == pytest.approx(row.executors.mean / 4.0 - 1)
    assert row.p95_over_time_s is not None
    assert row.p95_over_time_s.published == 2.0
    assert [one.course is not None for one in seen] == [True, False]


def test_the_order_of_policies_is_judged_by_what_was_published_of_all_of_them() -> None:
    def figure(mean: float, published: float | None) -> Figure:
        return Figure(mean=mean, least=mean, most=mean, published=published)

    assert daedalus.in_published_order([figure(5.0, 4.0), figure(6.0, 7.0)])
    assert not daedalus.in_published_order([figure(5.0, 8.0), figure(6.0, 7.0)])
    assert not daedalus.in_published_order([figure(5.0, 4.0), figure(6.0, None), None])


def test_the_whole_experiment_in_a_short_form(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(daedalus, "HOURS_S", 1800.0)
    monkeypatch.setattr(daedalus, "TARGETS_S", (60.0, 600.0))
    monkeypatch.setattr(daedalus, "PROFILED", (1, 18))
    begun: list[tuple[str, int]] = []

    def begin(what: str, count: int):  # type: ignore[no-untyped-def]
        begun.append((what, count))
        return lambda: None

    found = EXPERIMENTS["daedalus"].reproduce(Runner(repetitions=1, begin=begin), NOWHERE)
    assert [section.title for section in found.sections][-2:] == ["Word count on Kafka Streams", "Against Phoebe"]
    assert [len(section.rows) for section in found.sections] == [4, 4, 4, 4, 4, 2]
    assert len(found.beyond) == 6
    assert [count for _, count in begun] == [20, 2, 24, 6]
    assert "fewer executors than Phoebe" in found.sections[-1].notes[0]
    document = found.to_document()
    assert document["sections"][2]["rows"][0]["executors"]["published"] == 5.5
    text = reproduction_page(found)
    for words in ("Workload", "Latency distribution", "Mean executors", "The recovery target", "generated shapes"):
        assert words in text


def test_elastic_functions_in_a_short_form(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """Two rates instead of six; the order of the policies shows even so."""
    monkeypatch.setattr(elastic_functions, "RATES", (1.0, 4.0))
    short = partial(elastic_functions.ImagesJob, rates=(1.0, 4.0))
    monkeypatch.setattr(elastic_functions, "ImagesJob", short)
    found = EXPERIMENTS["elastic-functions"].reproduce(Runner(repetitions=1), NOWHERE)
    (section,) = found.sections
    threshold, ds2, path, _ = section.rows
    assert threshold.mean_s is not None
    assert ds2.mean_s is not None
    assert path.mean_s is not None
    assert threshold.mean_s.mean > 5 * ds2.mean_s.mean
    assert ds2.mean_s.mean > path.mean_s.mean > 0.65
    assert 3.0 <= threshold.executors.mean < path.executors.mean
    assert threshold.mean_s.published == 23.0
    text = reproduction_page(found)
    (foreseen,) = found.beyond
    assert foreseen.rows[0].policy == "threshold-backlog:forecast_s=60"
    assert "instances" in foreseen.notes[0]
    for words in ("Backlog of each operator", "resize-to-store", "Latency over time", "23 s"):
        assert words in text


def test_packing_in_a_short_form(monkeypatch: pytest.MonkeyPatch) -> None:
    """A tenth of the steps: what was published shows nevertheless."""
    monkeypatch.setattr(consumer_group, "STEPS", 60)
    monkeypatch.setattr(consumer_group, "STARTS", {"random": None, "50 %": 50})
    monkeypatch.setattr(packing_view, "STARTS", {"random": None, "50 %": 50})
    experiment = EXPERIMENTS["consumer-group"]
    found = experiment.reproduce(Runner(repetitions=1), NOWHERE)
    assert isinstance(found, consumer_group.PackingReproduction)
    assert all(abs(share) < 0.2 for _, share in found.deviations.values())
    at_25 = found.of("random", 25)
    assert {"mwf", "mbf", "mbfp"} <= set(at_25.front)
    assert at_25.rscore["mwf"] == min(at_25.rscore.values())
    assert found.to_document()["streams"][5]["algorithms"]["mwf"]["published"] == {"cbs": 0.088, "rscore": 15.0}
    text = experiment.page(found)
    for words in ("Pareto fronts", "Beside the published figures", "δ = 25", "On the front: "):
        assert words in text


def test_a_paper_without_experiment_is_a_mistake(capsys: pytest.CaptureFixture[str]) -> None:
    assert run_cli(["reproduce", "dedalus"]) == 2
    assert "daedalus" in capsys.readouterr().err
