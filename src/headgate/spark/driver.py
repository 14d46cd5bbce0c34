"""A driver in this process for an embedded cluster: its Java process, its settings, its words in a file.

PySpark keeps one Java process for the whole life of a Python process. It is started here, so that
its output goes to the cluster's log instead of the terminal, and ended here, so that a later
cluster gets a fresh one.
"""

from __future__ import annotations

import contextlib
import os
import re
import time
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from pyspark import SparkConf, SparkContext
from pyspark.java_gateway import launch_gateway
from pyspark.sql import SparkSession

from headgate.errors import Permanent, UserMistake
from headgate.spark.daemons import Installation, telling_line

DRIVER_HOST = "127.0.0.1"
_DRIVER_HEAP = "768m"
_PLAIN_HEAP = "512m"
_EXECUTORS_WITHIN_S = 90.0
_JAVA_OPTIONS = ("spark.driver.extraJavaOptions", "spark.executor.extraJavaOptions")


def standard_settings(
    installation: Installation, *, master: str, app_name: str, nodes: int, cores: int, memory_mb: int
) -> dict[str, str]:
    """The settings of a small app that may use the whole cluster, one executor a node."""
    folder = installation.folder
    java = installation.java_options
    return {
        "spark.master": master,
        "spark.app.name": app_name,
        "spark.cores.max": str(nodes * cores),
        "spark.executor.cores": str(cores),
        "spark.executor.memory": f"{memory_mb}m",
        # Without this, Java would size its thread pools by the quota of the moment it starts in.
        "spark.executor.extraJavaOptions": f"{java} -XX:ActiveProcessorCount={cores}",
        "spark.driver.memory": _DRIVER_HEAP,
        "spark.driver.extraJavaOptions": java,
        "spark.driver.host": DRIVER_HOST,
        "spark.driver.bindAddress": DRIVER_HOST,
        "spark.dynamicAllocation.enabled": "false",
        # State is where its last task ran, and a task waits three seconds for that place: the state of short batches
        # would stay on the executors of the beginning, however many join.
        "spark.locality.wait": "0s",
        "spark.decommission.enabled": "true",
        "spark.storage.decommission.enabled": "true",
        "spark.local.dir": str(folder / "local"),
        "spark.sql.warehouse.dir": str(folder / "warehouse"),
        "spark.sql.shuffle.partitions": str(nodes * cores),
        "spark.sql.session.timeZone": "UTC",
        "spark.ui.enabled": "false",
        "spark.ui.showConsoleProgress": "false",
    }


def plain_settings(installation: Installation, *, master: str, app_name: str) -> dict[str, str]:
    """The settings of a small app without a cluster of ours: its tasks run in the driver, or where the master is."""
    folder = installation.folder
    java = installation.java_options
    threads = re.fullmatch(r"local\[(\d+)(?:,\d+)?\]", master)
    return {
        "spark.master": master,
        "spark.app.name": app_name,
        "spark.driver.memory": _PLAIN_HEAP,
        "spark.driver.extraJavaOptions": java,
        "spark.driver.host": DRIVER_HOST,
        "spark.driver.bindAddress": DRIVER_HOST,
        "spark.local.dir": str(folder / "local"),
        "spark.sql.warehouse.dir": str(folder / "warehouse"),
        "spark.sql.shuffle.partitions": threads.group(1) if threads else str(os.cpu_count() or 1),
        "spark.sql.session.timeZone": "UTC",
        "spark.ui.enabled": "false",
        "spark.ui.showConsoleProgress": "false",
    }


def with_wishes(settings: Mapping[str, str], wishes: Mapping[str, str]) -> dict[str, str]:
    """Settings with a user's own, which win; Java gets both and heeds the later ones.

    >>> with_wishes({"spark.driver.extraJavaOptions": "-Dx=1"}, {"spark.driver.extraJavaOptions": "-Dx=2"})
    {'spark.driver.extraJavaOptions': '-Dx=1 -Dx=2'}
    """
    java = {key: f"{settings[key]} {wishes[key]}" for key in _JAVA_OPTIONS if key in settings and key in wishes}
    return {**settings, **wishes, **java}


def open_session(installation: Installation, settings: Mapping[str, str]) -> SparkSession:
    """A session with its own Java process, whose words go to ``driver.log``."""
    if SparkContext._active_spark_context is not None:
        raise UserMistake("this process has an active Spark session already; stop it before opening another")
    if not _has_jars(settings.get("spark.jars")):
        close_gateway()
    with _environment(installation.environment(host=DRIVER_HOST)):
        _ensure_gateway(installation, settings)
        builder = SparkSession.builder.config(map=dict(settings))
        for key, value in _defaults(installation).items():
            builder = builder.config(key, value)
        try:
            return builder.getOrCreate()
        except Exception as error:
            raise Permanent(
                f"the Spark session could not be opened: {telling_line(str(error))} (log: {_log(installation)})"
            ) from error


