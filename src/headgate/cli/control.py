"""``headgate control``: the controller as a process of its own, over agents that are served elsewhere."""

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
from headgate.control.together import Together
from headgate.control.training import TrainingProcess
from headgate.core.ports import Journal
from headgate.errors import UserMistake, nearest
from headgate.journal import SqliteJournal
from headgate.link import ControlServer, FollowedAgent, check_port, file_name, find, register
from headgate.link.lease import TAKEOVER_S
from headgate.wiring.specs import check_writable, make_guards, make_loop, make_policy
from headgate.wiring.standby import standing_by

if TYPE_CHECKING:
    from headgate.kafka.settings import KafkaSettings

_SHORTEST_TAKEOVER_S = 1.0


@click.command(epilog="Example: headgate control --app orders --policy hpa:target=0.8 --journal orders.db --standby")
@click.option("--app", "apps", multiple=True, help="The app whose agent to control; repeatable [the only one].")
@click.option(
    "--policy",
    "-p",
    "policies",
    multiple=True,
    default=("hpa",),
    show_default=True,
    help="For all apps, or for one as APP=POLICY; repeatable.",
)
@click.option("--guard", "-g", "guards", multiple=True, help="Repeatable.")
@click.option(
    "--journal",
    "journal_path",
    type=FILE,
    required=True,
    help="Where samples and ticks are kept: a file, or for several apps a folder.",
)
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
    help="Time within which another controller takes over from a leader that is silent, with --standby.",
)
@click.option("--port", type=int, default=0, help="Where terminals reach the levers [any that is free].")
@click.option("--follow-stdin", is_flag=True, hidden=True, help="End when standard input is closed.")
@click.option("--extra", default="{}", hidden=True, help="JSON object for the journal's header.")
@everywhere
def control(
    *,
    apps: tuple[str, ...],
    policies: tuple[str, ...],
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
    """Control apps from a process of its own; their streams go on when this process ends."""
    entries = {entry.app: entry for entry in (find("agent", app) for app in apps or (None,))}
    chosen = _policies(policies, tuple(entries))
    journals = _journals(journal_path, tuple(entries))
    made_policies = {app: make_policy(spec) for app, spec in chosen.items()}
    made_guards, more = make_guards(guards), _extra(extra)
    if port and len(entries) > 1:
        raise UserMistake(f"--port {port} is for one app, and {len(entries)} are controlled; leave it out")
    for app in entries:
        check_port(port, what=f"the controller of '{app}'")
    if takeover_s < _SHORTEST_TAKEOVER_S:
        raise UserMistake(f"--takeover {takeover_s:g}s is too short; give {_SHORTEST_TAKEOVER_S:g}s or more")
    if bootstrap is not None and not standby:
        raise UserMistake("--kafka says how controllers find a leader; give --standby as well")
    kafka = None if bootstrap is None else _kafka(bootstrap, client_config)

    def controller_of(app: str) -> Term | Leading:
        agent = FollowedAgent(entries[app])

        def begin(epoch: int | None, shared: Callable[[Journal], Journal]) -> _Term:
            journal = shared(SqliteJournal(journals[app], retention_s=retention_s))
            loop = make_loop(
                agent,
                policy=made_policies[app],
                guards=made_guards,
                journal=journal,
                clock=WallClock(),
                training=TrainingProcess(),
                sampling_interval_s=sampling_interval_s,
                dry_run=dry_run,
                extra=more,
                epoch=epoch,
            )
            said = f"controlling app '{app}' with {chosen[app]}"
            return _Term(loop, journal, app=app, port=port, say=lambda: output.say(said))

        if standby:
            return standing_by(agent, begin, app=app, takeover_s=takeover_s, kafka=kafka)
        return begin(None, lambda journal: journal)

    if len(entries) > 1:
        journal_path.mkdir(exist_ok=True)
    controller = Together({app: controller_of(app) for app in entries})
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, lambda *_: controller.stop())
    if follow_stdin:
        threading.Thread(target=_stop_with_stdin, args=(controller,), daemon=True).start()
    output.narrate()
    controller.run()


def _policies(specs: tuple[str, ...], apps: tuple[str, ...]) -> dict[str, str]:
    """The policy of each app: its own, or the one for all.

    >>> _policies(("hpa:target=0.7", "ads=daedalus"), ("orders", "ads"))
    {'orders': 'hpa:target=0.7', 'ads': 'daedalus'}
    """
    own, common = dict[str, str](), list[str]()
    for spec in specs:
        app, named, policy = spec.partition("=")
        if not named or ":" in app:
            common.append(spec)
        elif app in own:
            raise UserMistake(f"--policy gives app '{app}' two policies; keep one of them")
        else:
            own[app] = policy
    for app in own:
        if app not in apps:
            raise UserMistake(f"--policy names app '{app}', which is not controlled here{nearest(app, apps)}")
    if len(common) > 1:
        raise UserMistake(f"--policy {common[1]} would be a second one for all apps; write it as APP={common[1]}")
    missing = [app for app in apps if app not in own]
    if missing and not common:
        raise UserMistake(f"--policy says nothing about app '{missing[0]}'; give one for all, or {missing[0]}=POLICY")
    return {app: own.get(app) or common[0] for app in apps}


def _journals(path: Path, apps: tuple[str, ...]) -> dict[str, Path]:
    """A file of its own for each app."""
    if len(apps) == 1:
        return {apps[0]: check_writable(path, what="journal")}
    if path.exists() and not path.is_dir():
        raise UserMistake(
            f"journal {path} is a file, and {len(apps)} apps are controlled; give a folder for their journals"
        )
    if not path.resolve().parent.is_dir():
        raise UserMistake(f"journal {path}: the folder above it does not exist; make it first")
    return {app: path / f"{file_name(app)}.db" for app in apps}


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


def _stop_with_stdin(controller: Together) -> None:
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
