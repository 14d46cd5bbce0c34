"""DS2 on real Spark: from a parallelism that is far off to one that stays, in three decisions at most."""

from __future__ import annotations

import threading
from pathlib import Path

import pytest

from headgate.config import load_app
from headgate.core.decision import Outcome
from headgate.journal import read_journal
from headgate.wiring.app import RunningApp
from headgate.wiring.examples import example_app

pytestmark = [pytest.mark.soak, pytest.mark.spark, pytest.mark.timeout(900)]

DURATION_S, RATE = 300.0, 120.0
FIRST_S = 60.0
"""Executors warm up, and what they do meanwhile says nothing about what they can."""


def test_it_converges(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.setenv("HEADGATE_HOME", str(tmp_path / "home"))
    app = load_app(example_app("sentiment"))
    (producer,) = app.producers
    load = {"workload": f"constant:rate={RATE:g}", "peak": None, "duration_s": DURATION_S}
    operators = tuple(
        table.model_copy(update={"parallelism": 4, "max_parallelism": 6}) if table.scalable else table
        for table in app.operators
    )
    app = app.model_copy(
        update={
            "folder": tmp_path / "sentiment",
            "cluster": app.cluster.model_copy(update={"nodes": 4, "cores": 2, "quota": 0.4, "initial": 4}),
            "operators": operators,
            "producers": (producer.model_copy(update=load),),
            "controller": app.controller.model_copy(
                update={"policy": "ds2:period_s=30,window_s=30", "executors": (1, 4), "guards": ()}
            ),
        }
    )
    with RunningApp(app, say=lambda _: None) as running:
        running.wait(stop=threading.Event())
    with read_journal(running.journal) as reader:
        ticks = list(reader.ticks())
    began_s = ticks[0].time_s
    changed = [tick for tick in ticks if tick.outcome is Outcome.APPLIED]
    late = [tick for tick in changed if began_s + FIRST_S < tick.time_s < began_s + DURATION_S - 30]
    with capsys.disabled():
        for tick in changed:
            print(f"\n  {tick.time_s - began_s:4.0f} s: {dict(tick.decision.granted.parallelism)}", end="")
        print()
    assert changed
    assert len(late) <= 3
