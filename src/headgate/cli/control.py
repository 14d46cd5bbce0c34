"""``headgate control``: the controller as a process of its own, over an agent that is served elsewhere."""

from __future__ import annotations

import json
import signal
import sys
import threading
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from headgate.cli.extras import extras_installed
from headgate.cli.output import Output, everywhere
from headgate.cli.params import DURATION, FILE
from headgate.control.clock import WallClock
from headgate.control.leading import Leading, Term
from headgate.control.loop import Loop
from headgate.control.training import TrainingProcess
from headgate.core.ports import Journal
from headgate.errors import UserMistake
from headgate.journal import SqliteJournal
from headgate.link import ControlServer, FollowedAgent, check_port, find, register
from headgate.link.lease import TAKEOVER_S
from headgate.wiring.specs import check_writable, make_guards, make_loop, make_policy
from headgate.wiring.standby import standing_by

if TYPE_CHECKING:
    from headgate.kafka.settings import KafkaSettings

_SHORTEST_TAKEOVER_S = 1.0


@click.command(epilog="Example: headgate control --app orders --policy hpa:target=0.8 --journal orders.db --standby")
@click.option("--app", help="The app whose agent to control, when several are served.")
@click.option("--policy", "-p", default="hpa", show_default=True)
@click.option("--guard", "-g", "guards", multiple=True, help="Repeatable.")
@click.option("--journal", "journal_path", type=FILE, required=True, help="Where samples and ticks are kept.")
@click.option("--sampling-interval", "sampling_interval_s", type=DURATION, default="1s", show_default=True)
@click.option("--retention", "retention_s", type=DURATION, help="How long the journal keeps samples and ticks.")
@click.option("--dry-run", is_flag=True, help="Decide without acting.")
@click.option("--standby", is_flag=True, help="Wait while another controller leads, and take over when it is gone.")
@click.option(
    "--kafka", "bootstrap", metavar="HOST:PORT", help="Brokers by which controllers on several machines find a leader."
)
@click.option("--client-config", type=FILE, help="Settings of Kafka's clients, for secured clusters.")
@click.option(
    "--takeover",
    "takeover_s",
    type=DURATION,
    default=f"{TAKEOVER_S:g}s",
    show_default=True,
    help="Silence of a leader after which another one takes over, with --standby.",
)
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
    standby: bool,
    bootstrap: str | None,
    client_config: Path | None,
    takeover_s: float,
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
    if takeover_s < _SHORTEST_TAKEOVER_S:
        raise UserMistake(f"--takeover {takeover_s:g}s is too short; give {_SHORTEST_TAKEOVER_S:g}s or more")
    if bootstrap is not None and not standby:
        raise UserMistake("--kafka says how controllers find a leader; give --standby as well")
    kafka = None if bootstrap is None else _kafka(bootstrap, client_config)
    agent = FollowedAgent(entry)

    def begin(epoch: int | None, shared: Callable[[Journal], Journal]) -> _Term:
        journal = shared(SqliteJournal(journal_path, retention_s=retention_s))
        loop = make_loop(
            agent,
            policy=made_policy,
            guards=made_guards,
            journal=journal,
            clock=WallClock(),
            training=TrainingProcess(),
            sampling_interval_s=sampling_interval_s,
            dry_run=dry_run,
            extra=more,
            epoch=epoch,
        )
        return _Term(loop, journal, app=entry.app, port=port, say=lambda: output.say(f"{said} with {policy}"))

    said = f"controlling app '{entry.app}'"
    controller: Term | Leading
    if standby:
        controller = standing_by(agent, begin, app=entry.app, takeover_s=takeover_s, kafka=kafka)
    else:
        controller = begin(None, lambda journal: journal)
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, lambda *_: controller.stop())
    if follow_stdin:
        threading.Thread(target=_stop_with_stdin, args=(controller,), daemon=True).start()
    output.narrate()
    controller.run()


class _Term:
    """A loop with its journal and its levers."""

    def __init__(self, loop: Loop, journal: Journal, *, app: str, port: int, say: Callable[[], None]) -> None:
        self._loop = loop
        self._journal = journal
        self._app = app
        self._port = port
        self._say = say

    def run(self) -> None:
        server = ControlServer(self._loop, app=self._app, port=self._port)
        server.start()
        try:
            with register(role="controller", app=self._app, address=server.address, token=server.token):
                self._say()
                self._loop.run()
        finally:
            server.stop()
            self._journal.close()

    def stop(self) -> None:
        self._loop.stop()


def _kafka(bootstrap: str, client_config: Path | None) -> KafkaSettings:
    with extras_installed("kafka"):
        from headgate.kafka.settings import KafkaSettings
    return KafkaSettings(bootstrap, {} if client_config is None else KafkaSettings.read_client_config(client_config))


def _stop_with_stdin(controller: Term | Leading) -> None:
    """Whoever started this process holds its standard input open, and lets go of it even when killed."""
    sys.stdin.read()
    controller.stop()


def _extra(text: str) -> dict[str, Any]:
    try:
        extra = json.loads(text)
    except ValueError:
        extra = None
    if not isinstance(extra, dict):
        raise UserMistake('--extra is not a JSON object; write it as {"key": "value"}')
    return extra
