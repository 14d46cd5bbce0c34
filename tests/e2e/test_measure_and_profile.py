"""``headgate measure`` and ``headgate profile`` on a real cluster and a real broker, as users run them."""

from __future__ import annotations

import contextlib
import json
import os
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import psutil
import pytest

from headgate import codec
from headgate.kafka.admin import Admin
from headgate.kafka.settings import KafkaSettings
from headgate.policies.phoebe import read_profile

pytestmark = [pytest.mark.spark, pytest.mark.timeout(330)]

APP = """
name = "measured"

[cluster]
nodes = 3

[kafka]
bootstrap = "{bootstrap}"

[[topics]]
name = "measured-rides"
partitions = 2

[[operators]]
name = "nearest"
function = "headgate.pipelines.taxi:taxi"
reads = ["measured-rides"]
sink = {{ format = "parquet" }}

[[producers]]
topic = "measured-rides"
records = "rides"
workload = "constant:rate=5000"
duration_s = 3600

[controller]
executors = [1, 3]
"""


def topics(kafka: KafkaSettings) -> set[str]:
    return set(Admin(kafka).metadata().topics)


def started_with(home: Path) -> list[psutil.Process]:
    """Processes of this test: all of them, whoever started them, have its home in their environment."""
    found = []
    for process in psutil.process_iter():
        with contextlib.suppress(psutil.Error):
            if process.environ().get("HEADGATE_HOME") == str(home):
                found.append(process)
    return found


def answer(folder: Path, kafka: KafkaSettings, *words: str) -> tuple[dict[str, Any], str]:
    """The document of a command about the app, and what it said; nothing of it is left behind."""
    app, home = folder / "app.toml", folder / "home"
    app.write_text(APP.format(bootstrap=kafka.bootstrap))
    before = topics(kafka)
    command, *options = words
    process = subprocess.Popen(
        [sys.executable, "-m", "headgate", command, str(app), "--quota", "1", *options, "--json"],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env={**os.environ, "HEADGATE_HOME": str(home), "TMPDIR": str(folder)},
    )
    try:
        out, err = process.communicate(timeout=270)
    except BaseException:
        for left in (process, *started_with(home)):
            with contextlib.suppress(psutil.Error):
                left.kill()
        process.communicate()
        raise
    assert process.returncode == 0, err
    assert psutil.wait_procs(started_with(home), timeout=10)[1] == []
    assert topics(kafka) <= before
    assert list(folder.glob("headgate-*")) == []
    assert not (folder / "sink").exists()
    return json.loads(out), " ".join(err.split())


def test_a_rate_within_reach_is_sustained_and_nothing_is_left_behind(tmp_path: Path, kafka: KafkaSettings) -> None:
    limits = ("--start-rate", "40", "--most-rate", "40")
    document, said = answer(tmp_path, kafka, "measure", "--executors", "1", "--hold", "5s", *limits)
    (row,) = document["sizes"]
    assert (row["executors"], row["rate"], row["at_least"], row["efficiency"]) == (1, 40.0, True, 1.0)
    (step,) = row["steps"]
    assert step["outcome"] == "sustained"
    assert step["achieved_rate"] == pytest.approx(40.0, rel=0.03)
    assert step["operators"][0]["name"] == "nearest"
    assert row["batch_s"] > 0
    # One that looks like too much at first is held for longer before it is judged.
    assert re.search(r"40 records/s for [\d.]+ s: sustained", said)


def test_an_app_is_profiled_under_load_and_with_an_executor_killed(tmp_path: Path, kafka: KafkaSettings) -> None:
    file = tmp_path / "profile.json"
    loads = ("--executors", "2", "--loads", "0.1", "--failures", "0.1")
    runs = (*loads, "--drain", "2s", "--hold", "10s", "--watch", "24s")
    document, said = answer(tmp_path, kafka, "profile", *runs, "-o", str(file))
    profile = read_profile(str(file))
    assert codec.to_plain(profile) == document
    (size,) = profile.sizes
    (load,) = size.loads
    (failure,) = size.failures
    assert load.rate == pytest.approx(0.1 * size.capacity, rel=0.15)
    assert 0 < load.latency_s < 30
    # An executor was killed, and another one came for it: the command waits for it, and says so if it does not come.
    assert "2 executors: an executor killed at" in said
    assert 0 <= failure.downtime_s < 16
    assert profile.executor_seconds > 2 * (10 + 24)
    assert profile.about["engine"] == "spark"
