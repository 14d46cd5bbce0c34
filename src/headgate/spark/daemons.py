"""Spark's standalone daemons, started from the PySpark package itself.

A daemon is one Java process with its output in a log file. It counts as up when its log says so,
because that is the moment from which the master may be asked and a node may be used.
"""

from __future__ import annotations

import os
import re
import secrets
import subprocess
import sys
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import pyspark

from headgate.class_archive import Sharing, find_sharing
from headgate.errors import Permanent, UserMistake
from headgate.java import JavaInstallation

MASTER_CLASS = "org.apache.spark.deploy.master.Master"
WORKER_CLASS = "org.apache.spark.deploy.worker.Worker"
_DAEMON_HEAP = "128m"
_UP_WITHIN_S = 60.0
_MASTER_UP = re.compile(r"I have been elected leader")
_MASTER_ADDRESS = re.compile(r"Starting Spark master at (spark://\S+)")
_WORKER_UP = re.compile(r"Successfully registered with master")
_TELLING = re.compile(r"Exception|Error|ERROR|FATAL|Cannot|Could not|Failed|failed", re.ASCII)
_STACK = re.compile(r"^\s+at |^\s*\.\.\. \d+ more")

# Everything goes to the process's own standard error, which is always a file. The daemons' own
# words are kept at INFO, because their log is how we know that they are up.
_LOGGING = """\
rootLogger.level = warn
rootLogger.appenderRef.stderr.ref = stderr
appender.stderr.type = Console
appender.stderr.name = stderr
appender.stderr.target = SYSTEM_ERR
appender.stderr.layout.type = PatternLayout
appender.stderr.layout.pattern = %d{yy/MM/dd HH:mm:ss.SSS} %p %c{1}: %m%n%ex
logger.master.name = org.apache.spark.deploy.master
logger.master.level = info
logger.worker.name = org.apache.spark.deploy.worker
logger.worker.level = info
"""


@dataclass(frozen=True, slots=True, kw_only=True)
class Installation:
    """The Spark, Java, settings and environment that all processes of one cluster share."""

    java: JavaInstallation
    home: Path
    folder: Path
    token: str
    sharing: Sharing | None = None
    """How its processes share their classes, where they can."""

    @property
    def settings(self) -> Path:
        return self.folder / "conf"

    @property
    def on_class_path(self) -> Path:
        """What Spark takes for its folder of settings: an empty one, because classes are shared only if it is."""
        return self.folder / "empty" if self.sharing is None else self.sharing.archive.empty

    @property
    def class_path(self) -> str:
        """Of all processes, as Spark's launcher puts it together."""
        first = sorted((self.home / "jars").glob("slf4j-api-*.jar"))
        return os.pathsep.join([f"{self.on_class_path}/", *map(str, first), str(self.home / "jars" / "*")])

    @property
    def java_options(self) -> str:
        """Of every process: whose it is, where its words go, and how it shares its classes."""
        sharing = () if self.sharing is None else self.sharing.java_options
        logging = f"-Dlog4j2.configurationFile={self.settings / 'log4j2.properties'}"
        return " ".join([mark(self.token), logging, "-XX:+UseSerialGC", "-XX:-UsePerfData", *sharing])

    @property
    def logs(self) -> Path:
        return self.folder / "logs"

    def environment(self, *, host: str) -> dict[str, str]:
        """Of a process on that host; what a user has set for another Spark is left out."""
        inherited = {key: value for key, value in os.environ.items() if not key.startswith("SPARK_")}
        if (self.java.home / "bin" / "java").is_file():
            inherited["JAVA_HOME"] = str(self.java.home)
        return inherited | {
            "SPARK_HOME": str(self.home),
            "SPARK_CONF_DIR": str(self.on_class_path),
            "SPARK_LOCAL_IP": host,
            "SPARK_LOCAL_DIRS": str(self.folder / "local"),
            "SPARK_DAEMON_MEMORY": _DAEMON_HEAP,
            "SPARK_DAEMON_JAVA_OPTS": f"{self.java_options} -XX:TieredStopAtLevel=1",
            "SPARK_NO_DAEMONIZE": "1",
            "PYSPARK_PYTHON": sys.executable,
            "PYSPARK_DRIVER_PYTHON": sys.executable,
        }


def mark(token: str) -> str:
    """A Java option that does nothing but prove whose process it is."""
    return f"-Dheadgate.cluster={token}"


