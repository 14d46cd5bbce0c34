"""``headgate pack``: partitions onto consumers, step by step."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click
from rich import box
from rich.table import Table

from headgate.cli.output import Output, everywhere
from headgate.cli.params import FILE, RATE
from headgate.packing import ALGORITHMS, Assignment, bins, moved, rscore
from headgate.packing import pack as packed
from headgate.packing.rates import RateStep, read_assignment, read_rates
from headgate.report.wording import mean_count, number

_MOST_ROWS = 40


@click.command(epilog="Example: headgate pack rates.csv --capacity 1.5M --algorithm mbf --current now.json")
@click.argument("rates", type=FILE)
@click.option("--capacity", "-c", type=RATE, required=True, help="Bytes per second that one consumer takes.")
@click.option("--algorithm", "-a", default="mbf", show_default=True, help=f"One of {', '.join(ALGORITHMS)}.")
@click.option("--current", type=FILE, help="The present assignment: JSON, or a CSV of partition,consumer.")
@everywhere
def pack(*, rates: Path, capacity: float, algorithm: str, current: Path | None, output: Output) -> None:
    """Pack partitions onto as few consumers as carry them, counting what moves cost.

    RATES is a CSV of step,partition,bytes_per_second; each step starts from what the one before it has assigned.
    """
    steps, assignment = read_rates(rates), read_assignment(current) if current is not None else {}
    rows = _packed(steps, assignment, capacity=capacity, algorithm=algorithm)
    means = {key: sum(row[key] for row in rows) / len(rows) for key in ("bins", "rscore")}
    if output.as_json:
        told = [{key: row[key] for key in ("step", "bins", "rscore", "assignment")} for row in rows]
        output.document({"steps": told, "mean_bins": means["bins"], "mean_rscore": means["rscore"]})
    output.show(_table(rows))
    output.show(
        f"{algorithm}: {mean_count(means['bins'])} consumers and an Rscore of {means['rscore']:.3g} on average over "
        f"{len(rows)} step{'' if len(rows) == 1 else 's'}"
    )


def _packed(steps: list[RateStep], assignment: Assignment, *, capacity: float, algorithm: str) -> list[dict[str, Any]]:
    rows = []
    for step in steps:
        after = packed(step.speeds, assignment, capacity=capacity, algorithm=algorithm)
        rows.append(
            {
                "step": step.step,
                "bins": bins(after),
                "rscore": rscore(assignment, after, step.speeds, capacity=capacity),
                "assignment": {partition: str(consumer) for partition, consumer in after.items()},
                "moved": len(moved(assignment, after)),
                "bytes_per_second": sum(step.speeds.values()),
            }
        )
        assignment = after
    return rows


def _table(rows: list[dict[str, Any]]) -> Table:
    table = Table(box=box.SIMPLE, pad_edge=False)
    for column in ("step", "bytes/s", "consumers", "moved", "Rscore"):
        table.add_column(column, justify="right")
    for row in rows[:_MOST_ROWS]:
        figures = (number(row["bytes_per_second"]), str(row["bins"]), str(row["moved"]), f"{row['rscore']:.3g}")
        table.add_row(str(row["step"]), *figures)
    if len(rows) > _MOST_ROWS:
        table.caption = f"and {len(rows) - _MOST_ROWS} more steps; --json has all of them"
    return table
