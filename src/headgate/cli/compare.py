"""``headgate compare``: several policies on several workloads, side by side, in parallel."""

from __future__ import annotations

import os
from concurrent.futures import ProcessPoolExecutor, as_completed
from dataclasses import dataclass
from pathlib import Path

import click

from headgate.cli.output import Output, everywhere
from headgate.cli.params import FILE, simulation_options, workload_options
from headgate.core.allocation import Bounds
from headgate.report import ReportRun, write_report
from headgate.report.progress import progress
from headgate.report.tables import comparison_table
from headgate.sim import Scenario, load_scenario
from headgate.wiring.simulation import SimulatedRun, simulate
from headgate.wiring.specs import check_writable, make_guards, make_policy
from headgate.workloads import Workload, parse_workload


@dataclass(frozen=True, slots=True, kw_only=True)
class _Pairing:
    """One policy on one workload: what a process of its own is sent."""

    policy: str
    workload: Workload
    scenario: Scenario
    bounds: Bounds
    guards: tuple[str, ...]
    executors: int | None
    process: str
    seed: int
    slo_latency_s: float

    def run(self) -> SimulatedRun:
        return simulate(
            policy=self.policy,
            workload=self.workload,
            scenario=self.scenario,
            bounds=self.bounds,
            guards=self.guards,
            executors=self.executors,
            process=self.process,
            seed=self.seed,
            slo_latency_s=self.slo_latency_s,
        )


@click.command(
    epilog="Example: headgate compare -p static:executors=12 -p hpa -w sine -w 'sine + spike' -o report.html"
)
@click.option("--policy", "-p", "policies", multiple=True, required=True, help="Repeatable.")
@click.option("--workload", "-w", "workloads", multiple=True, required=True, help="Repeatable.")
@workload_options
@simulation_options
@click.option("-o", "--output", "page", type=FILE, help="Write a report (HTML).")
@everywhere
def compare(
    *,
    policies: tuple[str, ...],
    workloads: tuple[str, ...],
    peak: float | None,
    duration_s: float | None,
    time_scale: float,
    process: str,
    scenario: str,
    bounds: Bounds,
    initial: int | None,
    guards: tuple[str, ...],
    slo_latency_s: float,
    page: Path | None,
    output: Output,
) -> None:
    """Run several policies on several workloads."""
    if page is not None:
        check_writable(page, what="report")
    for policy in policies:
        make_policy(policy)
    make_guards(guards)
    loaded = load_scenario(scenario)
    loads = [
        parse_workload(text, peak=peak, duration_s=duration_s, time_scale=time_scale, seed=output.seed)
        for text in workloads
    ]
    pairings = [
        _Pairing(
            policy=policy,
            workload=load,
            scenario=loaded,
            bounds=bounds,
            guards=guards,
            executors=initial,
            process=process,
            seed=output.seed,
            slo_latency_s=slo_latency_s,
        )
        for load in loads
        for policy in policies
    ]
    runs = run_all(pairings, output)
    results = [run.result for run in runs]
    if page is not None:
        write_report([ReportRun(label=run.result.policy, reader=run.journal, result=run.result) for run in runs], page)
        output.say(f"report: {page}")
    if output.as_json:
        output.document({"rows": [result.to_document() for result in results]})
    output.show(comparison_table(results))


def run_all(pairings: list[_Pairing], output: Output) -> list[SimulatedRun]:
    """All of them, on all processors, in the order given."""
    with progress("simulating", len(pairings), console=output.err, quiet=output.quiet) as advance:
        if len(pairings) == 1:
            return [pairings[0].run()]
        with ProcessPoolExecutor(max_workers=min(len(pairings), os.cpu_count() or 1)) as pool:
            futures = {pool.submit(pairing.run): index for index, pairing in enumerate(pairings)}
            done: dict[int, SimulatedRun] = {}
            for future in as_completed(futures):
                done[futures[future]] = future.result()
                advance(1)
    return [done[index] for index in range(len(pairings))]
