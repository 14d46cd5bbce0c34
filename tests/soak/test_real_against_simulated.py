"""The same policy and trace on real Spark and in the simulator, calibrated from another real run.

Prints mean executors, mean latency and rescalings side by side. Asserted is only that the simulator is
of use at all: machines are noisy, and a run of some minutes is one draw.
"""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import pytest

from headgate.cli import run_cli

pytestmark = [pytest.mark.soak, pytest.mark.spark, pytest.mark.timeout(3600)]

POLICY = "hpa:target=0.65,period_s=10,window_s=20,down_stabilization_s=30,initialization_s=10"
APP = """
name = "{name}"
folder = "{name}"
[cluster]
nodes = 4
quota = 0.35
[stream]
workload = "{workload}"
peak = 6000
duration_s = {duration_s}
partitions = 8
cost_us = 250
trigger_s = 2
[controller]
policy = "{policy}"
executors = [1, 4]
"""
DURATION_S = float(os.environ.get("HEADGATE_SOAK_S", "600"))
TRACE = f"sine:period={DURATION_S / 2:g}s,low=0.04,phase=0.75"
OTHER_TRACE = f"stair:low=0.1,width={DURATION_S / 9:g}s"


def run_json(capsys: pytest.CaptureFixture[str], *args: object) -> dict[str, Any]:
    code = run_cli([*map(str, args), "--json", "--quiet"])
    out = capsys.readouterr().out
    assert code == 0, out
    document: dict[str, Any] = json.loads(out)
    return document


def test_the_simulator_foresees_a_real_run(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HEADGATE_HOME", str(tmp_path / "home"))
    for name, workload in (("learned", OTHER_TRACE), ("judged", TRACE)):
        app = APP.format(name=name, workload=workload, duration_s=DURATION_S, policy=POLICY)
        (tmp_path / f"{name}.toml").write_text(app)
    run_json(capsys, "run", tmp_path / "learned.toml")
    real = run_json(capsys, "run", tmp_path / "judged.toml")
    run_json(capsys, "calibrate", tmp_path / "learned" / "learned.db", "-o", tmp_path / "scenario.toml")
    simulated = run_json(
        capsys,
        *("simulate", "--policy", POLICY, "--workload", TRACE, "--peak", 6000, "--duration", DURATION_S),
        *("--executors", "1..4", "--initial", 1, "--scenario", tmp_path / "scenario.toml"),
    )
    rows = [
        ("mean executors", real["executors"]["mean"], simulated["executors"]["mean"]),
        ("mean latency, s", real["latency_s"]["mean"], simulated["latency_s"]["mean"]),
        ("p95 latency, s", real["latency_s"]["p95"], simulated["latency_s"]["p95"]),
        ("rescalings", real["rescalings"], simulated["rescalings"]),
    ]
    with capsys.disabled():
        print(f"\n{'':18}{'real':>10}{'simulated':>12}{'off by':>9}")
        for what, measured, foreseen in rows:
            print(f"{what:18}{measured:10.2f}{foreseen:12.2f}{foreseen / measured - 1:9.0%}")
        print((tmp_path / "scenario.toml").read_text())
    assert simulated["executors"]["mean"] == pytest.approx(real["executors"]["mean"], rel=0.5)
