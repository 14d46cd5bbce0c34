"""The command line. Each command is one module; this one finds them and turns errors into sentences."""

from __future__ import annotations

import importlib
import os
import sys
from collections.abc import Sequence
from typing import Any

import click

from headgate.errors import HeadgateError, UserMistake, nearest

_COMMANDS = {
    "broker": "broker",
    "calibrate": "calibrate",
    "compare": "compare",
    "consumers": "consumers",
    "control": "control",
    "decide": "decide",
    "demo": "demo",
    "measure": "measure",
    "pack": "pack",
    "pause": "levers",
    "pin": "levers",
    "policies": "policies",
    "produce": "produce",
    "profile": "profile",
    "replay": "replay",
    "reproduce": "reproduce",
    "report": "report",
    "resume": "levers",
    "run": "run",
    "schema": "schema",
    "simulate": "simulate",
    "status": "levers",
    "unpin": "levers",
}


class _Commands(click.Group):
    """Loads a command's module when it is asked for, so that ``--help`` and ``decide`` start at once."""

    def list_commands(self, ctx: click.Context) -> list[str]:  # noqa: ARG002
        return sorted(_COMMANDS)

    def get_command(self, ctx: click.Context, name: str) -> click.Command | None:  # noqa: ARG002
        if name not in _COMMANDS:
            raise UserMistake(f"there is no command '{name}'{nearest(name, _COMMANDS)}")
        module: Any = importlib.import_module(f"headgate.cli.{_COMMANDS[name]}")
        command: click.Command = getattr(module, name)
        return command


@click.group(cls=_Commands, context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 110})
@click.version_option(package_name="headgate", message="headgate %(version)s")
def cli() -> None:
    """Keeps a streaming pipeline exactly as big as its stream needs.

    Try it: headgate demo
    """


def main(args: Sequence[str] | None = None) -> None:
    """Run the command line; exit 0 done, 1 failed, 2 the user's mistake, 130 interrupted."""
    sys.exit(run_cli(args))


def run_cli(args: Sequence[str] | None = None) -> int:
    try:
        code = cli.main(args=list(args) if args is not None else None, prog_name="headgate", standalone_mode=False)
    except UserMistake as mistake:
        return _fail(str(mistake), 2)
    except click.ClickException as error:
        hint = f" (see `{error.ctx.command_path} --help`)" if isinstance(error, click.UsageError) and error.ctx else ""
        return _fail(error.format_message().rstrip(".") + hint, 2)
    except (KeyboardInterrupt, click.Abort):
        return _fail("interrupted", 130)
    except HeadgateError as error:
        return _fail(str(error), 1)
    except BrokenPipeError:
        # The reader of our output has gone; what is left to say cannot be said.
        sys.stdout = open(os.devnull, "w")  # noqa: SIM115, PTH123
        return 1
    except Exception as error:
        if os.environ.get("HEADGATE_DEBUG"):
            raise
        return _fail(f"an error in Headgate itself: {type(error).__name__}: {error}; HEADGATE_DEBUG=1 shows where", 1)
    return code if isinstance(code, int) else 0


def _fail(message: str, code: int) -> int:
    first = message.splitlines()[0] if message else "failed"
    click.echo(f"headgate: {first}", err=True)
    return code
