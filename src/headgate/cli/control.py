"""``headgate control``: the controller as a process of its own, over an agent that is served elsewhere."""

from __future__ import annotations

import json
import signal
import sys
import threading
from pathlib import Path
from typing import Any

import click

from headgate.cli.output import Output, everywhere
from headgate.cli.params import DURATION, FILE
from headgate.control.clock import WallClock
from headgate.control.loop import Loop
from headgate.control.training import TrainingProcess
from headgate.errors import UserMistake
from headgate.journal import SqliteJournal
from headgate.link import ControlServer, FollowedAgent, check_port, find, register
from headgate.wiring.specs import check_writable, make_guards, make_loop, make_policy


@click.command(epilog="Example: headgate control --app orders --policy hpa:target=0.8 --journal orders.db")
@click.option("--app", help="The app whose agent to control, when several are served.")
@click.option("--policy", "-p", default="hpa", show_default=True)
@click.option("--guard", "-g", "guards", multiple=True, help="Repeatable.")
@click.option("--journal", "journal_path", type=FILE, required=True, help="Where samples and ticks are kept.")
@click.option("--sampling-interval", "sampling_interval_s", type=DURATION, default="1s", show_default=True)
@click.option("--retention", "retention_s", type=DURATION, help="How long the journal keeps samples and ticks.")
@click.option("--dry-run", is_flag=True, help="Decide without acting.")
@click.option("--port", type=int, default=0, help="Where terminals reach the levers [any that is free].")
@click.option("--follow-stdin", is_flag=True, hidden=True, help="End when standard input is closed.")
@click.option("--extra", default="{}", hidden=True, help="JSON object for the journal's header.")
@everywhere
def control(
    *,
    app: str | None,
    policy: str,
    guards: tuple[str, ...],
    journal_path: Path,
    sampling_interval_s: float,
    retention_s: float | None,
    dry_run: bool,
    port: int,
    follow_stdin: bool,
    extra: str,
    output: Output,
) -> None:
    """Control an app from a process of its own; the stream goes on when this process ends."""
    check_writable(journal_path, what="journal")
    made_policy, made_guards, more = make_policy(policy), make_guards(guards), _extra(extra)
    entry = find("agent", app)
    check_port(port, what=f"the controller of '{entry.app}'")
    journal = SqliteJournal(journal_path, retention_s=retention_s)
    loop = make_loop(
        FollowedAgent(entry),
        policy=made_policy,
        guards=made_guards,
        journal=journal,
        clock=WallClock(),
        training=TrainingProcess(),
        sampling_interval_s=sampling_interval_s,
        dry_run=dry_run,
        extra=more,
    )
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, lambda *_: loop.stop())
    if follow_stdin:
        threading.Thread(target=_stop_with_stdin, args=(loop,), daemon=True).start()
    server = ControlServer(loop, app=entry.app, port=port)
    server.start()
    try:
        with register(role="controller", app=entry.app, address=server.address, token=server.token):
            output.narrate()
            output.say(f"controlling app '{entry.app}' with {policy}")
            loop.run()
    finally:
        server.stop()
        journal.close()


def _stop_with_stdin(loop: Loop) -> None:
    """Whoever started this process holds its standard input open, and lets go of it even when killed."""
    sys.stdin.read()
    loop.stop()


def _extra(text: str) -> dict[str, Any]:
    try:
        extra = json.loads(text)
    except ValueError:
        extra = None
    if not isinstance(extra, dict):
        raise UserMistake('--extra is not a JSON object; write it as {"key": "value"}')
    return extra
