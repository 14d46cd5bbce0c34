"""``headgate status``, ``pause``, ``resume``, ``pin``, ``unpin``: a person's hand on a running controller."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from typing import Any

import click

from headgate.cli.output import Output, everywhere
from headgate.codec import to_plain
from headgate.core.status import Controls
from headgate.link import ControlClient, find
from headgate.report.tables import status_panel


def _app_option(command: Callable[..., Any]) -> Callable[..., Any]:
    return click.option("--app", help="Which app, when several controllers are running.")(command)


@contextmanager
def _reach(app: str | None) -> Iterator[Controls]:
    entry = find("controller", app)
    with closing(ControlClient(entry.address, entry.token)) as controls:
        yield controls


def _answer(controls: Controls, output: Output) -> None:
    status = controls.status()
    if output.as_json:
        output.document(to_plain(status))
    output.show(status_panel(status))


@click.command(epilog="Example: headgate status --app orders")
@_app_option
@everywhere
def status(*, app: str | None, output: Output) -> None:
    """Show size, rates and the last decision with its reasons."""
    with _reach(app) as controls:
        _answer(controls, output)


@click.command(epilog="Example: headgate pause --app orders")
@_app_option
@everywhere
def pause(*, app: str | None, output: Output) -> None:
    """Hold the present size until `headgate resume`."""
    with _reach(app) as controls:
        controls.pause()
        _answer(controls, output)


@click.command(epilog="Example: headgate resume --app orders")
@_app_option
@everywhere
def resume(*, app: str | None, output: Output) -> None:
    """Let the policy decide again after `headgate pause`."""
    with _reach(app) as controls:
        controls.resume()
        _answer(controls, output)


@click.command(epilog="Example: headgate pin 6 --app orders")
@click.argument("executors", type=int)
@_app_option
@everywhere
def pin(*, executors: int, app: str | None, output: Output) -> None:
    """Go to EXECUTORS at once and stay there until `headgate unpin`."""
    with _reach(app) as controls:
        controls.pin(executors)
        _answer(controls, output)


@click.command(epilog="Example: headgate unpin --app orders")
@_app_option
@everywhere
def unpin(*, app: str | None, output: Output) -> None:
    """Let the policy decide again after `headgate pin`."""
    with _reach(app) as controls:
        controls.unpin()
        _answer(controls, output)
