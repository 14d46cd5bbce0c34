"""``headgate measure``: the greatest rate that an app sustains on so many executors, found on the real thing."""

from __future__ import annotations

import contextlib
import math
from pathlib import Path
from typing import Any

import click

from headgate.cli.benches import app_to_load, real_bench
from headgate.cli.output import Output, everywhere
from headgate.cli.params import DURATION, FILE, RATE
from headgate.cli.session import stopped_by_signals
from headgate.errors import UserMistake
from headgate.report.measured import measurement_table, write_measurement
from headgate.scoring.scalability import Measurement
from headgate.wiring.measurement import Measuring, Wishes, expected_rate
from headgate.wiring.specs import check_writable

MOST_EXECUTORS = 64


class SizesParam(click.ParamType):  # type: ignore[type-arg]
    """``1,2,4``."""

    name = "N,N,…"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> tuple[int, ...]:  # noqa: ARG002
        if isinstance(value, tuple):
            return value
        words = [word.strip() for word in str(value).split(",")]
        if not all(word.isascii() and word.isdigit() and 1 <= int(word) <= MOST_EXECUTORS for word in words):
            raise UserMistake(
                f"--executors {value} is not a list of sizes; write numbers from 1 to {MOST_EXECUTORS}, as in 1,2,4"
            )
        return tuple(sorted({int(word) for word in words}))


@click.command(epilog="Example: headgate measure word-count --executors 1,2,4 --quota 0.25 -o rates.html")
@click.argument("app_file", metavar="APP.toml|EXAMPLE", type=FILE)
@click.option("--executors", "-e", type=SizesParam(), default="1,2,4", show_default=True, help="Sizes to measure.")
@click.option("--quota", type=RATE, help="Share of a processor that each executor may use [the file's].")
@click.option("--hold", "hold_s", type=DURATION, default="12s", show_default=True, help="How long to hold a rate.")
@click.option("--start-rate", type=RATE, help="Where to start, in records/s [found by working off backlogs].")
@click.option("--most-rate", type=RATE, help="Do not try more records/s than this.")
@click.option(
    "--precision",
    type=click.FloatRange(0.01, 1.0),
    default=0.1,
    show_default=True,
    help="How far apart what is sustained and what is not may be.",
)
@click.option("-o", "--output", "page", type=FILE, help="Write a page with a figure (HTML).")
@everywhere
def measure(
    *,
    app_file: Path,
    executors: tuple[int, ...],
    quota: float | None,
    hold_s: float,
    start_rate: float | None,
    most_rate: float | None,
    precision: float,
    page: Path | None,
    output: Output,
) -> int:
    """Raise the rate of an app's records until its lag grows.

    Starts the app of a file, or an example by its name, on a cluster of its own, with the topic and the
    records of its producer. The rate is that of the records in this first topic.
    """
    if page is not None:
        check_writable(page, what="page")
    app = app_to_load(app_file, quota=quota)
    wishes = Wishes(
        executors=executors,
        hold_s=hold_s,
        expected_rate=expected_rate(app),
        start_rate=start_rate,
        most_rate=math.inf if most_rate is None else most_rate,
        precision=precision,
    )
    with contextlib.ExitStack() as stack:
        with output.working(f"starting app '{app.name}' …"):
            bench = stack.enter_context(real_bench(app, executors=executors, output=output))
        # Only now, because PySpark takes Ctrl-C for itself while a session starts.
        bench.heed(stack.enter_context(stopped_by_signals()))
        measuring = Measuring(bench, wishes, app=app.name, quota=app.cluster.quota, say=output.say)
        with output.working(f"measuring app '{app.name}' …"):
            measurement = measuring.run()
    _tell(measurement, page=page, output=output)
    if not measurement.complete:
        return 130
    return 0 if any(size.rate is not None for size in measurement.sizes) else 1


def _tell(measurement: Measurement, *, page: Path | None, output: Output) -> None:
    if output.as_json:
        output.document(measurement.to_document())
    if not measurement.sizes:
        output.say("it was interrupted before a rate had been held")
        return
    output.show(measurement_table(measurement))
    for note in measurement.notes:
        output.show(note)
    if page is not None:
        write_measurement(measurement, page)
        output.say(f"page: {page}")
