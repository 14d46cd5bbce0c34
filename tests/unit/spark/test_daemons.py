"""Starting daemons, with scripts that pretend to be Spark."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest

from headgate.errors import Permanent, UserMistake
from headgate.java import JavaInstallation
from headgate.spark import daemons
from headgate.spark.daemons import Daemon, popen_logged, telling_line


def pretend(tmp_path: Path, script: str) -> Daemon:
    log = tmp_path / "daemon.log"
    process = popen_logged([sys.executable, "-c", script], log=log, environment={})
    return Daemon(name="master", process=process, log=log)


def test_a_daemon_is_up_when_its_log_says_so(tmp_path: Path) -> None:
    script = "import sys, time; print('up at spark://h:1', flush=True); time.sleep(60)"
    daemon = pretend(tmp_path, script)
    assert daemon.wait_for(re.compile(r"up at (\S+)")).group(1) == "spark://h:1"
    daemon.process.kill()
    daemon.process.wait()


def test_a_daemon_that_dies_is_reported_with_the_line_that_matters(tmp_path: Path) -> None:
    script = "print('INFO start'); print('ERROR Master: out of luck'); print('\\tat a.b.C'); raise SystemExit(3)"
    daemon = pretend(tmp_path, script)
    with pytest.raises(Permanent) as failure:
        daemon.wait_for(re.compile("never"))
    text = str(failure.value)
    assert "ERROR Master: out of luck" in text
    assert str(daemon.log) in text
    assert "code 3" in text
    assert "\n" not in text


def test_a_port_in_use_is_the_users_to_free(tmp_path: Path) -> None:
    daemon = pretend(tmp_path, "print('java.net.BindException: Address already in use'); raise SystemExit(1)")
    with pytest.raises(UserMistake, match="port in use"):
        daemon.wait_for(re.compile("never"))


def test_the_last_line_is_told_when_none_looks_like_an_error() -> None:
    assert telling_line("one\ntwo\n\n") == "two"
    assert telling_line("") == "its log is empty"


def test_a_pyspark_without_spark_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(daemons.pyspark, "__path__", [str(tmp_path)])
    java = JavaInstallation(path=Path("/usr/bin/java"), version=17)
    with pytest.raises(UserMistake, match="client only"):
        daemons.install(java=java, folder=tmp_path, token="t")


def test_the_clusters_secret_is_readable_by_its_owner_only(tmp_path: Path) -> None:
    java = JavaInstallation(path=Path("/usr/bin/java"), version=17)
    installation = daemons.install(java=java, folder=tmp_path / "c", token="t")
    defaults = installation.settings / "spark-defaults.conf"
    assert defaults.stat().st_mode & 0o077 == 0
    assert "spark.authenticate true" in defaults.read_text()


def test_daemons_see_no_settings_of_another_spark(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SPARK_MASTER_PORT", "1")
    monkeypatch.setenv("SPARK_HOME", "/elsewhere")
    java = JavaInstallation(path=Path("/usr/bin/java"), version=17)
    environment = daemons.install(java=java, folder=tmp_path, token="t").environment(host="127.0.0.3")
    assert "SPARK_MASTER_PORT" not in environment
    assert environment["SPARK_HOME"] != "/elsewhere"
    assert environment["SPARK_LOCAL_IP"] == "127.0.0.3"


def test_a_daemon_has_a_session_of_its_own(tmp_path: Path) -> None:
    script = "import os; print('session', os.getsid(0) == os.getpid(), flush=True); import time; time.sleep(60)"
    daemon = pretend(tmp_path, script)
    assert daemon.wait_for(re.compile(r"session (\w+)")).group(1) == "True"
    daemon.process.kill()
    assert isinstance(daemon.process, subprocess.Popen)
    daemon.process.wait()
