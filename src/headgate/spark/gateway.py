"""The one file that speaks to the driver's JVM.

Each answer is fetched as one JSON text, made in the JVM by the serialiser that Spark brings along
for its own status pages, because a round trip costs a fraction of a millisecond and a field read
through the gateway is a round trip. Standalone, Kubernetes, YARN and ``local-cluster`` all have the
same coarse-grained scheduler backend, so there is one code path for them. Assumes a classic session
(``session_check`` refuses others) in this process.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, ParamSpec, TypeVar, cast

from py4j.protocol import Py4JError, Py4JJavaError
from pyspark.sql import SparkSession

from headgate.errors import HeadgateError, Permanent, Temporary, UserMistake
from headgate.spark.checkpoints import first_offset
from headgate.spark.facts import ActiveStage, ExecutorFact, JobFact, QueryState, RunningTask, StageFact, StageShare

if TYPE_CHECKING:
    from pyspark.sql.streaming.query import StreamingQuery

P = ParamSpec("P")
R = TypeVar("R")

NODE_ATTRIBUTE = "NODE"
"""Set ``SPARK_EXECUTOR_ATTRIBUTE_NODE`` where executors start to name nodes that share a host."""

NEEDS_DRIVER = (
    "this is a Spark Connect session, which cannot add executors; attach in the process that runs the Spark driver"
)

_BATCH = re.compile(r"batch = (\d+)")
_INTERVAL = re.compile(r"ProcessingTimeTrigger\((\d+)\)")
_STREAM_FAILED = re.compile(r"^\[STREAM_FAILED\] Query \[.*?\] terminated with exception: ")
_RAISED = re.compile(r"[A-Za-z_][\w.]*(?:Error|Exception|Exit|Interrupt|Mistake)\b")
_MOST_TASKS_READ = 256
_MOST_STAGES_READ = 8
_DURATION_INDEX = "dur"

_LEFT_OUT = {
    "ExecutorSummary": "executorLogs memoryMetrics peakMemoryMetrics resources blacklistedInStages excludedInStages "
    "maxMemory maxTasks totalTasks totalGCTime totalInputBytes totalShuffleRead totalShuffleWrite isBlacklisted "
    "isExcluded removeTime removeReason resourceProfileId rddBlocks isActive",
    "JobData": "name jobTags killedTasksSummary numTasks numActiveTasks numCompletedTasks numSkippedTasks "
    "numFailedTasks numKilledTasks numCompletedIndices numActiveStages numCompletedStages numSkippedStages "
    "numFailedStages completionTime",
    "StageData": "name description details schedulingPool rddIds accumulatorUpdates peakExecutorMetrics tasks "
    "executorSummary speculationSummary killedTasksSummary taskMetricsDistributions executorMetricsDistributions "
    "shuffleMergersCount resourceProfileId",
    "TaskData": "taskMetrics executorLogs accumulatorUpdates errorMessage host taskLocality",
    "ExecutorStageSummary": "peakMemoryMetrics",
}
"""Parts of Spark's answers that nobody reads here; an answer of many kilobytes takes a second round trip."""


def _answered(call: Callable[P, R]) -> Callable[P, R]:
    """Turn what py4j raises into the errors that the loop knows."""

    def guarded(*args: P.args, **kwargs: P.kwargs) -> R:
        try:
            return call(*args, **kwargs)
        except HeadgateError:
            raise
        except (Py4JError, OSError) as error:
            owner = cast("SparkGateway | PySparkQuery", args[0])
            raise translate(error, stopped=owner.stopped()) from error

    return guarded


def translate(error: Exception, *, stopped: bool | None) -> HeadgateError:
    """The error that the loop understands; ``stopped`` is ``None`` when the JVM cannot even say that."""
    if stopped is None:
        return Permanent("the driver's Java process no longer answers; start the app again")
    if stopped:
        return Permanent("the Spark session has been stopped; there is nothing left to scale")
    cause = error.java_exception.toString() if isinstance(error, Py4JJavaError) else str(error)
    first_line = cause.strip().splitlines()[0] if cause.strip() else type(error).__name__
    return Temporary(f"the Spark driver did not answer ({first_line[:200]}); trying again")


def one_sentence(message: str) -> str:
    """The part of a failed query's message that says why, without its traces.

    >>> one_sentence("[STREAM_FAILED] Query [id = 1] terminated with exception: no space left\\n\\tat a.b(C)")
    'no space left'
    >>> one_sentence("Task failed: Traceback (most recent call last):\\n  File x\\nValueError: bad record\\n")
    'ValueError: bad record'
    """
    lines = [line.strip() for line in message.strip().splitlines()] or [message]
    raised = [line for line in lines[1:] if _RAISED.match(line)]
    return (raised[-1] if raised else _STREAM_FAILED.sub("", lines[0]))[:300]


