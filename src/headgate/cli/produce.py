"""``headgate produce``: records into a topic, at a workload's pace."""

from __future__ import annotations

import contextlib
import datetime
import signal
import time
from collections.abc import Callable, Iterator
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from headgate.cli.extras import extras_installed
from headgate.cli.output import Output, everywhere
from headgate.cli.params import DURATION, FILE, workload_options
from headgate.cli.production_view import production_view, rate, summary
from headgate.core.units import parse_duration_s
from headgate.errors import Permanent, UserMistake
from headgate.workloads.records import RECORD_KINDS

if TYPE_CHECKING:
    from headgate.kafka.production import Production, ProductionResult
    from headgate.kafka.settings import KafkaSettings

_NEW_TOPIC_PARTITIONS = 4
_LOOK_S = 0.2


@click.command(
    epilog="Example: headgate produce --workload sine:period=2m,low=0.2 --peak 5k --topic words --records words"
)
@click.option("--workload", "-w", required=True, help="Shape with options, sum of shapes, or CSV file.")
@click.option("--topic", "-t", required=True, help="Where to; made if it is not there.")
@click.option("--records", "-r", required=True, help=f"What: {', '.join(RECORD_KINDS)}, as in rows:size=200.")
@workload_options
@click.option("--keys", default="none", show_default=True, help="none, uniform:keys=1000 or zipf:keys=1000,exponent=1.")
@click.option("--partition-skew", type=float, default=0.0, show_default=True, help="1 gives each 1/rank of the first.")
@click.option(
    "--partition-drift", "partition_drift_s", type=DURATION, help="Time in which the skew moves on by one partition."
)
@click.option("--partitions", type=click.IntRange(min=1), help=f"Of a topic that is made [{_NEW_TOPIC_PARTITIONS}].")
@click.option("--processes", type=int, default=1, show_default=True, help="How many share the sending.")
@click.option("--first-sequence", type=int, default=0, show_default=True, help="Sequence number of the first record.")
@click.option("--start-at", help="When: 2030-01-31T12:00, +30s, or seconds since 1970 [at once].")
@click.option("--bootstrap", help="host:port of the brokers [those of `headgate broker`].")
@click.option("--client-config", type=FILE, help="File of client settings, as for SASL and TLS.")
@everywhere
def produce(
    *,
    workload: str,
    topic: str,
    records: str,
    peak: float | None,
    duration_s: float | None,
    time_scale: float,
    process: str,
    keys: str,
    partition_skew: float,
    partition_drift_s: float | None,
    partitions: int | None,
    processes: int,
    first_sequence: int,
    start_at: str | None,
    bootstrap: str | None,
    client_config: Path | None,
    output: Output,
) -> int:
    """Send records to Kafka at a workload's pace: all of them, each exactly once."""
    with extras_installed("kafka"):
        from headgate.kafka.production import Production, ProductionPlan
    plan = ProductionPlan(
        topic=topic,
        records=records,
        workload=workload,
        peak=peak,
        duration_s=duration_s,
        time_scale=time_scale,
        process=process,
        seed=output.seed,
        start_time_s=None if start_at is None else parse_moment(start_at, now_s=time.time()),
        keys=keys,
        partition_skew=partition_skew,
        partition_drift_s=partition_drift_s,
        processes=processes,
        first_sequence=first_sequence,
    )
    settings = _settings(bootstrap, client_config)
    production = Production(settings, plan)
    with output.working(f"asking {settings.bootstrap} …"):
        _make_topic(settings, topic, partitions, say=output.say)
    output.narrate()
    interrupted = _run(production, output)
    result = production.result()
    if output.as_json:
        output.document({**asdict(plan), **asdict(result), "exact": result.exact, "kept_up": result.kept_up})
    output.show(summary(result))
    if interrupted:
        output.say(f"interrupted: {result.acknowledged} of {result.total} records are in topic '{topic}'")
        return 130
    judge(production, result)
    return 0


def parse_moment(text: str, *, now_s: float) -> float:
    """Seconds since 1970 of a moment to come.

    >>> parse_moment("+1m30s", now_s=1000.0)
    1090.0
    >>> parse_moment("2030-01-31T12:00:00+00:00", now_s=1000.0)
    1896091200.0
    """
    if text.startswith("+"):
        return now_s + parse_duration_s(text[1:], where="--start-at")
    try:
        moment_s = float(text)
    except ValueError:
        try:
            moment_s = datetime.datetime.fromisoformat(text).timestamp()
        except ValueError:
            raise UserMistake(
                f"--start-at {text} is not a moment; write 2030-01-31T12:00, +30s, or seconds since 1970"
            ) from None
    if not moment_s > now_s:
        raise UserMistake(
            f"--start-at {text} lies in the past; give a moment to come, or leave it out to start at once"
        )
    return moment_s


def _run(production: Production, output: Output) -> bool:
    """Until everything is sent, or somebody interrupts; whether somebody did."""
    interrupted = False
    with _terminated_as_interrupted():
        with output.working("starting …"):
            production.start()
        try:
            with production_view(production, console=output.err, quiet=output.quiet) as look:
                while not production.wait(_LOOK_S):
                    look()
        except KeyboardInterrupt:
            interrupted = True
        finally:
            production.stop()
    return interrupted


def judge(production: Production, result: ProductionResult) -> None:
    """Fail aloud if something is missing or was too slow."""
    if not result.exact:
        missing = result.total - result.acknowledged
        why = f": {production.problem}" if production.problem is not None else ""
        raise Permanent(f"{missing} of {result.total} records are not in topic '{result.topic}'{why}")
    if not result.kept_up:
        raise Permanent(
            f"the producer was too slow: {rate(result.achieved_per_s)} instead of {rate(result.asked_per_s)}, and it "
            f"ended {result.ended_late_s:.1f} s late; give it more --processes or a lower --peak"
        )


def _settings(bootstrap: str | None, client_config: Path | None) -> KafkaSettings:
    with extras_installed("kafka"):
        from headgate.kafka import broker
        from headgate.kafka.settings import KafkaSettings
    client = {} if client_config is None else KafkaSettings.read_client_config(client_config)
    if bootstrap is None:
        bootstrap = client.get("bootstrap.servers")
    if bootstrap is None:
        running = broker.status()
        if running is None or not running.running:
            raise UserMistake(
                "no broker is running; start one with `headgate broker up`, or give --bootstrap host:port"
            )
        bootstrap = running.bootstrap
    return KafkaSettings(bootstrap, client)


def _make_topic(settings: KafkaSettings, topic: str, partitions: int | None, *, say: Callable[[str], None]) -> None:
    from headgate.kafka.topics import Topic, ensure_topics, partitions_of

    if partitions is None:
        with contextlib.suppress(UserMistake):
            partitions_of(settings, [topic])
            return
    wanted = Topic(topic, partitions or _NEW_TOPIC_PARTITIONS)
    if ensure_topics(settings, [wanted]):
        say(f"topic '{topic}' made with {wanted.partitions} partitions")


@contextlib.contextmanager
def _terminated_as_interrupted() -> Iterator[None]:
    """SIGTERM asks for the same clean end as Ctrl-C."""
    before: Any = signal.signal(signal.SIGTERM, signal.default_int_handler)
    try:
        yield
    finally:
        signal.signal(signal.SIGTERM, before)
