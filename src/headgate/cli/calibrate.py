"""``headgate calibrate``: a scenario for the simulator from a recorded run."""

from __future__ import annotations

from pathlib import Path

import click

from headgate.cli.output import Output, everywhere
from headgate.cli.params import FILE
from headgate.journal import read_journal
from headgate.sim import scenario_to_toml
from headgate.sim.calibration import calibrate as calibrate_scenario
from headgate.wiring.specs import check_writable


@click.command(epilog="Example: headgate calibrate orders.db -o orders.toml")
@click.argument("journal", type=FILE)
@click.option("-o", "--output", "target", type=FILE, help="The scenario file to write [stdout].")
@click.option("--name", help="Name of the scenario [the app's].")
@everywhere
def calibrate(*, journal: Path, target: Path | None, name: str | None, output: Output) -> None:
    """Derive capacity, overhead, start-up times and noise of an app from its journal."""
    if target is not None:
        check_writable(target, what="scenario")
    reader = read_journal(journal)
    with output.working(f"reading {journal} …"):
        scenario = calibrate_scenario(reader.samples(), name=name or reader.header().app)
    text = scenario_to_toml(scenario)
    if target is not None:
        target.write_text(text, encoding="utf-8")
        output.say(f"scenario: {target}")
    if output.as_json:
        output.document({"scenario": str(target) if target else None, "toml": text})
    elif target is None:
        output.out.print(text, markup=False, highlight=False, soft_wrap=True)
