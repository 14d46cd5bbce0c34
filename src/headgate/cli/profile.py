"""``headgate profile``: what an app is like on several sizes, under load and when it fails."""

from __future__ import annotations

import contextlib
from pathlib import Path
from typing import Any

import click

from headgate import codec
from headgate.cli.benches import app_to_load, real_bench
from headgate.cli.measure import SizesParam
from headgate.cli.output import Output, everywhere
from headgate.cli.params import DURATION, FILE, RATE
from headgate.cli.session import stopped_by_signals
from headgate.config import AppFile
from headgate.core.profile import Profile
from headgate.errors import UserMistake
from headgate.report.profiled import profile_table, write_profile_page
from headgate.sim import load_scenario
from headgate.wiring.measurement import expected_rate
from headgate.wiring.profiling import Profiling, ProfilingBench, ProfilingWishes, SimulatedBench
from headgate.wiring.specs import check_writable


class SharesParam(click.ParamType):  # type: ignore[type-arg]
    """``0.2,0.5,0.8``."""

    name = "SHARE,SHARE,…"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> tuple[float, ...]:  # noqa: ARG002
        if isinstance(value, tuple):
            return value
        if str(value).strip().lower() == "none":
            return ()
        try:
            shares = tuple(sorted({float(word) for word in str(value).split(",")}))
        except ValueError:
            shares = ()
        if not shares or not all(0 < share <= 2 for share in shares):
            raise UserMistake(
                f"{param.opts[0] if param else 'shares'} {value} are not shares of the capacity; "
                "write numbers above 0 and up to 2, as in 0.2,0.5,1.1, or none"
            )
        return shares


@click.command(epilog="Example: headgate profile word-count --executors 1,2,4 --quota 0.25 -o word-count.json")
@click.argument("app_file", metavar="[APP.toml|EXAMPLE]", type=FILE, required=False)
@click.option("--scenario", "-s", help="Profile this simulated app instead (name or TOML file), in virtual time.")
@click.option("--executors", "-e", type=SizesParam(), default="1,2,4", show_default=True, help="Sizes to profile.")
@click.option("--quota", type=RATE, help="Share of a processor that each executor may use [the file's].")
@click.option("--hold", "hold_s", type=DURATION, default="30s", show_default=True, help="How long to hold a load.")
@click.option("--drain", "drain_s", type=DURATION, help="How long a backlog shall keep it busy [8s; simulated: 2m].")
@click.option("--watch", "watch_s", type=DURATION, help="How long to watch a failure [90s; simulated: 15m].")
@click.option(
    "--loads",
    type=SharesParam(),
    default="0.2,0.4,0.6,0.8,0.95,1.1",
    show_default=True,
    help="Loads, as shares of the capacity.",
)
@click.option(
    "--failures",
    type=SharesParam(),
    default="0.5,0.8",
    show_default=True,
    help="Loads under which an executor is killed.",
)
@click.option("-o", "--output", "file", type=FILE, help="Write the profile (JSON), for phoebe:profile=FILE.")
@click.option("--page", type=FILE, help="Write a page with figures (HTML).")
@everywhere
def profile(
    *,
    app_file: Path | None,
    scenario: str | None,
    executors: tuple[int, ...],
    quota: float | None,
    hold_s: float,
    drain_s: float | None,
    watch_s: float | None,
    loads: tuple[float, ...],
    failures: tuple[float, ...],
    file: Path | None,
    page: Path | None,
    output: Output,
) -> int:
    """Profile an app: capacity, latency under rising loads, and what a killed executor costs.

    Starts the app of a file, or an example by its name, on a cluster of its own, or simulates a scenario.
    """
    for path in (file, page):
        if path is not None:
            check_writable(path, what="output")
    if (app_file is None) == (scenario is None):
        raise UserMistake("profile needs an app file (or an example's name) or --scenario, and one of them only")
    wishes = ProfilingWishes(
        executors=executors,
        loads=loads,
        failures=failures,
        hold_s=hold_s,
        watch_s=watch_s or (90.0 if scenario is None else 900.0),
        drain_s=drain_s or (8.0 if scenario is None else 120.0),
    )
    about = {"loads": list(loads), "failures": list(failures), "hold_s": hold_s, "seed": output.seed}
    if scenario is not None:
        simulated = load_scenario(scenario)
        bench: ProfilingBench = SimulatedBench(scenario=simulated, seed=output.seed)
        profiling = Profiling(bench, wishes, app=simulated.name, about={"engine": "simulated", **about}, say=output.say)
        return _tell(profiling.run(), complete=profiling.complete, file=file, page=page, output=output)
    assert app_file is not None
    app = app_to_load(app_file, quota=quota)
    wishes = _with_backlog(wishes, app)
    with contextlib.ExitStack() as stack:
        with output.working(f"starting app '{app.name}' …"):
            real = stack.enter_context(real_bench(app, executors=executors, output=output))
        # Only now, because PySpark takes Ctrl-C for itself while a session starts.
        real.heed(stack.enter_context(stopped_by_signals()))
        about = {"engine": "spark", "quota": app.cluster.quota, **about}
        profiling = Profiling(real, wishes, app=app.name, about=about, say=output.say)
        with output.working(f"profiling app '{app.name}' …"):
            found = profiling.run()
    return _tell(found, complete=profiling.complete, file=file, page=page, output=output)


def _with_backlog(wishes: ProfilingWishes, app: AppFile) -> ProfilingWishes:
    """A first backlog of what the app's own producer sends in a second."""
    rate = expected_rate(app)
    return wishes if rate is None else wishes.with_backlog(max(1, round(rate)))


def _tell(found: Profile | None, *, complete: bool, file: Path | None, page: Path | None, output: Output) -> int:
    if found is None:
        output.say("it was interrupted before a size was complete")
        return 130
    document = codec.to_plain(found)
    if file is not None:
        file.write_bytes(codec.to_json(found) + b"\n")
        output.say(f"profile: {file}")
    if page is not None:
        write_profile_page(found, page)
        output.say(f"page: {page}")
    if output.as_json:
        output.document(document)
    output.show(profile_table(found))
    return 0 if complete else 130
