"""``headgate measure`` on a real cluster and a real broker, as a user runs it."""

from __future__ import annotations

import contextlib
import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import psutil
import pytest

from headgate.kafka.admin import Admin
from headgate.kafka.settings import KafkaSettings

pytestmark = [pytest.mark.spark, pytest.mark.timeout(240)]

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
workload = "constant:rate=50"
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


def test_a_rate_within_reach_is_sustained_and_nothing_is_left_behind(tmp_path: Path, kafka: KafkaSettings) -> None:
    app = tmp_path / "app.toml"
    app.write_text(APP.format(bootstrap=kafka.bootstrap))
    home = tmp_path / "home"
    before = topics(kafka)
    command = [sys.executable, "-m", "headgate", "measure", str(app), "--executors", "1", "--quota", "1"]
    command += ["--hold", "5s", "--start-rate", "40", "--most-rate", "40", "--json"]
    process = subprocess.Popen(
        command,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env={**os.environ, "HEADGATE_HOME": str(home), "TMPDIR": str(tmp_path)},
    )
    try:
        out, err = process.communicate(timeout=200)
    finally:
        process.kill()
        process.wait()
    assert process.returncode == 0, err
    document: dict[str, Any] = json.loads(out)
    (row,) = document["sizes"]
    assert (row["executors"], row["rate"], row["at_least"], row["efficiency"]) == (1, 40.0, True, 1.0)
    (step,) = row["steps"]
    assert step["outcome"] == "sustained"
    assert step["achieved_rate"] == pytest.approx(40.0, rel=0.03)
    assert step["operators"][0]["name"] == "nearest"
    assert row["batch_s"] > 0
    assert "records/s for 5 s: sustained" in " ".join(err.split())
    assert psutil.wait_procs(started_with(home), timeout=10)[1] == []
    assert topics(kafka) <= before
    assert list(tmp_path.glob("headgate-*")) == []
    assert not (tmp_path / "sink").exists()
