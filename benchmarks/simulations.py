"""Six hours in virtual time, one policy, both engines."""

from __future__ import annotations

from benchmarks.timing import line, times_s
from headgate.core.allocation import Bounds
from headgate.sim import load_scenario
from headgate.wiring.simulation import simulate
from headgate.workloads import parse_workload


def run() -> None:
    workload = parse_workload("sine:period=3h,low=0.1", peak=40_000.0, duration_s=21_600.0)
    for scenario in ("spark", "continuous"):
        for policy in ("static:executors=8", "threshold-busy", "hpa"):
            taken = times_s(
                lambda policy=policy, scenario=scenario: simulate(
                    policy=policy, workload=workload, scenario=load_scenario(scenario), bounds=Bounds(1, 12)
                ),
                repeats=7,
            )
            line(f"6 h of {scenario} under {policy}", taken, unit="s ", scale=1.0, goal="goal ≤ 0.3 s")
