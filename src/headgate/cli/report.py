"""``headgate report``: recorded runs as one page."""

from __future__ import annotations

from pathlib import Path

import click

from headgate.cli.output import Output, everywhere
from headgate.cli.params import DURATION, FILE
from headgate.journal import read_journal
from headgate.report import ReportRun, write_report
from headgate.report.tables import comparison_table
from headgate.scoring import score_recorded
from headgate.wiring.specs import check_writable


@click.command(epilog="Example: headgate report monday.db tuesday.db -o week.html")
@click.argument("journals", nargs=-1, required=True, type=FILE)
@click.option("-o", "--output", "page", type=FILE, required=True, help="The page to write (HTML).")
@click.option("--title", help="Heading of the page.")
@click.option("--slo", "slo_latency_s", type=DURATION, default="10s", show_default=True)
@everywhere
def report(*, journals: tuple[Path, ...], page: Path, title: str | None, slo_latency_s: float, output: Output) -> None:
    """Write one self-contained page with figures from one or several journals."""
    check_writable(page, what="report")
    runs, results = [], []
    for path in journals:
        reader = read_journal(path)
        with output.working(f"reading {path} …"):
            result = score_recorded(reader, slo_latency_s=slo_latency_s)
        label = result.policy if len(journals) == 1 else f"{path.stem}: {result.policy}"
        results.append(result)
        runs.append(ReportRun(label=label, reader=reader, result=result))
    with output.working(f"writing {page} …"):
        write_report(runs, page, title=title)
    output.say(f"report: {page}")
    if output.as_json:
        output.document({"rows": [result.to_document() for result in results], "report": str(page)})
    output.show(comparison_table(results, labels=[run.label for run in runs]))
