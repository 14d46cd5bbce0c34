"""``headgate simulate``: one policy in virtual time."""

from __future__ import annotations

from pathlib import Path

import click

from headgate.cli.output import Output, everywhere
from headgate.cli.params import FILE, simulation_options, workload_options
from headgate.core.allocation import Bounds
from headgate.report import ReportRun, write_report
from headgate.report.progress import progress
from headgate.report.tables import result_table
from headgate.sim import load_scenario
from headgate.wiring.simulation import save_journal
from headgate.wiring.simulation import simulate as run_simulation
from headgate.wiring.specs import check_writable
from headgate.workloads import parse_workload


@click.command(epilog="Example: headgate simulate --policy hpa:target=0.8 --workload sine:period=3h,low=0.1 --peak 40k")
@click.option("--policy", "-p", required=True, help="As name:option=value,…; see `headgate policies`.")
@click.option("--workload", "-w", required=True, help="Shape with options, sum of shapes, or CSV file.")
@workload_options
@simulation_options
@click.option("--journal", "journal_path", type=FILE, help="Keep samples and ticks in this file.")
@click.option("-o", "--output", "page", type=FILE, help="Write a report (HTML).")
@everywhere
def simulate(
    *,
    policy: str,
    workload: str,
    peak: float | None,
    duration_s: float | None,
    time_scale: float,
    process: str,
    scenario: str,
    bounds: Bounds,
    initial: int | None,
    guards: tuple[str, ...],
    slo_latency_s: float,
    journal_path: Path | None,
    page: Path | None,
    output: Output,
) -> None:
    """Run one policy on a simulated app."""
    for path in (journal_path, page):
        if path is not None:
            check_writable(path, what="output")
    load = parse_workload(workload, peak=peak, duration_s=duration_s, time_scale=time_scale, seed=output.seed)
    with progress("simulating", load.duration_s, console=output.err, quiet=output.quiet) as advance:
        run = run_simulation(
            policy=policy,
            workload=load,
            advance=advance,
            scenario=load_scenario(scenario),
            bounds=bounds,
            executors=initial,
            guards=guards,
            process=process,
            seed=output.seed,
            slo_latency_s=slo_latency_s,
        )
    if journal_path is not None:
        save_journal(run.journal, journal_path)
        output.say(f"journal: {journal_path}")
    if page is not None:
        write_report([ReportRun(label=run.result.policy, reader=run.journal, result=run.result)], page)
        output.say(f"report: {page}")
    if output.as_json:
        output.document(run.result.to_document())
    output.show(result_table(run.result))