class SparkGateway:
    """``facts.Gateway`` on a live session."""

    def __init__(self, session: SparkSession) -> None:
        python_context = session.sparkContext
        jvm: Any = python_context._jvm
        self._context: Any = python_context._jsc.sc()
        self._store = self._context.statusStore()
        self._backend = self._context.schedulerBackend()
        scala_module = getattr(getattr(jvm.com.fasterxml.jackson.module.scala, "DefaultScalaModule$"), "MODULE$")
        self._mapper = jvm.com.fasterxml.jackson.databind.ObjectMapper().registerModule(scala_module)
        self._leave_out_the_unread(jvm)
        self._no_statuses = jvm.java.util.ArrayList()
        self._running = jvm.java.util.ArrayList()
        self._running.add(jvm.org.apache.spark.status.api.v1.TaskStatus.RUNNING)
        self._by_duration = jvm.scala.Option.apply(_DURATION_INDEX)
        self._no_quantiles = python_context._gateway.new_array(jvm.double, 0)  # type: ignore[union-attr]
        self._no_hosts = getattr(getattr(jvm.scala.collection.immutable, "Map$"), "MODULE$").empty()
        self._leaving_note = jvm.org.apache.spark.scheduler.ExecutorDecommissionInfo(
            "scaled in", getattr(getattr(jvm.scala, "None$"), "MODULE$")
        )
        self._jvm = jvm

    def stopped(self) -> bool | None:
        try:
            return bool(self._context.isStopped())
        except (Py4JError, OSError):
            return None

    @_answered
    def executors(self) -> tuple[ExecutorFact, ...]:
        self._require_running()
        return tuple(_executor(row) for row in self._json(self._store.executorList(True)) if row["id"] != "driver")

    @_answered
    def registered(self) -> Mapping[str, float]:
        self._require_running()
        times: Mapping[str, float] = self._json(self._backend.getExecutorsWithRegistrationTs())
        return {executor: since_ms / 1000 for executor, since_ms in times.items()}

    @_answered
    def decommissioning(self) -> frozenset[str]:
        return frozenset(self._json(self._backend.executorsPendingDecommission().keySet()))

    @_answered
    def jobs(self, newest: int) -> tuple[JobFact, ...]:
        return tuple(_job(row) for row in self._json(self._store.jobsList(None).take(newest)))

    @_answered
    def stage(self, stage_id: int) -> StageFact | None:
        attempts = self._json(self._store.stageData(stage_id, False, self._no_statuses, False, self._no_quantiles))
        if not attempts:
            return None
        shares: dict[str, StageShare] = {}
        longest_ms: list[float] = []
        for attempt in attempts:
            number = attempt["attemptId"]
            for executor, row in self._json(self._store.executorSummary(stage_id, number)).items():
                shares[executor] = _added(shares.get(executor), row)
            slowest = self._json(
                self._store.taskList(stage_id, number, 0, 1, self._by_duration, False, self._no_statuses)
            )
            longest_ms.extend(task["duration"] for task in slowest if task.get("duration") is not None)
        launches = [row["firstTaskLaunchedTime"] for row in attempts if row.get("firstTaskLaunchedTime")]
        ends = [row["completionTime"] for row in attempts if row.get("completionTime")]
        return StageFact(
            id=stage_id,
            tasks=max(row["numTasks"] for row in attempts),
            launched_s=min(launches) / 1000 if launches else None,
            completed_s=max(ends) / 1000 if ends else None,
            longest_task_s=max(longest_ms) / 1000 if longest_ms else None,
            shares=shares,
        )

    @_answered
    def active_stages(self) -> tuple[ActiveStage, ...]:
        stages = []
        for stage in self._json(self._store.activeStages())[:_MOST_STAGES_READ]:
            number, attempt = stage["stageId"], stage["attemptId"]
            rows = self._json(
                self._store.taskList(number, attempt, 0, _MOST_TASKS_READ, self._by_duration, False, self._running)
            )
            running = tuple(RunningTask(row["executorId"], row["launchTime"] / 1000) for row in rows)
            stages.append(ActiveStage(number, stage["executorRunTime"] / 1000, running))
        return tuple(stages)

    @_answered
    def request_total(self, executors: int) -> bool:
        self._require_running()
        return bool(self._context.requestTotalExecutors(executors, 0, self._no_hosts))

    @_answered
    def decommission(self, executor: str) -> bool:
        return bool(self._backend.decommissionExecutor(executor, self._leaving_note, False, False))

    @_answered
    def remove(self, executor: str, *, force: bool) -> bool:
        ids = self._jvm.java.util.ArrayList()
        ids.add(executor)
        wanted = self._jvm.scala.jdk.javaapi.CollectionConverters.asScala(ids).toSeq()
        return bool(self._backend.killExecutors(wanted, False, False, force).nonEmpty())

    def _require_running(self) -> None:
        # A stopped context goes on answering with its last figures.
        if self._context.isStopped():
            raise translate(Py4JError(), stopped=True)

    def _leave_out_the_unread(self, jvm: Any) -> None:
        loader = self._context.getClass().getClassLoader()
        ignored = getattr(jvm.com.fasterxml.jackson.annotation, "JsonIgnoreProperties$Value")
        for name, properties in _LEFT_OUT.items():
            names = jvm.java.util.HashSet()
            for each in properties.split():
                names.add(each)
            kind = loader.loadClass(f"org.apache.spark.status.api.v1.{name}")
            self._mapper.configOverride(kind).setIgnorals(ignored.forIgnoredProperties(names))

    def _json(self, answer: Any) -> Any:
        return json.loads(self._mapper.writeValueAsString(answer))


