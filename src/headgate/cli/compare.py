"""``headgate compare``: several policies on several workloads, side by side, in parallel."""

from __future__ import annotations

from pathlib import Path

import click

from headgate.cli.output import Output, everywhere
from headgate.cli.params import FILE, simulation_options, workload_options
from headgate.core.allocation import Bounds
from headgate.report import ReportRun, write_report
from headgate.report.progress import progress
from headgate.report.tables import comparison_table
from headgate.sim import load_scenario
from headgate.wiring.simulation import Simulation, simulate_all
from headgate.wiring.specs import check_writable, make_guards, make_policy
from headgate.workloads import parse_workload


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
    simulations = [
        Simulation(
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
    with progress("simulating", len(simulations), console=output.err, quiet=output.quiet) as advance:
        runs = simulate_all(simulations, Simulation.run, advance=lambda: advance(1))
    results = [run.result for run in runs]
    if page is not None:
        write_report([ReportRun(label=run.result.policy, reader=run.journal, result=run.result) for run in runs], page)
        output.say(f"report: {page}")
    if output.as_json:
        output.document({"rows": [result.to_document() for result in results]})
    output.show(comparison_table(results))
