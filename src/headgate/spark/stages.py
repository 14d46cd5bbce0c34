"""Which tasks belonged to which batch: finished Spark jobs, added up per query, batch and executor.

Each job is read once, after it has ended, so that the cost follows the number of batches and not
the length of the run. Jobs that ended before the first look are not counted.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Mapping
from dataclasses import dataclass, field

from headgate.spark.facts import ActiveStage, Gateway, JobFact, StageFact

_FIRST_LOOK = 16
_FARTHEST_LOOK = 1024
_BATCHES_KEPT = 256
_STAGES_KEPT = 4096


@dataclass(frozen=True, slots=True, kw_only=True)
class BatchWork:
    """What executors did for one micro-batch."""

    tasks: int
    """Of the stage that took longest, as are the times of tasks: how many slots its work can use."""
    run_s: float
    """Wall time in which at least one of its stages was being worked on."""
    ended_s: float
    longest_task_s: float | None
    mean_task_s: float | None
    executors: frozenset[str] = field(default_factory=frozenset)


class StageLedger:
    """Task time per query, records per executor and work per batch, since the first look."""

    def __init__(self, gateway: Gateway, groups: Collection[str]) -> None:
        self._gateway = gateway
        self._groups = set(groups)
        self._all_read_up_to: int | None = None
        self._read: set[int] = set()
        self._stages: dict[tuple[str, int], list[StageFact]] = {}
        self._group_of_stage: dict[int, str] = {}
        self._counted: dict[int, None] = {}
        """Stages that are in the books, oldest first."""
        self._open: set[tuple[str | None, int | None]] = set()
        """Batches with a job that has not ended."""
        self.busy_s: dict[str, float] = defaultdict(float)
        """Time of finished tasks, by query run."""
        self.records: dict[str, float] = defaultdict(float)
        """Its part of what was read from sources, by executor."""

    def watch(self, group: str) -> None:
        """Count the work of one more query."""
        self._groups.add(group)

    def update(self) -> None:
        """Read what has ended since the last time."""
        jobs = self._new_jobs()
        self._group_of_stage = {stage: job.group for job in jobs if job.group is not None for stage in job.stage_ids}
        self._open = {(job.group, job.batch_id) for job in jobs if not job.finished}
        if self._all_read_up_to is None:
            self._all_read_up_to = min((job.id for job in jobs if not job.finished), default=_newest(jobs) + 1) - 1
            self._read = {job.id for job in jobs if job.finished and job.id > self._all_read_up_to}
            return
        for job in reversed(jobs):
            if job.finished and job.id not in self._read:
                self._read.add(job.id)
                self._add(job)
        while self._all_read_up_to + 1 in self._read:
            self._all_read_up_to += 1
            self._read.discard(self._all_read_up_to)

    def work_of(self, run_id: str, batch_id: int) -> BatchWork | None:
        """``None`` while Spark has not told of all its jobs, or if the batch ran no task."""
        if (run_id, batch_id) in self._open:
            return None
        stages = [stage for stage in self._stages.get((run_id, batch_id), ()) if stage.shares]
        spans = [
            (s.launched_s, s.completed_s) for s in stages if s.launched_s is not None and s.completed_s is not None
        ]
        if not spans:
            return None
        longest = max(stages, key=lambda stage: (stage.completed_s or 0.0) - (stage.launched_s or 0.0))
        done = sum(share.tasks for share in longest.shares.values())
        total_s = sum(share.task_s for share in longest.shares.values())
        return BatchWork(
            tasks=longest.tasks,
            run_s=_covered_s([(start, end) for start, end in spans if start is not None and end is not None]),
            ended_s=max(end for _, end in spans if end is not None),
            longest_task_s=longest.longest_task_s,
            mean_task_s=total_s / done if done else None,
            executors=frozenset(executor for stage in stages for executor in stage.shares),
        )

    def running_s(
        self, active: Collection[ActiveStage], now_s: float
    ) -> tuple[Mapping[str, float], Mapping[str, float]]:
        """Task time not yet in the books: by query run (all of a running stage), by executor (running tasks)."""
        by_run: dict[str, float] = defaultdict(float)
        by_executor: dict[str, float] = defaultdict(float)
        for stage in active:
            group = self._group_of_stage.get(stage.id)
            if group is not None:
                by_run[group] += stage.done_task_s
            for task in stage.running:
                elapsed_s = max(0.0, now_s - task.launched_s)
                by_executor[task.executor] += elapsed_s
                if group is not None:
                    by_run[group] += elapsed_s
        return by_run, by_executor

    def _new_jobs(self) -> tuple[JobFact, ...]:
        wanted = _FIRST_LOOK
        while True:
            jobs = self._gateway.jobs(wanted)
            if self._all_read_up_to is None:
                return jobs
            reached = len(jobs) < wanted or jobs[-1].id <= self._all_read_up_to + 1
            if reached or wanted >= _FARTHEST_LOOK:
                if not reached:
                    # Spark has forgotten the rest; waiting for them would read the same jobs for ever.
                    self._all_read_up_to = jobs[-1].id - 1
                return tuple(job for job in jobs if job.id > self._all_read_up_to)
            wanted *= 4

    def _add(self, job: JobFact) -> None:
        if job.group not in self._groups or job.group is None:
            return
        stages: list[StageFact] = []
        for stage_id in job.stage_ids:
            # Two jobs of one batch may need the same shuffle, whose stage is then in both.
            stage = self._gateway.stage(stage_id) if stage_id not in self._counted else None
            if stage is None:
                continue
            self._counted[stage_id] = None
            stages.append(stage)
            if job.batch_id is not None:
                self._stages.setdefault((job.group, job.batch_id), []).append(stage)
        self.busy_s[job.group] += sum(map(_task_s, stages))
        for executor, records in _parts(stages).items():
            self.records[executor] += records
        while len(self._counted) > _STAGES_KEPT:
            del self._counted[next(iter(self._counted))]
        while len(self._stages) > _BATCHES_KEPT:
            del self._stages[next(iter(self._stages))]


def _parts(stages: Collection[StageFact]) -> dict[str, float]:
    """Each executor's part of the records that a job took in from sources.

    Whoever has read them from the source need not be who works on them after a shuffle. So each stage counts by the
    time that it took of all tasks, and is divided by what each executor has read in it.

    >>> from headgate.spark.facts import StageShare
    >>> read = StageFact(id=0, tasks=1, shares={"a": StageShare(1.0, 1, 100.0)})
    >>> count = StageFact(id=1, tasks=2, shares={"a": StageShare(1.0, 1, 0, 30.0), "b": StageShare(2.0, 1, 0, 90.0)})
    >>> _parts([read, count])
    {'a': 43.75, 'b': 56.25}
    """
    taken = sum(share.records for stage in stages for share in stage.shares.values())
    weighted = [(_task_s(stage), _read(stage)) for stage in stages]
    whole_s = sum(stage_s for stage_s, read in weighted if read)
    parts: dict[str, float] = defaultdict(float)
    for stage_s, read in weighted:
        for executor, share in read.items():
            parts[executor] += taken * share * (stage_s / whole_s if whole_s else 1 / len(weighted))
    return dict(parts)


def _task_s(stage: StageFact) -> float:
    return sum(share.task_s for share in stage.shares.values())


def _read(stage: StageFact) -> dict[str, float]:
    """What each executor read, as a share; where nothing was, what it did of the tasks."""
    read = {executor: share.records + share.shuffled_records for executor, share in stage.shares.items()}
    if not any(read.values()):
        read = {executor: float(share.tasks) for executor, share in stage.shares.items()}
    total = sum(read.values())
    return {executor: records / total for executor, records in read.items()} if total else {}


def _newest(jobs: tuple[JobFact, ...]) -> int:
    return jobs[0].id if jobs else -1


def _covered_s(spans: list[tuple[float, float]]) -> float:
    """Length of the union of time spans.

    >>> _covered_s([(0.0, 2.0), (1.0, 3.0), (5.0, 6.0)])
    4.0
    """
    covered_s, reached_s = 0.0, float("-inf")
    for start_s, end_s in sorted(spans):
        covered_s += max(0.0, end_s - max(start_s, reached_s))
        reached_s = max(reached_s, end_s)
    return covered_s