class PySparkQuery:
    """``facts.QueryView`` on a live query."""

    def __init__(self, query: StreamingQuery, *, gateway: SparkGateway) -> None:
        self.name: str = query.name or str(query.id)
        self.run_id: str = str(query.runId)
        self._query: Any = query._jsq
        self._gateway = gateway
        self._session = session_of(query)
        self.trigger_s: float = self._trigger_s()

    def stopped(self) -> bool | None:
        return self._gateway.stopped()

    @_answered
    def state(self) -> QueryState:
        if not self._query.isActive():
            failure = self._query.exception()
            text = one_sentence(str(failure.get().message())) if failure.isDefined() else None
            return QueryState(active=False, data_available=False, failure=text)
        status = json.loads(self._query.status().json())
        return QueryState(
            active=True, trigger_active=status["isTriggerActive"], data_available=status["isDataAvailable"]
        )

    @_answered
    def progress_after(self, timestamp: str) -> Sequence[Mapping[str, Any]]:
        kept = self._query.recentProgress()
        events: list[Mapping[str, Any]] = []
        for index in range(len(kept) - 1, -1, -1):
            event = kept[index]
            # All are written in one form, in which the order of texts is that of times.
            if event.timestamp() <= timestamp:
                break
            events.append(json.loads(event.json()))
        return events[::-1]

    def source_options(self) -> Sequence[Mapping[str, str]]:
        # An internal of Spark, read once for what progress events leave out; without it less is known.
        try:
            leaves = self._query.streamingQuery().analyzedPlan().collectLeaves()
            sources = [leaf for leaf in map(leaves.apply, range(leaves.size())) if leaf.isStreaming()]
        except (Py4JError, TypeError):
            return []
        return [self._options_of(source) for source in sources]

    def first_offset(self, source: int) -> Any:
        # A checkpoint may be out of reach for a moment; then the first batch is known by its rows.
        try:
            execution = self._query.streamingQuery()
            return first_offset(self._session, str(execution.resolvedCheckpointRoot()), source)
        except (Py4JError, TypeError):
            return None

    def _options_of(self, source: Any) -> Mapping[str, str]:
        try:
            return cast("Mapping[str, str]", self._gateway._json(source.extraOptions()))
        except (Py4JError, TypeError):
            return {}

    def _trigger_s(self) -> float:
        try:
            trigger = _INTERVAL.fullmatch(self._query.streamingQuery().trigger().toString())
        except (Py4JError, TypeError):
            trigger = None
        return int(trigger[1]) / 1000 if trigger else 0.0


def session_of(query: StreamingQuery) -> SparkSession:
    """The session that a query runs in; all sessions of a process share one Spark context."""
    if type(query).__module__.startswith("pyspark.sql.connect"):
        raise UserMistake(NEEDS_DRIVER)
    session = SparkSession.getActiveSession() or SparkSession._instantiatedSession
    if session is None:
        raise UserMistake("the Spark session of this query has been stopped; start it again before attaching")
    return session


def _executor(row: Mapping[str, Any]) -> ExecutorFact:
    attributes = row.get("attributes") or {}
    return ExecutorFact(
        id=row["id"],
        node=attributes.get(NODE_ATTRIBUTE) or row["hostPort"].rpartition(":")[0],
        cores=row["totalCores"],
        added_s=row["addTime"] / 1000,
        busy_s=row["totalDuration"] / 1000,
        tasks_running=row["activeTasks"],
        tasks_done=row["completedTasks"],
        tasks_failed=row["failedTasks"],
        stored_bytes=row["memoryUsed"] + row["diskUsed"],
    )


def _job(row: Mapping[str, Any]) -> JobFact:
    batch = _BATCH.search(row.get("description") or "")
    submitted = row.get("submissionTime")
    return JobFact(
        id=row["jobId"],
        group=row.get("jobGroup"),
        batch_id=int(batch.group(1)) if batch else None,
        stage_ids=tuple(row["stageIds"]),
        submitted_s=submitted / 1000 if submitted else None,
        finished=row["status"] != "RUNNING",
    )


def _added(share: StageShare | None, row: Mapping[str, Any]) -> StageShare:
    before = share or StageShare(0.0, 0, 0.0)
    return StageShare(
        before.task_s + row["taskTime"] / 1000,
        before.tasks + row["succeededTasks"],
        before.records + row["inputRecords"],
        before.shuffled_records + row["shuffleReadRecords"],
    )
