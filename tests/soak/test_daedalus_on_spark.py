"""Daedalus, HPA and a fixed size on real Spark and Kafka, under slices of the recorded workloads.

Time is compressed by four, and so are the policies' own times; starting an executor takes as long as it takes. Java's
second compiler is off, as it is when the app is measured: on a fifth of a core it makes code faster for a quarter of an
hour, and a capacity that grows by itself cannot be told from one that grows with the load. Peaks are taken from what
six executors are measured to carry on this machine, unless one is given. Prints what came of each run beside what the
simulator foresees for it, calibrated from the run that rescaled most.

All of it takes more than three hours. With ``HEADGATE_SOAK_FOLDER`` runs are kept there, and a test that was broken off
goes on with those that are missing.
"""

from __future__ import annotations

import json
import os
import shutil
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from headgate.cli import run_cli
from headgate.config import load_app
from headgate.workloads import parse_workload, read_trace

pytestmark = [pytest.mark.soak, pytest.mark.spark, pytest.mark.timeout(4 * 3600)]

EXAMPLES = Path(__file__).parents[2] / "examples"
TRACES = Path(__file__).parents[3] / "shared" / "traces"
DURATION_S = float(os.environ.get("HEADGATE_SOAK_S", "1800"))
SCALE = 4.0
EXECUTORS, QUOTA = 6, 0.2
PEAK = float(os.environ["HEADGATE_SOAK_PEAK"]) if "HEADGATE_SOAK_PEAK" in os.environ else None
"""In records/s; measured if it is not given, which takes a quarter of an hour."""
PEAK_SHARE = 0.85
"""Of what was measured to be sustained: the machine has to carry producer, broker and driver as well."""
POLICIES = {
    "daedalus": (
        "daedalus:period_s=30,window_s=30,grace_s=60,long_lived_s=150,horizon_s=225,recovery_target_s=150,ignored_s=60,"
        "first_training_s=150,downtime_out_s=10"
    ),
    "hpa": "hpa:target=0.8,down_stabilization_s=75,initialization_s=15",
    "static": f"static:executors={EXECUTORS}",
}
JOBS = {
    "word-count": ("wordcount-sine-6h", 9600.0, "sine:period=3h,low=0.025"),
    "advertising": ("advertising-6h", 6000.0, "sine:period=2h,low=0.2,phase=0.9"),
}
"""Recorded workload, where its slice begins, and what stands in for it: low at first, because executors are cold."""


def load_of(job: str, folder: Path) -> str:
    """A slice that lasts as long as the run, once it is compressed."""
    name, begins_s, shape = JOBS[job]
    length = round(DURATION_S * SCALE)
    file = TRACES / f"{name}.csv"
    rates = read_trace(str(file)).recorded if file.is_file() else parse_workload(shape, duration_s=6 * 3600.0).rates
    part = rates[round(begins_s) :][:length]
    path = folder / f"{job}.csv"
    rows = "".join(f"{second},{rate:g}\n" for second, rate in enumerate(part))
    path.write_text("seconds,records_per_second\n" + rows)
    return str(path)


def initial(name: str) -> int:
    """Executors that a policy begins with: a fixed size has what it keeps, the others half of it."""
    return EXECUTORS if name == "static" else EXECUTORS // 2


def app_file(job: str, folder: Path, *, workload: str, peak: float, executors: int = EXECUTORS) -> Path:
    """The example on six small nodes, with that load."""
    place = folder / "apps"
    if not place.exists():
        shutil.copytree(EXAMPLES, place, ignore=shutil.ignore_patterns("__pycache__"))
    text = (EXAMPLES / f"{job}.toml").read_text()
    changes = {
        "nodes": f"{EXECUTORS}\ninitial = {executors}",
        "quota": f'{QUOTA}\nconf = {{ "spark.executor.extraJavaOptions" = "-XX:TieredStopAtLevel=1" }}',
        "partitions": str(2 * EXECUTORS),
        "max_parallelism": str(2 * EXECUTORS),
        "workload": f'"{workload}"\ntime_scale = {SCALE}',
        "peak": f"{peak:.0f}",
        "duration_s": f"{DURATION_S:.0f}",
        "executors": f"[1, {EXECUTORS}]",
        "guards": "[]",
    }
    lines = []
    for line in text.splitlines():
        key = line.partition(" =")[0]
        lines.append(f"{key} = {changes[key]}" if key in changes and not line.startswith(("#", "[")) else line)
    path = place / f"{job}-on-six.toml"
    path.write_text("\n".join(lines))
    load_app(path)
    return path