def gateway_pid() -> int | None:
    process = getattr(SparkContext._gateway, "proc", None)
    return None if process is None else int(process.pid)


def close_gateway() -> None:
    """End the Java process of this Python process; PySpark starts another one when it needs it."""
    gateway: Any = SparkContext._gateway
    if gateway is None:
        return
    process = getattr(gateway, "proc", None)
    with contextlib.suppress(Exception):
        gateway.shutdown()
    SparkContext._gateway = None
    SparkContext._jvm = None
    if process is not None:
        with contextlib.suppress(OSError):
            process.stdin.close()
        with contextlib.suppress(Exception):
            process.wait(timeout=1)
        process.kill()
        process.wait()


def executor_ids(session: SparkSession) -> tuple[str, ...]:
    """The executors that have registered with the driver."""
    return tuple(row[0] for row in _executor_rows(session))


def executors_that_worked(session: SparkSession, *, tasks: int = 1) -> frozenset[str]:
    """The executors that have finished at least so many tasks."""
    return frozenset(executor for executor, finished in _executor_rows(session) if finished >= tasks)


def request_total(session: SparkSession, executors: int) -> bool:
    """Tell the master the number of executors that the app wants from now on."""
    spark_context = session.sparkContext._jsc.sc()
    return bool(spark_context.requestTotalExecutors(executors, 0, _empty_map(session)))


def wait_for_executors(session: SparkSession, least: int, installation: Installation) -> None:
    deadline = time.monotonic() + _EXECUTORS_WITHIN_S
    while len(executor_ids(session)) < least:
        if time.monotonic() > deadline:
            raise Permanent(
                f"only {len(executor_ids(session))} of {least} executors came within {_EXECUTORS_WITHIN_S:.0f} s; "
                f"their logs are in {installation.folder / 'work'}"
            )
        time.sleep(0.1)


def _executor_rows(session: SparkSession) -> list[tuple[str, int]]:
    rows = session.sparkContext._jsc.sc().statusStore().executorList(True)
    found = (rows.apply(index) for index in range(rows.size()))
    return [(row.id(), row.completedTasks()) for row in found if row.id() != "driver"]


def _empty_map(session: SparkSession) -> Any:
    jvm: Any = session.sparkContext._jvm
    return jvm.org.apache.spark.api.python.PythonUtils.toScalaMap({})


def _has_jars(jars: str | None) -> bool:
    """Whether the Java process that runs, if one does, was started with these jars: it takes no others later."""
    process = getattr(SparkContext._gateway, "proc", None)
    return process is None or jars is None or any(jars in word for word in process.args)


def _ensure_gateway(installation: Installation, settings: Mapping[str, str]) -> None:
    if SparkContext._gateway is not None:
        return
    launch = SparkConf(loadDefaults=False)
    # The rest is given through the session; command lines are for what Java must know at its start.
    for key in ("spark.driver.memory", "spark.driver.extraJavaOptions", "spark.jars"):
        if key in settings:
            launch.set(key, settings[key])
    log = _log(installation)
    with log.open("ab") as output:
        try:
            gateway = launch_gateway(  # type: ignore[no-untyped-call]
                launch, popen_kwargs={"stdout": output, "stderr": output, "start_new_session": True}
            )
        except Exception:
            line = telling_line(log.read_text(errors="replace"))
            raise Permanent(f"the driver's Java process did not start: {line} (log: {log})") from None
    SparkContext._ensure_initialized(gateway=gateway)


def _log(installation: Installation) -> Path:
    return installation.logs / "driver.log"


def _defaults(installation: Installation) -> dict[str, str]:
    lines = (installation.settings / "spark-defaults.conf").read_text().splitlines()
    return dict(line.split(" ", 1) for line in lines)


@contextlib.contextmanager
def _environment(wanted: Mapping[str, str]) -> Iterator[None]:
    """These variables, and no other ones of Spark's, for as long as PySpark reads them."""
    before = dict(os.environ)
    for key in before:
        if key.startswith("SPARK_") or key in ("PYSPARK_SUBMIT_ARGS", "PYSPARK_GATEWAY_PORT"):
            del os.environ[key]
    os.environ.update(wanted)
    try:
        yield
    finally:
        for key in set(os.environ) - set(before):
            del os.environ[key]
        os.environ.update(before)
