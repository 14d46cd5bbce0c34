"""Real apps under a load of one's choice, for the commands that measure and profile them."""

from __future__ import annotations

import contextlib
import threading
from importlib import import_module
from pathlib import Path
from typing import Protocol

from headgate.cli.extras import extras_installed
from headgate.cli.output import Output
from headgate.config import AppFile
from headgate.wiring.examples import named_app
from headgate.wiring.measurement import Bench
from headgate.wiring.profiling import ProfilingBench


class RealBench(Bench, ProfilingBench, Protocol):
    def heed(self, stop: threading.Event) -> None:
        """Raise ``KeyboardInterrupt`` out of whatever it does once that is set."""
        ...


def app_to_load(app_file: Path, *, quota: float | None) -> AppFile:
    """The app of a file, or an example by its name, with another quota if one is given."""
    app = named_app(app_file)
    if quota is None:
        return app
    return app.model_copy(update={"cluster": app.cluster.model_copy(update={"quota": quota})})


def real_bench(
    app: AppFile, *, executors: tuple[int, ...], output: Output
) -> contextlib.AbstractContextManager[RealBench]:
    """Import what needs PySpark and a Kafka client only now, so that a missing one is said in a sentence."""
    with extras_installed("spark,kafka"):
        module = import_module("headgate.wiring.bench")
    bench: contextlib.AbstractContextManager[RealBench] = module.AppBench(
        app, executors=executors, seed=output.seed, say=output.say
    )
    return bench
