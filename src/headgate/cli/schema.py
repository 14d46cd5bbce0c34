"""``headgate schema``: JSON Schema of everything that users write or parse."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import click

from headgate import codec
from headgate.cli.output import Output, everywhere
from headgate.config import AppFile
from headgate.core.decision import Decision
from headgate.core.evaluation import Evaluation
from headgate.core.profile import Profile
from headgate.core.sample import Sample
from headgate.errors import UserMistake, nearest
from headgate.scoring import Result
from headgate.sim import scenario_schema

SCHEMAS: dict[str, Callable[[], dict[str, Any]]] = {
    "app": AppFile.model_json_schema,
    "decision": lambda: codec.schema(Decision),
    "evaluation": lambda: codec.schema(Evaluation),
    "profile": lambda: codec.schema(Profile),
    "result": lambda: codec.schema(Result),
    "sample": lambda: codec.schema(Sample),
    "scenario": scenario_schema,
}


@click.command(epilog="Example: headgate schema evaluation > evaluation.schema.json")
@click.argument("name")
@everywhere
def schema(*, name: str, output: Output) -> None:
    """Print the JSON Schema of app, decision, evaluation, profile, result, sample or scenario."""
    if name not in SCHEMAS:
        raise UserMistake(f"there is no schema '{name}'{nearest(name, SCHEMAS)}")
    output.document(SCHEMAS[name]())
