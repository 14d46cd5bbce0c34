"""Says when more executors will not help, and what would.

Looked at only while the app is behind or its policy wants more executors: a small load leaves the
driver most of every batch, and that is no finding. Each finding is a reason with its figures and a
remedy; none of them changes a decision. Assumes that a batch's time is the executors' (``run_s``),
the sink's commit (``sink_s``) and, for the rest, the driver's.
"""

from __future__ import annotations

from typing import Any

from headgate.core.allocation import Allocation
from headgate.core.decision import Reason
from headgate.core.evaluation import BatchEvaluation, Evaluation, OperatorEvaluation
from headgate.core.knowledge import Knowledge

_FALLING_BEHIND = 1.05
"""Arrivals over processed records; closer together is measuring noise."""
_USUAL_LAG_S = 10.0
"""Backlog, in seconds of work, that an app may have without being behind, where batches are unknown."""
_USUAL_LAG_BATCHES = 2.0
"""The same where batches are known: one being collected and one being worked on."""
_AT_LIMIT = 0.95
_BUSY = 0.8
_DOMINANT_SHARE = 0.5
_SKEW = 2.0
_LONGEST_OF_RUN = 0.8
_NEWCOMER_S = 60.0


def diagnose(evaluation: Evaluation, knowledge: Knowledge, wanted: Allocation) -> tuple[Reason, ...]:
    """Why more executors will not help, as far as the evaluation shows it."""
    behind = [operator for operator in evaluation.operators if _is_behind(operator)]
    wants_more = wanted.executors > knowledge.current.executors
    if not behind and not wants_more:
        return ()
    suspects = behind or list(evaluation.operators)
    found = _slots(evaluation, knowledge, behind=bool(behind))
    for operator in suspects:
        if operator.batch is not None and operator.batch.duration_s > 0:
            found += _records_limit(operator, operator.batch, evaluation)
            found += _driver(operator, operator.batch)
            found += _sink(operator, operator.batch)
            if not _has_newcomer(evaluation):
                found += _skew(operator, operator.batch)
    return tuple(found)


def _has_newcomer(evaluation: Evaluation) -> bool:
    """A new executor's first tasks are long by themselves and say nothing about partitions."""
    return any(executor.age_s is not None and executor.age_s < _NEWCOMER_S for executor in evaluation.working_executors)


def _is_behind(operator: OperatorEvaluation) -> bool:
    arriving, processed, lag = operator.arrival_rate, operator.input_rate, operator.lag_records
    if arriving is not None and processed is not None and arriving > _FALLING_BEHIND * processed:
        return True
    if lag is None or processed is None or lag <= 0:
        return False
    batch_s = 0.0 if operator.batch is None else operator.batch.duration_s
    return lag > processed * max(_USUAL_LAG_S, _USUAL_LAG_BATCHES * batch_s)


def _mean_busy(evaluation: Evaluation) -> float | None:
    known = [executor.busy for executor in evaluation.working_executors if executor.busy is not None]
    return sum(known) / len(known) if known else None


def _slots(evaluation: Evaluation, knowledge: Knowledge, *, behind: bool) -> list[Reason]:
    """All operators together, because they share the executors."""
    executors, cores = knowledge.current.executors, knowledge.description.cores_per_executor
    slots = executors * cores
    counts = [_most_tasks(operator) for operator in evaluation.operators]
    if not counts or None in counts or not slots:
        return []
    tasks = sum(count for count in counts if count is not None)
    if slots < tasks:
        return []
    partitions = [operator.partitions for operator in evaluation.operators]
    by_partitions = None not in partitions and tasks <= sum(count or 0 for count in partitions)
    cause = "the topics have" if by_partitions else "a batch is cut into"
    unit = "partitions" if by_partitions else "tasks"
    remedy = "add topic partitions, or set minPartitions" if by_partitions else "repartition, or raise the parallelism"
    return [
        _reason(
            "more-slots-than-tasks",
            f"{executors} executors with {cores} cores are {slots} slots, but {cause} only {tasks:.0f} {unit}, so "
            f"more executors would idle: {remedy}",
            {"executors": executors, "slots": slots, "tasks": tasks, "behind": behind},
        )
    ]


def _most_tasks(operator: OperatorEvaluation) -> float | None:
    if operator.batch is not None and operator.batch.tasks is not None:
        return operator.batch.tasks
    return operator.partitions


def _records_limit(operator: OperatorEvaluation, batch: BatchEvaluation, evaluation: Evaluation) -> list[Reason]:
    limit, busy = batch.records_limit, _mean_busy(evaluation)
    if not limit or busy is None or busy >= _BUSY or batch.largest_records < _AT_LIMIT * limit:
        return []
    return [
        _reason(
            "records-limit-is-the-ceiling",
            f"'{operator.name}' took in {batch.largest_records:.0f} of at most {limit:.0f} records a batch while "
            f"executors were {busy:.0%} busy, so the limit holds it back: raise maxOffsetsPerTrigger",
            {
                "operator": operator.name,
                "largest_records": batch.largest_records,
                "records_limit": limit,
                "busy": busy,
                "lag_records": operator.lag_records,
            },
        )
    ]


def _driver(operator: OperatorEvaluation, batch: BatchEvaluation) -> list[Reason]:
    if batch.run_s is None:
        return []
    driver_s = batch.duration_s - batch.run_s - (batch.sink_s or 0.0)
    share = driver_s / batch.duration_s
    if share <= _DOMINANT_SHARE:
        return []
    return [
        _reason(
            "driver-is-the-bottleneck",
            f"the driver takes {driver_s:.1f} s of the {batch.duration_s:.1f} s of a batch of '{operator.name}' "
            f"({share:.0%}), and executors wait meanwhile: give the driver more cores, simplify the plan, or make "
            "batches larger and rarer",
            {"operator": operator.name, "driver_s": driver_s, "duration_s": batch.duration_s, "share": share},
        )
    ]


def _sink(operator: OperatorEvaluation, batch: BatchEvaluation) -> list[Reason]:
    if batch.sink_s is None:
        return []
    share = batch.sink_s / batch.duration_s
    if share <= _DOMINANT_SHARE:
        return []
    return [
        _reason(
            "sink-is-the-bottleneck",
            f"committing to the sink takes {batch.sink_s:.1f} s of the {batch.duration_s:.1f} s of a batch of "
            f"'{operator.name}' ({share:.0%}): write fewer, larger files, or give the sink more capacity",
            {"operator": operator.name, "sink_s": batch.sink_s, "duration_s": batch.duration_s, "share": share},
        )
    ]


def _skew(operator: OperatorEvaluation, batch: BatchEvaluation) -> list[Reason]:
    longest_s, mean_s, run_s = batch.longest_task_s, batch.mean_task_s, batch.run_s
    if longest_s is None or run_s is None or not mean_s or mean_s < 0:
        return []
    if longest_s < _SKEW * mean_s or longest_s < _LONGEST_OF_RUN * run_s:
        return []
    return [
        _reason(
            "skewed-partition",
            f"one task of '{operator.name}' takes {longest_s:.1f} s of the {run_s:.1f} s in which executors work, "
            f"{longest_s / mean_s:.1f} times the mean of {mean_s:.1f} s, so the others wait for it: repartition, or "
            "spread the hot key",
            {"operator": operator.name, "longest_task_s": longest_s, "mean_task_s": mean_s, "run_s": run_s},
        )
    ]


def _reason(code: str, message: str, inputs: dict[str, Any]) -> Reason:
    return Reason(by="diagnosis", code=code, message=f"more executors will not help: {message}", inputs=inputs)
