"""Daedalus, HPA and a fixed size on real Spark and Kafka, under slices of the recorded workloads.

Time is compressed by four, and so are the policies' own times; starting an executor takes as long as it takes. Peaks
are taken from what six executors were measured to carry on this machine. Prints what came of each run beside what the
simulator foresees for it, calibrated from the run that rescaled most.
"""

from __future__ import annotations

import json
import os
import shutil
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
PEAK_SHARE = 0.85
"""Of what was measured to be sustained: the machine has to carry producer, broker and driver as well."""
POLICIES = {
    "static": f"static:executors={EXECUTORS}",
    "hpa": "hpa:target=0.8,down_stabilization_s=75,initialization_s=15",
    "daedalus": (
        "daedalus:period_s=30,window_s=30,grace_s=60,long_lived_s=150,horizon_s=225,recovery_target_s=150,ignored_s=30,"
        "first_training_s=150,downtime_out_s=10"
    ),
}
JOBS = {
    "word-count": ("wordcount-sine-6h", 0.0, "sine:period=3h,low=0.025"),
    "advertising": ("advertising-6h", 3 * 3600.0, "sine:period=2h,low=0.2,phase=0.9"),
}
"""Recorded workload, where its slice begins, and what stands in for it."""


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


def app_file(job: str, folder: Path, *, workload: str, peak: float) -> Path:
    """The example on six small nodes, with that load."""
    place = folder / "apps"
    if not place.exists():
        shutil.copytree(EXAMPLES, place, ignore=shutil.ignore_patterns("__pycache__"))
    text = (EXAMPLES / f"{job}.toml").read_text()
    changes = {
        "nodes": str(EXECUTORS),
        "quota": str(QUOTA),
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
    workload = load_of(job, tmp_path)
    measured = run_json(
        capsys, "measure", app_file(job, tmp_path, workload=workload, peak=1000.0), "-e", EXECUTORS, "--precision", 0.25
    )
    peak = PEAK_SHARE * measured["sizes"][0]["rate"]
    app = app_file(job, tmp_path, workload=workload, peak=peak)
    real = {
        name: run_json(capsys, "run", app, "--policy", policy, "--folder", tmp_path / name)
        for name, policy in POLICIES.items()
    }
    busiest = max(real, key=lambda name: real[name]["rescalings"])
    scenario = tmp_path / "scenario.toml"
    run_json(capsys, "calibrate", real[busiest]["journal"], "-o", scenario)
    foreseen = {
        name: run_json(
            capsys,
            *("simulate", "--policy", policy, "--workload", workload, "--peak", peak, "--duration", DURATION_S),
            *("--time-scale", SCALE, "--executors", f"1..{EXECUTORS}", "--initial", 1, "--scenario", scenario),
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
