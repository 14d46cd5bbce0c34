"""``headgate consumers``: a consumer group that packs itself, all of it or one of its processes."""

from __future__ import annotations

import contextlib
import logging
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click
from rich.table import Table

from headgate.cli.extras import extras_installed
from headgate.cli.output import Output, everywhere
from headgate.cli.params import DURATION, FILE
from headgate.cli.session import stopped_by_signals
from headgate.config import AppFile
from headgate.errors import UserMistake
from headgate.report.group import GroupCourse, group_page
from headgate.report.wording import number, seconds
from headgate.wiring.examples import named_app

if TYPE_CHECKING:
    from headgate.wiring.consumer_group import Group, Supervised

_LOOK_EVERY_S = 1.0
_SAY_EVERY_S = 10.0


@click.group(epilog="Example: headgate consumers up --app examples/consumers.toml")
def consumers() -> None:
    """Bring partitions into a lake with as many consumers as their write speeds need."""


def _options(command: Callable[..., Any]) -> Callable[..., Any]:
    """What all of the group's processes are told."""
    for option in reversed(
        (
            click.option("--app", "app_file", type=FILE, required=True, help="App file with a [consumers] table."),
            click.option("--kafka", "bootstrap", metavar="HOST:PORT", help="Instead of the file's."),
            click.option("--folder", type=FILE, help="For the lake and all else, instead of the file's."),
        )
    ):
        command = option(command)
    return command


@consumers.command(epilog="Example: headgate consumers up --app examples/consumers.toml --duration 5m")
@click.option("--app", "app_file", type=FILE, required=True, help="App file with a [consumers] table, or an example.")
@click.option("--folder", type=FILE, help="For the lake and all else, instead of the file's.")
@click.option("--duration", "duration_s", type=DURATION, help="Cut or repeat the file's producers.")
@click.option("-o", "--output", "page", type=FILE, help="The report to write [NAME.html in the group's folder].")
@everywhere
def up(*, app_file: Path, folder: Path | None, duration_s: float | None, page: Path | None, output: Output) -> int:
    """Start monitor, controller and consumers, and the file's producers; ends with these, or at Ctrl-C."""
    with extras_installed("consumers"):
        from headgate.kafka.settings import KafkaSettings
        from headgate.wiring.consumer_group import Group, Supervised
        from headgate.wiring.kafka_side import KafkaSide
    app, place = _app(app_file, folder)
    if duration_s is not None:
        app = app.shortened(duration_s)
    if app.consumers is not None and app.consumers.kubernetes is not None:
        raise UserMistake(f"group '{app.name}' runs on Kubernetes; apply what `headgate consumers manifests` prints")
    Group(app=app, app_file=place, kafka=KafkaSettings("127.0.0.1:1")).check()
    app.folder.mkdir(parents=True, exist_ok=True)
    page = page or app.folder / f"{app.name}.html"
    output.narrate()
    with contextlib.ExitStack() as stack:
        kafka = KafkaSide(app, say=output.say)
        kafka.open(stack)
        group = Group(app=app, app_file=place, kafka=kafka.settings)
        stack.callback(group.processes().end_all)
        parts = [
            stack.enter_context(Supervised(name, group.command(name), log=app.folder / f"{name}.log", say=output.say))
            for name in ("monitor", "controller")
        ]
        stop = stack.enter_context(stopped_by_signals())
        output.say(f"group '{app.name}' is starting; lake: {group.lake}")
        kafka.produce(stack)
        watch = _Watch(group, parts, output)
        while not stop.wait(_LOOK_EVERY_S):
            watch.look()
            if kafka.produces and kafka.all_produced() and group.left() == 0:
                break
        produced, left = sum(kafka.produced().values()), group.left()
    complete = not stop.is_set()
    audit = group.audit(produced, complete=complete) if kafka.produces else None
    course = GroupCourse.read(group.chronicle_path, app=app.name)
    page.write_text(group_page(course), encoding="utf-8")
    document = {
        **course.to_document(),
        "produced": produced,
        "left": left,
        "lake": str(group.lake),
        "sink": None if audit is None else {"exact": audit.exact, "summary": audit.summary},
        "report": str(page),
    }
    if output.as_json:
        output.document(document)
    else:
        output.show(_summary(course))
        for line in [*([] if audit is None else [audit.summary]), f"lake: {group.lake}", f"report: {page}"]:
            output.out.print(line, highlight=False, markup=False, soft_wrap=True)
    return 0 if audit is None or audit.exact else 1


@consumers.command(epilog="Example: headgate consumers monitor --app group.toml --kafka 127.0.0.1:9092")
@_options
@everywhere
def monitor(*, app_file: Path, bootstrap: str | None, folder: Path | None, output: Output) -> None:  # noqa: ARG001
    """Publish how fast each partition is written to, once a second."""
    with _process(app_file, bootstrap, folder) as (group, run):
        from headgate.wiring.consumer_group import make_monitor

        run(make_monitor(group))


@consumers.command(epilog="Example: headgate consumers controller --app group.toml --kafka 127.0.0.1:9092")
@_options
@everywhere
def controller(*, app_file: Path, bootstrap: str | None, folder: Path | None, output: Output) -> None:  # noqa: ARG001
    """Pack partitions onto consumers, which are processes of this machine."""
    with _process(app_file, bootstrap, folder) as (group, run):
        from headgate.wiring.consumer_group import make_controller

        run(make_controller(group))


