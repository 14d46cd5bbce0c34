"""``headgate run``: an app's pipeline with its controller, from an app file."""

from __future__ import annotations

from pathlib import Path

import click

from headgate.cli.output import Output, everywhere
from headgate.cli.params import FILE
from headgate.cli.session import run_app
from headgate.config import load_app


@click.command(epilog="Example: headgate run orders.toml --dry-run")
@click.argument("app_file", metavar="APP.toml", type=FILE)
@click.option("--dry-run", is_flag=True, help="Decide without acting.")
@click.option("--policy", "-p", help="Instead of the file's policy.")
@click.option("-o", "--output", "page", type=FILE, help="The report to write [NAME.html in the app's folder].")
@everywhere
def run(*, app_file: Path, dry_run: bool, policy: str | None, page: Path | None, output: Output) -> int:
    """Start an app's pipeline with its controller; both end with the stream, or at Ctrl-C."""
    app = load_app(app_file)
    changes: dict[str, object] = {}
    if dry_run:
        changes["dry_run"] = True
    if policy is not None:
        changes["policy"] = policy
    app = app.model_copy(update={"controller": app.controller.model_copy(update=changes)})
    return run_app(app, page=page, output=output)
