"""Kinds of values that several commands take, checked as they are read."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import click

from headgate.core.allocation import Bounds
from headgate.core.units import parse_duration_s, parse_number
from headgate.errors import UserMistake


class BoundsParam(click.ParamType):  # type: ignore[type-arg]
    """``1..12``, or ``4`` for exactly four."""

    name = "LEAST..MOST"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Bounds:  # noqa: ARG002
        if isinstance(value, Bounds):
            return value
        match = re.fullmatch(r"(-?\d{1,9})(?:(?:\.\.|:|-)(-?\d{1,9}))?", str(value).strip())
        if match is None:
            raise UserMistake(f"--executors {value} is not a range; write it as 1..12, or 4 for exactly four")
        least = int(match.group(1))
        return Bounds(least, int(match.group(2)) if match.group(2) is not None else least)


class DurationParam(click.ParamType):  # type: ignore[type-arg]
    name = "DURATION"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> float:  # noqa: ARG002
        seconds = value if isinstance(value, float) else parse_duration_s(str(value), where=_option(param))
        if seconds <= 0:
            raise UserMistake(f"{_option(param)} {value} is not longer than nothing; give a positive duration")
        return seconds


class RateParam(click.ParamType):  # type: ignore[type-arg]
    name = "NUMBER"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> float:  # noqa: ARG002
        number = value if isinstance(value, float) else parse_number(str(value), where=_option(param))
        if number <= 0:
            raise UserMistake(f"{_option(param)} {value} is not above zero; give a positive number")
        return number


def _option(param: click.Parameter | None) -> str:
    return param.opts[0] if param is not None and param.opts else "value"


BOUNDS = BoundsParam()
DURATION = DurationParam()
RATE = RateParam()
FILE = click.Path(path_type=Path)


def workload_options(command: Callable[..., Any]) -> Callable[..., Any]:
    """How a workload is bent to the experiment."""
    for option in reversed(
        (
            click.option("--peak", type=RATE, help="Rescale the workload's maximum to this rate."),
            click.option("--duration", "duration_s", type=DURATION, help="Cut or repeat the workload."),
            click.option("--time-scale", type=RATE, default=1.0, show_default=True, help="Compress time."),
            click.option(
                "--arrivals",
                "process",
                type=click.Choice(["even", "poisson"]),
                default="even",
                show_default=True,
                help="Records come evenly or at random.",
            ),
        )
    ):
        command = option(command)
    return command


def simulation_options(command: Callable[..., Any]) -> Callable[..., Any]:
    """What is simulated, and under which limits."""
    for option in reversed(
        (
            click.option(
                "--scenario", "-s", default="spark", show_default=True, help="Name or TOML file of the simulated app."
            ),
            click.option("--executors", "-e", "bounds", type=BOUNDS, default="1..12", show_default=True),
            click.option("--initial", type=click.IntRange(min=0), help="Executors at the start [what is needed]."),
            click.option("--guard", "-g", "guards", multiple=True, help="A guard, as cooldown:down_s=300; repeatable."),
            click.option("--slo", "slo_latency_s", type=DURATION, default="10s", show_default=True),
        )
    ):
        command = option(command)
    return command