def install(*, java: JavaInstallation, folder: Path, token: str) -> Installation:
    """Write the settings that every process of a cluster reads."""
    home = Path(pyspark.__path__[0])
    if not (home / "bin" / "spark-class").is_file():
        raise UserMistake(
            f"the PySpark at {home} has no Spark in it (it is a client only), so no cluster can be started from it; "
            "install the package pyspark instead of pyspark-client"
        )
    sharing = find_sharing("spark", java, (home / "jars").glob("*.jar"))
    installation = Installation(java=java, home=home, folder=folder, token=token, sharing=sharing)
    for path in (installation.settings, installation.logs, folder / "local", folder / "work", folder / "empty"):
        path.mkdir(parents=True, exist_ok=True, mode=0o700)
    (installation.settings / "log4j2.properties").write_text(_LOGGING)
    # Without a secret, everyone on this machine could run code in our name through the master's port. It stands in a
    # file that only we can read, because command lines can be read by everyone.
    defaults = installation.settings / "spark-defaults.conf"
    defaults.touch(mode=0o600)
    defaults.write_text(f"spark.authenticate true\nspark.authenticate.secret {secrets.token_hex(16)}\n")
    return installation


class Daemon:
    """One started daemon and its log."""

    def __init__(self, *, name: str, process: subprocess.Popen[bytes], log: Path) -> None:
        self.name = name
        self.process = process
        self.log = log

    @property
    def pid(self) -> int:
        return self.process.pid

    def wait_for(self, pattern: re.Pattern[str]) -> re.Match[str]:
        """The first line of the log that matches; a sentence with the log's reason if the daemon dies instead."""
        deadline = time.monotonic() + _UP_WITHIN_S
        while True:
            ended = self.process.poll() is not None
            text = self.log.read_text(errors="replace")
            match = pattern.search(text)
            if match is not None and not ended:
                return match
            if ended:
                raise _died(self, text)
            if time.monotonic() > deadline:
                raise Permanent(
                    f"the Spark daemon {self.name} was not up after {_UP_WITHIN_S:.0f} s; its log is {self.log}"
                )
            time.sleep(0.05)


def start_master(installation: Installation, *, host: str, port: int = 0) -> Daemon:
    """Start the master; port 0 lets it take a free one."""
    arguments = ["--host", host, "--port", str(port), "--webui-port", "0"]
    return _start(installation, MASTER_CLASS, arguments, name="master", host=host)


def master_address(master: Daemon) -> str:
    """Wait until the master is up."""
    address = master.wait_for(_MASTER_ADDRESS).group(1)
    master.wait_for(_MASTER_UP)
    return address


def start_worker(
    installation: Installation, *, name: str, host: str, master: str, cores: int, memory_mb: int
) -> Daemon:
    """Start a node's Worker daemon."""
    arguments = ["--host", host, "--port", "0", "--webui-port", "0", "--cores", str(cores), "--memory", f"{memory_mb}m"]
    arguments += ["--work-dir", str(installation.folder / "work" / name), master]
    return _start(installation, WORKER_CLASS, arguments, name=name, host=host)


def wait_registered(worker: Daemon) -> None:
    worker.wait_for(_WORKER_UP)


def _start(installation: Installation, java_class: str, arguments: Sequence[str], *, name: str, host: str) -> Daemon:
    log = installation.logs / f"{name}.log"
    # The cluster's token, which is in the path of the settings, stands in the command line already while the starting
    # script runs.
    command = [str(installation.home / "bin" / "spark-class"), java_class]
    command += ["--properties-file", str(installation.settings / "spark-defaults.conf"), *arguments]
    # Executors inherit their Worker's environment, and Spark reports this variable as an attribute of them.
    environment = installation.environment(host=host) | {"SPARK_EXECUTOR_ATTRIBUTE_NODE": name}
    process = popen_logged(command, log=log, environment=environment)
    return Daemon(name=name, process=process, log=log)


def popen_logged(command: Sequence[str], *, log: Path, environment: Mapping[str, str]) -> subprocess.Popen[bytes]:
    """Start a process in a session of its own, so that an interrupt at the terminal reaches only us."""
    with log.open("wb") as output:
        return subprocess.Popen(
            list(command),
            env=dict(environment),
            stdin=subprocess.DEVNULL,
            stdout=output,
            stderr=subprocess.STDOUT,
            start_new_session=True,
        )


def telling_line(text: str) -> str:
    """The line of a log that says most about why its process ended.

    >>> telling_line("INFO a\\nException in thread main: java.net.BindException: in use\\n\\tat b.c\\nINFO bye\\n")
    'Exception in thread main: java.net.BindException: in use'
    """
    lines = [line.strip() for line in text.splitlines() if line.strip() and not _STACK.match(line)]
    telling = [line for line in lines if _TELLING.search(line)]
    return (telling or lines or ["its log is empty"])[-1][:300]


def _died(daemon: Daemon, text: str) -> Permanent | UserMistake:
    line = telling_line(text)
    if "BindException" in text or "Address already in use" in text:
        return UserMistake(
            f"the Spark daemon {daemon.name} found its port in use ({line}); free the port or choose another, "
            f"the log is {daemon.log}"
        )
    return Permanent(
        f"the Spark daemon {daemon.name} ended at its start with code {daemon.process.returncode}: {line} "
        f"(log: {daemon.log})"
    )
