"""What must be true of a session before its executors can be scaled, checked before anything starts.

Each obstacle is one sentence that names the setting and the remedy.
"""

from __future__ import annotations

import re
from typing import Any

from headgate.core.allocation import Bounds
from headgate.errors import UserMistake
from headgate.spark.gateway import NEEDS_DRIVER

_LOCAL_CLUSTER = re.compile(r"local-cluster\[\s*(\d+)\s*,\s*(\d+)\s*,\s*\d+\s*\]")


def check_session(spark: Any, bounds: Bounds) -> None:
    """Raise ``UserMistake`` if a session cannot have between ``bounds.least`` and ``bounds.most`` executors."""
    if type(spark).__module__.startswith("pyspark.sql.connect"):
        raise UserMistake(NEEDS_DRIVER)
    context = spark.sparkContext
    if context._jsc is None or context._jsc.sc().isStopped():
        raise UserMistake("the Spark session has been stopped; start it again before attaching")
    if detect_cluster(spark) == "local":
        raise UserMistake(
            f"the master is {context.master}, which has no executors to add; "
            "use a cluster, or local-cluster[4,1,1024] to try it out"
        )
    if _setting(context, "spark.dynamicAllocation.enabled", "false").lower() == "true":
        raise UserMistake(
            "spark.dynamicAllocation.enabled is true, so Spark changes the executors itself; set it to false"
        )
    limit, setting = _limit(context)
    if limit is not None and limit < bounds.most:
        raise UserMistake(
            f"{setting} allows {limit} executors, but up to {bounds.most} are asked for; "
            f"raise the setting or lower the upper bound to {limit}"
        )


def detect_cluster(spark: Any) -> str:
    """The cluster manager: ``standalone``, ``local-cluster``, ``kubernetes``, ``yarn``, or ``local`` for none."""
    master = str(spark.sparkContext.master)
    for prefix, name in (
        ("local-cluster", "local-cluster"),
        ("spark://", "standalone"),
        ("k8s://", "kubernetes"),
        ("yarn", "yarn"),
        ("local", "local"),
    ):
        if master.startswith(prefix):
            return name
    return master


def size_limit(spark: Any) -> int | None:
    """The most executors that the session's own settings allow, where they say."""
    return _limit(spark.sparkContext)[0]


def cores_per_executor(spark: Any) -> int | None:
    """As set; ``None`` leaves it to the cluster manager."""
    text = _setting(spark.sparkContext, "spark.executor.cores", "")
    return int(text) if text.isdigit() and int(text) > 0 else None


def locality_wait(spark: Any) -> str | None:
    """For how long tasks wait for the executor where their state is, if they do."""
    text = _setting(spark.sparkContext, "spark.locality.wait", "3s")
    return text if any(digit in text for digit in "123456789") else None


def _limit(context: Any) -> tuple[int | None, str]:
    master = str(context.master)
    own_cores = _setting(context, "spark.executor.cores", "")
    executor_cores = int(own_cores) if own_cores.isdigit() and int(own_cores) > 0 else None
    limits: list[tuple[int, str]] = []
    nodes = _LOCAL_CLUSTER.fullmatch(master)
    if nodes is not None:
        per_node = int(nodes[2]) // executor_cores if executor_cores else 1
        limits.append((int(nodes[1]) * per_node, f"the master {master}"))
    most_cores = _setting(context, "spark.cores.max", "")
    if (nodes is not None or master.startswith("spark://")) and most_cores.isdigit() and executor_cores:
        limits.append((int(most_cores) // executor_cores, f"spark.cores.max={most_cores}"))
    return min(limits) if limits else (None, "")


def _setting(context: Any, key: str, default: str) -> str:
    return str(context.getConf().get(key, default))
