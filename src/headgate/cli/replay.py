"""``headgate replay``: a recorded run, decided again."""

from __future__ import annotations

from pathlib import Path

import click

from headgate.cli.output import Output, everywhere
from headgate.cli.params import FILE
from headgate.codec import to_plain
from headgate.control.replay import replay as replay_ticks
from headgate.errors import UserMistake
from headgate.journal import read_journal
from headgate.report.decisions import replay_table
from headgate.report.tables import comparison_table
from headgate.sim.calibration import calibrate
from headgate.wiring.simulation import simulate_recorded
from headgate.wiring.specs import make_guards, make_policy


@click.command(epilog="Example: headgate replay orders.db --policy threshold-busy --simulate")
@click.argument("journal", type=FILE)
@click.option("--policy", "-p", "policies", multiple=True, help="Repeatable [the recorded one].")
@click.option("--guard", "-g", "guards", multiple=True, help="Repeatable [the recorded ones].")
@click.option("--simulate", "simulated", is_flag=True, help="Also run each policy on the calibrated simulator.")
@everywhere
def replay(
    *, journal: Path, policies: tuple[str, ...], guards: tuple[str, ...], simulated: bool, output: Output
) -> int:
    """Decide every recorded tick again; exit 1 if the recorded policy comes to other decisions."""
    reader = read_journal(journal)
    header = reader.header()
    made_guards = make_guards(guards or header.guards)
    rows = []
    repeated = True
    for spec in policies or (header.policy,):
        made_policy = make_policy(spec)
        with output.working(f"deciding again with {spec} …"):
            same_policy = spec == header.policy
            ticks = list(replay_ticks(reader, policy=made_policy, guards=made_guards, recorded=same_policy))
        if not ticks:
            raise UserMistake(f"journal {journal} holds no ticks; let the app run for a period of its policy first")
        same = sum(tick.same for tick in ticks)
        decisions = [to_plain(tick.decision) for tick in ticks] if output.as_json else []
        rows.append({"policy": spec, "ticks": len(ticks), "same": same, "decisions": decisions})
        if same_policy and not guards and same != len(ticks):
            repeated = False
        output.show(replay_table(spec, ticks))
    results = []
    if simulated:
        with output.working("simulating …"):
            scenario = calibrate(reader.samples(), name=header.app)
            results = [
                simulate_recorded(
                    reader, policy=spec, guards=guards or header.guards, scenario=scenario, seed=output.seed
                )
                for spec in policies or (header.policy,)
            ]
        output.show(comparison_table(results, title="simulated"))
    if output.as_json:
        output.document(
            {
                "journal": str(journal),
                "recorded_policy": header.policy,
                "rows": rows,
                "simulated": [result.to_document() for result in results],
            }
        )
    return 0 if repeated else 1