@consumers.command(epilog="Example: headgate consumers consumer 1 --app group.toml --kafka 127.0.0.1:9092")
@click.argument("number", type=click.IntRange(1, 100_000))
@_options
@click.option("--token", hidden=True, help="A word that proves whose process this is.")
@everywhere
def consumer(
    *,
    number: int,
    app_file: Path,
    bootstrap: str | None,
    folder: Path | None,
    token: str | None,  # noqa: ARG001 - it only has to stand in the command line
    output: Output,  # noqa: ARG001
) -> None:
    """Be a consumer of the group: read what the controller says, and bring it into the lake."""
    with _process(app_file, bootstrap, folder) as (group, run):
        from headgate.wiring.consumer_group import make_consumer

        run(make_consumer(group, number))


@consumers.command(epilog="Example: headgate consumers report out/consumers -o group.html")
@click.argument("folder", type=FILE)
@click.option("-o", "--output", "page", type=FILE, required=True, help="The page to write (HTML).")
@everywhere
def report(*, folder: Path, page: Path, output: Output) -> None:
    """A page about a group: speeds, consumers, moves and lag over time, from its folder or its chronicle."""
    path = folder / "group.jsonl" if folder.is_dir() else folder
    course = GroupCourse.read(path, app=folder.stem if folder.is_file() else folder.name)
    page.write_text(group_page(course), encoding="utf-8")
    if output.as_json:
        output.document({**course.to_document(), "report": str(page)})
    output.show(_summary(course))
    output.say(f"report: {page}")


@consumers.command(
    epilog="Example: headgate consumers manifests --app group.toml --kafka kafka:9092 | kubectl apply -f -"
)
@_options
@everywhere
def manifests(*, app_file: Path, bootstrap: str | None, folder: Path | None, output: Output) -> None:
    """Print what a group is on Kubernetes but for its consumers, which the controller creates (JSON)."""
    from headgate.kubernetes.manifests import group_manifests

    with _process(app_file, bootstrap, folder) as (group, _):
        made = group.on_kubernetes()
    if made is None:
        raise UserMistake(f"{app_file} has no [consumers.kubernetes] table; add one with the image to use")
    text = app_file.read_text(encoding="utf-8")
    config = {
        "apiVersion": "v1",
        "kind": "ConfigMap",
        "metadata": {"name": made.group, "namespace": made.namespace},
        "data": {made.app_file: text},
    }
    output.document({"apiVersion": "v1", "kind": "List", "items": [config, *group_manifests(made)]})


class _Watch:
    """Says now and then how the group does, and stops when one of its processes cannot work as it is told."""

    def __init__(self, group: Group, parts: list[Supervised], output: Output) -> None:
        self._group = group
        self._parts = parts
        self._output = output
        self._said_s = time.monotonic()

    def look(self) -> None:
        for part in self._parts:
            if part.refusal is not None:
                raise UserMistake(part.refusal)
        if time.monotonic() - self._said_s >= _SAY_EVERY_S and self._group.chronicle_path.exists():
            self._said_s = time.monotonic()
            course = GroupCourse.read(self._group.chronicle_path, app=self._group.app.name)
            if course.times_s.size:
                self._output.say(
                    f"{int(course.consumers[-1])} consumers, {number(float(course.speed[-1]))} bytes/s, "
                    f"{number(float(course.lag[-1]))} records behind"
                )


@contextlib.contextmanager
def _process(
    app_file: Path, bootstrap: str | None, folder: Path | None
) -> Iterator[tuple[Group, Callable[[Any], None]]]:
    """One process of a group: what it knows, and what runs it until it is told to end."""
    with extras_installed("consumers"):
        from headgate.kafka.settings import KafkaSettings
        from headgate.wiring import consumer_group
    app, place = _app(app_file, folder)
    client = {} if app.kafka.config is None else KafkaSettings.read_client_config(app.kafka.config)
    address = bootstrap or (None if app.kafka.is_local else app.kafka.bootstrap)
    if address is None:
        raise UserMistake(f"{place} leaves Kafka to `headgate consumers up`; say where it is with --kafka HOST:PORT")
    group = consumer_group.Group(app=app, app_file=place, kafka=KafkaSettings(address, client))
    group.check()
    _log_in_lines()

    def run(part: Any) -> None:
        consumer_group.follow_owner(part)
        with consumer_group.stopped_by_signals(part):
            part.run()

    yield group, run


def _log_in_lines() -> None:
    """What a process of a group says is kept in its log, a line each, also when it is told to be quiet."""
    handler, logger = logging.StreamHandler(), logging.getLogger("headgate")
    handler.setFormatter(logging.Formatter("%(asctime)s %(message)s"))
    logger.handlers[:] = [handler]
    logger.setLevel(logging.INFO)


def _app(app_file: Path, folder: Path | None) -> tuple[AppFile, Path]:
    from headgate.wiring.examples import example_app

    app = named_app(app_file)
    place = app_file if app_file.exists() else example_app(app_file.name)
    if folder is not None:
        app = app.model_copy(update={"folder": folder.resolve()})
    if app.consumers is None:
        raise UserMistake(f"{app_file} has no [consumers] table, so it is no consumer group; add one")
    return app, place.resolve()


def _summary(course: GroupCourse) -> Table:
    table = Table(show_header=False, box=None, pad_edge=False)
    found = course.to_document()
    lag = found["lag_records"]
    rows = (
        ("consumers", f"{found['consumers']['mean']:.2f} on average, {found['consumers']['max']:.0f} at most"),
        ("changes", f"{found['plans']}, with {found['moved']} partitions moved (Rscore {found['rscore']:.2f} in all)"),
        ("ready after", seconds(found["ready_s"])),
        ("handover", seconds(found["handover_s"])),
        ("lag", f"{number(lag['mean'])} records on average, {number(lag['max'])} at most"),
        ("lost consumers", str(found["lost"])),
    )
    for name, value in rows:
        table.add_row(name, value)
    return table
