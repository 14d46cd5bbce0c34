"""The loads of an app file as values, so that what is wrong with them is said before anything is started."""

from __future__ import annotations

from headgate.config import AppFile, ProducerTable
from headgate.kafka.plan import ProductionPlan
from headgate.workloads import parse_workload
from headgate.workloads.records import parse_records


def production_plan(table: ProducerTable, *, first_sequence: int = 0) -> ProductionPlan:
    return ProductionPlan(
        topic=table.topic,
        records=table.records,
        workload=table.workload,
        peak=table.peak,
        duration_s=table.duration_s,
        time_scale=table.time_scale,
        process=table.arrivals,
        seed=table.seed,
        keys=table.keys,
        partition_skew=table.partition_skew,
        partition_drift_s=table.partition_drift_s,
        processes=table.processes,
        first_sequence=first_sequence,
    )


def check_loads(app: AppFile) -> None:
    """Refuse workloads, records and keys that do not exist."""
    if app.stream is not None:
        parse_workload(app.stream.workload, duration_s=app.stream.duration_s, seed=app.stream.seed)
        if app.stream.records is not None:
            parse_records(app.stream.records, seed=app.stream.seed)
    for producer in app.producers:
        plan = production_plan(producer)
        plan.load()
        plan.record_kind()
        plan.record_keys()


def load_of(app: AppFile) -> str | None:
    """The app's load in the words of its file."""
    if app.stream is not None:
        return app.stream.workload
    if len(app.producers) == 1:
        return app.producers[0].workload
    return "; ".join(f"{producer.topic}: {producer.workload}" for producer in app.producers) or None
