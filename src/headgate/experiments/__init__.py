"""The papers' own experiments, run again beside the figures that they published.

One module a paper; what several of them share is in ``reproduction`` (what an experiment with simulated apps consists
of), ``trials`` (how its simulations are run and read) and ``page`` (how it is shown).
"""

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol

from rich.console import RenderableType

from headgate.experiments import consumer_group, daedalus, elastic_functions
from headgate.experiments.packing_view import packing_page, packing_tables
from headgate.experiments.page import reproduction_page, reproduction_tables
from headgate.experiments.reproduction import Reproduction
from headgate.experiments.trials import Runner

__all__ = ["EXPERIMENTS", "Experiment", "Found", "Reproduction", "Runner"]


class Found(Protocol):
    """What came of an experiment."""

    @property
    def verdict(self) -> str: ...

    def to_document(self) -> dict[str, Any]: ...


@dataclass(frozen=True, slots=True)
class Experiment:
    """How it is run, and how what comes of it is shown."""

    reproduce: Callable[[Runner, Path], Found]
    """Given what runs its trials, and a folder with recorded workloads."""
    tables: Callable[[Any], RenderableType]
    page: Callable[[Any], str]
    on_spark: str | None = None
    """The module that runs it on real Spark, if there is one: imported only then."""


EXPERIMENTS: dict[str, Experiment] = {
    "consumer-group": Experiment(consumer_group.reproduce, packing_tables, packing_page),
    "daedalus": Experiment(daedalus.reproduce, reproduction_tables, reproduction_page),
    "elastic-functions": Experiment(
        elastic_functions.reproduce,
        reproduction_tables,
        reproduction_page,
        on_spark="headgate.experiments.elastic_on_spark",
    ),
}
