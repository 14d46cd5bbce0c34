"""A program with an embedded cluster, to be watched and killed from outside; says what it sees as JSON lines."""

from __future__ import annotations

import json
import sys
import time
from typing import Any

from headgate.spark import driver
from headgate.spark.cluster import LocalCluster
from headgate.spark.startups import WARM_TASKS

NODES = 3


def say(kind: str, **facts: Any) -> None:
    sys.stdout.write(json.dumps({"kind": kind, **facts}) + "\n")
    sys.stdout.flush()


def main() -> None:
    with LocalCluster(nodes=NODES, initial=1, quota=0.5) as cluster:
        groups = [str(node.group.path) for node in cluster._nodes if node.group is not None]
        say("up", note=cluster.quota_note, folder=str(cluster.folder), token=cluster.token, groups=groups)
        if "--daemons-only" in sys.argv:
            time.sleep(600)
        session = cluster.session("embedded")
        session.range(0, 100, 1, 4).count()
        say("small", executors=_executors(cluster), registered=driver.executor_ids(session))
        driver.request_total(session, NODES)
        while len(driver.executor_ids(session)) < NODES or len(cluster.executor_pids()) < NODES:
            time.sleep(0.1)
        while len(driver.executors_that_worked(session, tasks=WARM_TASKS)) < NODES:
            session.range(0, 100, 1, 3 * NODES).repartition(3 * NODES).count()
        while any(node.lifted for node in cluster._nodes):
            time.sleep(0.1)
        rows = session.range(0, 3).selectExpr("id").collect()
        limits = [_limit(group) for group in groups]
        say("large", executors=_executors(cluster), rows=len(rows), limits=limits)
        time.sleep(600)


def _executors(cluster: LocalCluster) -> dict[str, Any]:
    return {name: [process.node, process.host, process.pid] for name, process in cluster.executor_pids().items()}


def _limit(group: str) -> str:
    for name in ("cpu.max", "cpu.cfs_quota_us"):
        try:
            with open(f"{group}/{name}") as file:  # noqa: PTH123 - a name of the kernel's
                return file.read().split()[0]
        except FileNotFoundError:
            continue
    return ""


if __name__ == "__main__":
    main()
