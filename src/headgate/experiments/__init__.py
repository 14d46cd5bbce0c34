"""The papers' own experiments, run again in the simulator beside the figures that they published.

One module a paper; what all of them share is in ``reproduction`` (what an experiment consists of), ``trials`` (how its
simulations are run and read) and ``page`` (how it is shown).
"""

from collections.abc import Callable
from pathlib import Path

from headgate.experiments import daedalus, elastic_functions
from headgate.experiments.reproduction import Reproduction
from headgate.experiments.trials import Runner

__all__ = ["EXPERIMENTS", "Reproduction", "Runner"]

EXPERIMENTS: dict[str, Callable[[Runner, Path], Reproduction]] = {
    "daedalus": daedalus.reproduce,
    "elastic-functions": elastic_functions.reproduce,
}
"""Each takes what runs its simulations, and a folder with recorded workloads, and says what came of it."""
