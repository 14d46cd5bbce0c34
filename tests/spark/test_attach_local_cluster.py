"""Spark's own ``local-cluster`` master is scaled like any cluster."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

pytestmark = [pytest.mark.spark, pytest.mark.timeout(200)]

QUIET = """
rootLogger.level = error
rootLogger.appenderRef.file.ref = file
appender.file.type = File
appender.file.name = file
appender.file.fileName = {file}
appender.file.layout.type = PatternLayout
appender.file.layout.pattern = %d %p %c: %m%n
"""


def test_a_local_cluster_is_pinned_up_and_down_while_its_query_runs(tmp_path: Path) -> None:
    settings = tmp_path / "conf"
    settings.mkdir()
    (settings / "log4j2.properties").write_text(QUIET.format(file=tmp_path / "spark.log"))
    environment = {key: value for key, value in os.environ.items() if not key.startswith(("SPARK_", "PYSPARK_"))}
    answer = subprocess.run(
        [sys.executable, str(Path(__file__).parent / "local_cluster_app.py"), str(tmp_path)],
        # Spark leaves the executors' work folders where it was started.
        cwd=tmp_path,
        env={
            **environment,
            "HEADGATE_HOME": str(tmp_path / "home"),
            "PYSPARK_PYTHON": sys.executable,
            "SPARK_CONF_DIR": str(settings),
            "SPARK_LOCAL_DIRS": str(tmp_path / "local"),
            "SPARK_LOCAL_IP": "127.0.0.1",
        },
        capture_output=True,
        text=True,
        timeout=180,
        check=False,
    )
    assert answer.returncode == 0, answer.stderr[-2000:]
    said = json.loads(answer.stdout.splitlines()[-1])
    assert said.pop("rescalings") >= 2
    assert said == {"sizes": [2, 1, 2], "pinned": 2, "same_run": True, "failure": None}
