"""``headgate policies``: what there is, with every option."""

from __future__ import annotations

import inspect
from typing import Any

import click
from rich.markup import escape

from headgate.cli.output import Output, everywhere
from headgate.errors import UserMistake, nearest
from headgate.grammar import describe_options
from headgate.guards import GUARDS
from headgate.policies import known_policies
from headgate.report.tables import options_table, policies_table


@click.command(epilog="Example: headgate policies hpa")
@click.argument("name", required=False)
@click.option("--guards", is_flag=True, help="List guards instead.")
@everywhere
def policies(*, name: str | None, guards: bool, output: Output) -> None:
    """List policies, or one policy's options with default, meaning and source."""
    known = dict(GUARDS) if guards else known_policies()
    kind = "guard" if guards else "policy"
    if name is not None and name not in known:
        raise UserMistake(f"{kind} '{name}' is unknown{nearest(name, known)}")
    rows: list[dict[str, Any]] = [
        {
            "name": each,
            "summary": (inspect.getdoc(cls) or "").split("\n\n")[0].replace("\n", " "),
            "source": (inspect.getdoc(inspect.getmodule(cls)) or "").strip(),
            "options": describe_options(cls),
        }
        for each, cls in sorted(known.items())
        if name in (None, each)
    ]
    if output.as_json:
        output.document(rows[0] if name is not None else rows)
    elif name is not None:
        row = rows[0]
        output.show(f"[bold]{row['name']}[/bold]: {escape(row['summary'])}\n\n{escape(_flowing(row['source']))}\n")
        options = [{"option": o["option"], "default": o["shown"], "meaning": o["meaning"]} for o in row["options"]]
        output.show(options_table(options))
    else:
        output.show(policies_table([{kind: row["name"], "what it does": row["summary"]} for row in rows]))


def _flowing(text: str) -> str:
    """Without the breaks of lines within paragraphs, so that a terminal breaks them where it ends; formulas stay."""
    lines: list[str] = []
    for line in text.splitlines():
        formula = line.startswith("    ")
        goes_on = lines and lines[-1] and not lines[-1].startswith("    ")
        if line and goes_on and not formula and not line.startswith("- "):
            lines[-1] += " " + line.strip()
        else:
            lines.append(line)
    return "\n".join(lines)
