"""Apps as they are measured: the same operators, with topics, a folder and a controller for the measurement alone."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from headgate.config import AppFile, ControllerTable, ProducerTable
from headgate.errors import UserMistake

_STEADY = {"spark.executor.extraJavaOptions": "-XX:TieredStopAtLevel=1"}
"""Java's second compiler makes code faster for minutes, on processor time that a small node does not have: without it
an executor has within a minute the capacity that it keeps, and sizes can be compared."""


def only_producer(app: AppFile) -> ProducerTable:
    """What the load consists of; an app without exactly one producer has no single rate."""
    if not app.operators or len(app.producers) != 1:
        kind = f"{len(app.producers)} [[producers]]" if app.operators else "no [[operators]]"
        raise UserMistake(
            f"app '{app.name}' has {kind}; measure needs operators that read a topic, and one producer that says which "
            "records it has"
        )
    return app.producers[0]


def measured_app(app: AppFile, *, folder: Path, sizes: Sequence[int]) -> AppFile:
    """The same operators without their producers, in the hand of whoever measures."""
    return app.model_copy(
        update={
            "name": f"measure-{app.name}"[:100],
            "folder": folder,
            "topics": app.all_topics,
            "producers": (),
            "operators": tuple(table.model_copy(update={"starting": "latest"}) for table in app.operators),
            "cluster": app.cluster.model_copy(
                update={
                    "nodes": max(sizes),
                    "initial": max(sizes),
                    "master": None,
                    "conf": {**_STEADY, **app.cluster.conf},
                }
            ),
            "controller": ControllerTable(policy="static:period_s=2", executors=(min(sizes), max(sizes))),
        }
    )


def with_topics(app: AppFile, suffix: str) -> AppFile:
    """The same app on topics whose names end so."""
    operators = tuple(
        table.model_copy(
            update={
                "reads": tuple(topic + suffix for topic in table.reads),
                "writes": None if table.writes is None else table.writes + suffix,
            }
        )
        for table in app.operators
    )
    topics = tuple(topic.model_copy(update={"name": topic.name + suffix}) for topic in app.topics)
    return app.model_copy(update={"operators": operators, "topics": topics})
