"""``headgate run``: an app's pipeline with its controller, from an app file."""

from __future__ import annotations

from pathlib import Path

import click

from headgate.cli.output import Output, everywhere
from headgate.cli.params import DURATION, FILE
from headgate.cli.session import run_app
from headgate.wiring.examples import named_app


@click.command(epilog="Example: headgate run orders.toml --dry-run, or an example: headgate run word-count")
@click.argument("app_file", metavar="APP.toml", type=FILE)
@click.option("--dry-run", is_flag=True, help="Decide without acting.")
@click.option("--policy", "-p", help="Instead of the file's policy.")
@click.option("--duration", "duration_s", type=DURATION, help="Cut or repeat the file's streams and producers.")
@click.option("--folder", type=FILE, help="For journal, checkpoints and sinks, instead of the file's.")
@click.option("-o", "--output", "page", type=FILE, help="The report to write [NAME.html in the app's folder].")
@everywhere
def run(
    *,
    app_file: Path,
    dry_run: bool,
    policy: str | None,
    duration_s: float | None,
    folder: Path | None,
    page: Path | None,
    output: Output,
) -> int:
    """Start an app's pipeline with its controller; both end with the stream, or at Ctrl-C.

    APP.toml is an app file, or the name of an example that comes with Headgate.
    """
    app = named_app(app_file)
    changes: dict[str, object] = {}
    if dry_run:
        changes["dry_run"] = True
    if policy is not None:
        changes["policy"] = policy
    app = app.model_copy(update={"controller": app.controller.model_copy(update=changes)})
    if duration_s is not None:
        app = app.shortened(duration_s)
    if folder is not None:
        app = app.model_copy(update={"folder": folder.resolve()})
    return run_app(app, page=page, output=output)