def kept(path: Path, make: Callable[[], dict[str, Any]]) -> dict[str, Any]:
    """What was found before, or is found now and kept."""
    if not path.exists():
        found = make()
        path.write_text(json.dumps(found))
    document: dict[str, Any] = json.loads(path.read_text())
    return document


def run_json(capsys: pytest.CaptureFixture[str], *args: object) -> dict[str, Any]:
    code = run_cli([*map(str, args), "--json", "--quiet"])
    out = capsys.readouterr().out
    assert code == 0, out
    document: dict[str, Any] = json.loads(out)
    return document


@pytest.mark.parametrize("job", list(JOBS))
def test_policies_side_by_side_and_beside_the_simulator(
    job: str, tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HEADGATE_HOME", str(tmp_path / "home"))
    folder = Path(os.environ.get("HEADGATE_SOAK_FOLDER", tmp_path)).resolve() / job
    folder.mkdir(parents=True, exist_ok=True)
    workload = load_of(job, folder)
    peak = PEAK
    if peak is None:
        unmeasured = app_file(job, folder, workload=workload, peak=1000.0)
        measured = kept(
            folder / "measured.json",
            lambda: run_json(capsys, "measure", unmeasured, "-e", EXECUTORS, "--precision", 0.25),
        )
        peak = PEAK_SHARE * float(measured["sizes"][0]["rate"])

    def run(name: str) -> dict[str, Any]:
        shutil.rmtree(folder / name, ignore_errors=True)
        app = app_file(job, folder, workload=workload, peak=peak, executors=initial(name))
        return run_json(capsys, "run", app, "--policy", POLICIES[name], "--folder", folder / name)

    real = {name: kept(folder / f"{name}.json", partial(run, name)) for name in POLICIES}
    scenario = folder / "scenario.toml"
    by_rescalings = sorted(real, key=lambda name: -int(real[name]["rescalings"]))
    calibrations = (["calibrate", real[name]["journal"], "-o", str(scenario), "--quiet"] for name in by_rescalings)
    assert any(run_cli(each) == 0 for each in calibrations), "no run has enough batches that nothing disturbed"
    capsys.readouterr()
    foreseen = {
        name: run_json(
            capsys,
            *("simulate", "--policy", policy, "--workload", workload, "--peak", peak, "--duration", DURATION_S),
            *("--time-scale", SCALE, "--executors", f"1..{EXECUTORS}"),
            *("--initial", initial(name), "--scenario", scenario),
        )
        for name, policy in POLICIES.items()
    }
    with capsys.disabled():
        print(f"\n{job}: peak {peak:.0f} records/s, {DURATION_S:.0f} s; real (simulated)")
        for name in POLICIES:
            print(f"  {name:<10}" + "   ".join(_pair(real[name], foreseen[name], figure) for figure in FIGURES))
    for name, document in real.items():
        assert document["unfinished"] is None, name
        assert document["query_restarts"] == 0, name
    assert real["daedalus"]["executors"]["mean"] < real["static"]["executors"]["mean"]


FIGURES = ("executors.mean", "rescalings", "latency_s.mean", "latency_s.p95", "lag_records.max")


def _pair(real: dict[str, Any], foreseen: dict[str, Any], figure: str) -> str:
    values = []
    for document in (real, foreseen):
        value: Any = document
        for key in figure.split("."):
            value = value[key]
        values.append(value)
    return f"{figure} {values[0]:.2f} ({values[1]:.2f})"
