"""``headgate broker up``, ``down``, ``status``: a real Kafka on this machine for development."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click
from rich.text import Text

from headgate.cli.extras import extras_installed
from headgate.cli.output import Output, everywhere

if TYPE_CHECKING:
    from headgate.kafka.broker import BrokerStatus


@click.group(epilog="Example: headgate broker up")
def broker() -> None:
    """Bring a real Kafka up on loopback, take it down, look at it."""


@broker.command(epilog="Example: headgate broker up --brokers 3 --port 9092")
@click.option("--brokers", type=click.Choice(["1", "3"]), help="Three can lose one.  [default: 1]")
@click.option("--port", type=click.IntRange(1, 65533), help="Of the first broker; the others get the next ones.")
@click.option("--folder", type=click.Path(path_type=Path), help="Where it writes; one that was kept goes on.")
@everywhere
def up(*, brokers: str | None, port: int | None, folder: Path | None, output: Output) -> None:
    """Start Kafka, or find it running; it answers when the command returns."""
    output.narrate()
    with extras_installed("kafka"):
        from headgate.kafka import broker as kafka
    with output.working("starting Kafka"):
        status = kafka.up(brokers=None if brokers is None else int(brokers), port=port, folder=folder)
    _answer(status, output, "Kafka is up" if status.fresh else "Kafka is running already")


@broker.command(epilog="Example: headgate broker down --keep")
@click.option("--keep", is_flag=True, help="Keep topics and log for the next `up`.")
@everywhere
def down(*, keep: bool, output: Output) -> None:
    """Stop Kafka and remove everything that it wrote."""
    with extras_installed("kafka"):
        from headgate.kafka import broker as kafka
    with output.working("stopping Kafka"):
        was = kafka.down(keep=keep)
    if output.as_json:
        output.document(
            {"stopped": was is not None and was.running, "kept": str(was.folder) if was is not None and keep else None}
        )
    if was is None:
        _show(output, "no broker was running")
    elif keep:
        _show(output, f"Kafka at {was.bootstrap} is down; its topics are kept in {was.folder}")
    else:
        _show(output, f"Kafka at {was.bootstrap} is down, and what it wrote is removed")


@broker.command(epilog="Example: headgate broker status --json")
@everywhere
def status(*, output: Output) -> int:
    """Show where Kafka is and how it does; exit code 1 when it is not running."""
    with extras_installed("kafka"):
        from headgate.kafka import broker as kafka
    found = kafka.status()
    if found is None:
        if output.as_json:
            output.document({"running": False})
        _show(output, "no broker is running; start one with `headgate broker up`")
        return 1
    _answer(found, output, "Kafka is running" if found.running else "Kafka is not running, but kept")
    return 0 if found.running else 1


def _answer(status: BrokerStatus, output: Output, headline: str) -> None:
    if output.as_json:
        output.document(
            {
                "running": status.running,
                "started": status.fresh,
                "bootstrap": status.bootstrap,
                "brokers": status.brokers,
                "answering": status.answering,
                "folder": str(status.folder),
                "logs": [str(log) for log in status.logs],
                "pids": list(status.pids),
            }
        )
    count = (
        f"{status.answering} of {status.brokers} brokers answer" if status.running else f"{status.brokers} broker(s)"
    )
    _show(output, f"{headline} at {status.bootstrap} ({count})")
    if output.as_json or output.quiet:
        return
    for log in status.logs:
        _show(output, f"log: {log}")


def _show(output: Output, sentence: str) -> None:
    # Addresses and paths are copied from here, so lines are not broken.
    output.show(Text(sentence, no_wrap=True, overflow="ignore"))
