"""``headgate reproduce``: a paper's experiment, beside its published figures."""

from __future__ import annotations

import contextlib
from collections.abc import Callable
from importlib import import_module
from pathlib import Path

import click

from headgate.cli.extras import extras_installed
from headgate.cli.output import Output, everywhere
from headgate.cli.params import FILE
from headgate.errors import UserMistake, nearest
from headgate.experiments import EXPERIMENTS, Runner
from headgate.report.frame import write_page
from headgate.report.progress import progress
from headgate.wiring.specs import check_writable


@click.command(epilog="Example: headgate reproduce daedalus --repetitions 2 -o daedalus.html")
@click.argument("paper")
@click.option("--repetitions", "-n", type=click.IntRange(1, 100), default=5, show_default=True)
@click.option(
    "--traces",
    type=click.Path(path_type=Path, file_okay=False),
    default=Path("../shared/traces"),
    show_default=True,
    help="Folder with recorded workloads; shapes of the same kind stand in for what is not there.",
)
@click.option(
    "--real", is_flag=True, help="On real Spark and Kafka instead, for papers that have that (once, real time)."
)
@click.option("--folder", type=FILE, help="For the journals of --real [out/PAPER here].")
@click.option("-o", "--output", "page", type=FILE, help="Write a page with the paper's figures (HTML).")
@everywhere
def reproduce(
    *,
    paper: str,
    repetitions: int,
    traces: Path,
    real: bool,
    folder: Path | None,
    page: Path | None,
    output: Output,
) -> None:
    """Run a paper's experiment again, in virtual time, beside what was published.

    PAPER is consumer-group, daedalus or elastic-functions.
    """
    if paper not in EXPERIMENTS:
        raise UserMistake(f"there is no experiment of a paper '{paper}'{nearest(paper, EXPERIMENTS)}")
    experiment = EXPERIMENTS[paper]
    if real and experiment.on_spark is None:
        known = ", ".join(name for name, each in EXPERIMENTS.items() if each.on_spark is not None)
        raise UserMistake(f"--real is not there for {paper}; it is for {known}")
    if folder is not None and not real:
        raise UserMistake("--folder is for the journals of --real; add that or leave it out")
    if page is not None:
        check_writable(page, what="page")
    with extras_installed("forecasting"):
        import statsforecast  # noqa: F401
    with contextlib.ExitStack() as stack:
        bar: list[contextlib.ExitStack] = []

        def begin(what: str, count: int) -> Callable[[], None]:
            for earlier in bar:
                earlier.close()
            bar[:] = [stack.enter_context(contextlib.ExitStack())]
            short = what if len(what) <= 40 else f"{what[:39]}…"
            advance = bar[0].enter_context(progress(short, count, console=output.err, quiet=output.quiet))
            return lambda: advance(1)

        runner = Runner(repetitions=repetitions, first_seed=output.seed, begin=begin)
        if experiment.on_spark is not None and real:
            with extras_installed():
                module = import_module(experiment.on_spark)
            found = module.reproduce(runner, (folder or Path("out") / paper).resolve(), output.say)
        else:
            found = experiment.reproduce(runner, traces)
    if page is not None:
        write_page(experiment.page(found), page)
        output.say(f"page: {page}")
    if output.as_json:
        output.document(found.to_document())
    output.show(experiment.tables(found))
    output.show(found.verdict)
