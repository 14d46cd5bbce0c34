"""One way to a Spark session that can read Kafka and write Delta Lake, on a cluster of ours or without one.

For the command line, the consumers and the tests. Users with their own session and jars need none of it.
"""

from __future__ import annotations

import atexit
import tempfile
import uuid
from collections.abc import Mapping
from pathlib import Path

from pyspark.sql import SparkSession

from headgate.errors import UserMistake
from headgate.java import find_java
from headgate.spark import daemons, driver, leftovers
from headgate.spark.cluster import LocalCluster
from headgate.spark.connectors import connector_settings


def open_session(
    app_name: str,
    *,
    cluster: LocalCluster | None = None,
    master: str | None = None,
    kafka: bool = True,
    delta: bool = True,
    conf: Mapping[str, str] | None = None,
) -> SparkSession:
    """A session on the cluster, or with that master in this process (``local[2]`` if neither is given).

    The jars are fetched if they are not there yet; ``spark.jars`` of ``conf`` come in addition. A driver without a
    cluster has a small heap, which ``spark.driver.memory`` changes, writes its log into a folder of its own, and
    goes with this process.
    """
    if cluster is not None and master is not None:
        raise UserMistake(f"a session is opened on a cluster or with a master, not both; leave out master={master}")
    settings = _joined(connector_settings(kafka=kafka, delta=delta), conf or {})
    if cluster is not None:
        return cluster.session(app_name, settings)
    place = _place()
    standard = driver.plain_settings(place, master=master or "local[2]", app_name=app_name)
    session = driver.open_session(place, driver.with_wishes(standard, settings))
    pid = driver.gateway_pid()
    if pid is not None:
        _Place.state.add(pid, role="driver")
    return session


def driver_log() -> Path | None:
    """Where the driver of a session without a cluster writes; ``None`` if this process has opened none."""
    return None if _Place.installation is None else _Place.installation.logs / "driver.log"


class _Place:
    """The folder of this process's sessions without a cluster: one, because it has one driver at a time."""

    installation: daemons.Installation | None = None
    state: leftovers.ClusterState


def _place() -> daemons.Installation:
    if _Place.installation is None:
        java = find_java()
        leftovers.reclaim()
        token = uuid.uuid4().hex
        folder = Path(tempfile.gettempdir()) / f"headgate-{token}"
        folder.mkdir(mode=0o700)
        _Place.state = leftovers.ClusterState(token=token, folder=folder)
        _Place.installation = daemons.install(java=java, folder=folder, token=token)
        atexit.register(close_plain_driver)
    return _Place.installation


def close_plain_driver() -> None:
    """End the driver of sessions without a cluster and remove what it wrote; may be called twice."""
    if _Place.installation is None:
        return
    _Place.installation = None
    atexit.unregister(close_plain_driver)
    session = SparkSession.getActiveSession()
    if session is not None:
        session.stop()
    driver.close_gateway()
    leftovers.end(_Place.state.record.processes, token=_Place.state.record.token)
    leftovers.clear(_Place.state.record)
    _Place.state.close()


def _joined(own: Mapping[str, str], given: Mapping[str, str]) -> dict[str, str]:
    jars = [part["spark.jars"] for part in (own, given) if part.get("spark.jars")]
    return {**own, **given, **({"spark.jars": ",".join(jars)} if jars else {})}
