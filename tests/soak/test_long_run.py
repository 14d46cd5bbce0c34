"""A long run in which executors and controllers keep dying, and nothing is lost, doubled, forgotten or left behind.

``HEADGATE_SOAK_S`` sets its length, ``HEADGATE_SOAK_SEED`` repeats one that failed.
"""

from __future__ import annotations

import os
import random
import signal
import sys
import time
from collections import Counter
from itertools import pairwise
from pathlib import Path

import psutil
import pytest

sys.path.insert(0, str(Path(__file__).parents[1] / "e2e"))

from app_process import eventually, executor_pids, finished, footprint, sizes, started, ticks, write_app

from headgate.cli import run_cli
from headgate.core.decision import Outcome
from headgate.core.sample import EventKind
from headgate.errors import HeadgateError
from headgate.journal import read_journal
from headgate.link import find, running

DURATION_S = float(os.environ.get("HEADGATE_SOAK_S", "600"))
SEED = int(os.environ.get("HEADGATE_SOAK_SEED", str(random.SystemRandom().randrange(10_000))))
QUIET_END_S = 30.0
"""Nothing is killed shortly before the end, so that the last loss can be seen to be made good."""

pytestmark = [pytest.mark.soak, pytest.mark.spark, pytest.mark.timeout(DURATION_S + 600)]


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("HEADGATE_HOME", str(tmp_path / "home"))
    return tmp_path / "home"


def kill_one(chance: random.Random, home: Path) -> str | None:
    """Kill an executor, or more rarely the controller; which of them, or ``None`` if there was none just then."""
    try:
        if chance.random() < 0.4:
            kind, pid = "controller", find("controller", "tested").pid
        else:
            kind, pid = "executor", chance.choice(executor_pids(home))
        os.kill(pid, signal.SIGKILL)
    except (HeadgateError, IndexError, ProcessLookupError):
        return None
    return kind


def test_an_app_survives_whatever_dies_for_as_long_as_it_runs(tmp_path: Path, home: Path) -> None:
    print(f"seed {SEED}, {DURATION_S:g} s")
    chance = random.Random(SEED)
    app = write_app(
        tmp_path,
        nodes=3,
        quota=0.35,
        workload="sine:period=60s,low=0.1",
        rate=3000,
        cost_us=150,
        duration_s=DURATION_S,
        policy="hpa:target=0.7,period_s=5,window_s=10,initialization_s=5,down_stabilization_s=10",
        process="separate",
    )
    journal = tmp_path / "tested" / "tested.db"
    killed: Counter[str] = Counter()
    family: set[psutil.Process] = set()
    with started(app, home) as process:
        eventually(lambda: ticks(journal), what="a first decision")
        traces = footprint(process, home)
        ends_s = time.monotonic() + DURATION_S - QUIET_END_S
        while time.monotonic() < ends_s:
            time.sleep(chance.uniform(5.0, 20.0))
            family |= set(psutil.Process(process.pid).children(recursive=True))
            assert process.poll() is None, "the app ended too early"
            victim = kill_one(chance, home)
            if victim is not None:
                killed[victim] += 1
        document = finished(process, within_s=300)

    assert killed, "nothing was killed, so nothing was proved"
    assert document["sink"]["exact"], document["sink"]
    assert document["query_restarts"] == 0
    recorded = ticks(journal)
    assert all(earlier.epoch <= later.epoch for earlier, later in pairwise(recorded))
    assert all(earlier.index < later.index for earlier, later in pairwise(recorded))
    assert len({tick.epoch for tick in recorded}) >= min(2, 1 + killed["controller"])
    assert {tick.outcome for tick in recorded} & {Outcome.REFUSED, Outcome.FAILED} == set()
    assert max(sizes(journal)) > min(sizes(journal)), "the stream was never scaled"
    if killed["executor"]:
        with read_journal(journal) as reader:
            events = [event.kind for sample in reader.samples() for event in sample.events]
        assert EventKind.LOST in events
    assert run_cli(["replay", str(journal), "--quiet"]) == 0
    assert traces.left() == []
    assert psutil.wait_procs(family, timeout=10)[1] == []
    assert running() == ()
    assert list((home / "run").glob("*")) == []
    assert list((home / "clusters").glob("*")) == []
