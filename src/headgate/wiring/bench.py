"""A real app under a load of one's choice: its own cluster, broker and folder, its operators, and a paced producer.

Arrivals are the end offsets of the topics, asked while the app runs; how far an operator has come is
what its batches say themselves. Both are on one clock, and on the same axis of offsets.
"""

from __future__ import annotations

import contextlib
import os
import secrets
import signal
import sqlite3
import tempfile
import threading
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from types import TracebackType
from typing import Self

import numpy as np

from headgate.config import AppFile
from headgate.core.sample import ArrivalPoint
from headgate.errors import HeadgateError, NotReady, Temporary
from headgate.journal import Excerpt, read_journal
from headgate.kafka.broker import LocalBroker
from headgate.kafka.probe import KafkaProbe
from headgate.kafka.production import Production, ProductionPlan
from headgate.kafka.settings import KafkaSettings
from headgate.kafka.topics import delete_topics
from headgate.scoring.backlogs import Drain
from headgate.scoring.holds import Step, judge, longest_hold_s
from headgate.scoring.run import RunSeries
from headgate.wiring.app import RunningApp
from headgate.wiring.loads import production_plan
from headgate.wiring.measured_app import measured_app, only_producer, with_topics
from headgate.wiring.measurement import GoOn
from headgate.wiring.operator_flow import OperatorFlow
from headgate.wiring.profiling import Hold
from headgate.wiring.watched_operator import WatchedOperator

Say = Callable[[str], None]

_LOOK_EVERY_S = 0.25
_BURST_S = 1.0
"""How long a backlog takes to send, if the producer is fast enough."""
_THERE_WITHIN_S = 180.0
_BEFORE_S = 3.0
_SENT_WITHIN_S = 180.0
_MOVES_WITHIN_S = 180.0


class AppBench:
    """An app that can be given any load and size; everything it starts ends with the ``with`` block."""

    def __init__(self, app: AppFile, *, executors: Sequence[int], seed: int, say: Say) -> None:
        self._producer = only_producer(app)
        self._app = app
        self._sizes = tuple(executors)
        self._seed = seed
        self._say = say
        self._stack = contextlib.ExitStack()
        self._stop = threading.Event()
        self._sent = 0
        self._trigger_s = max(table.trigger_s for table in app.operators)
        self._kafka: KafkaSettings | None = None
        self._spent_s, self._size, self._sized_s = 0.0, 0, 0.0

    def __enter__(self) -> Self:
        with self._stack:
            place = tempfile.TemporaryDirectory(prefix="headgate-measure-", ignore_cleanup_errors=True)
            folder = Path(self._stack.enter_context(place))
            self._app = self._on_own_topics(measured_app(self._app, folder=folder, sizes=self._sizes))
            self._running = self._stack.enter_context(RunningApp(self._app, say=self._say))
            flow = self._running.flow
            assert isinstance(flow, OperatorFlow)
            assert flow.kafka is not None
            self._kafka = flow.kafka.settings
            self._source = KafkaProbe(self._kafka, [self._producer.topic])
            self._operators = [
                WatchedOperator(operator, self._kafka, starts=flow.kafka.note.starts) for operator in flow.operators
            ]
            self._stack = self._stack.pop_all()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._stack.close()

    def _on_own_topics(self, app: AppFile) -> AppFile:
        """A broker of its own, or else topics of its own: the load must reach nobody else, nor others' records it."""
        if app.kafka.is_local:
            self._say("starting a Kafka broker on this machine …")
            bootstrap = self._stack.enter_context(LocalBroker()).settings.bootstrap
            return app.model_copy(update={"kafka": app.kafka.model_copy(update={"bootstrap": bootstrap})})
        suffix = f"-measure-{secrets.token_hex(4)}"
        self._producer = self._producer.model_copy(update={"topic": self._producer.topic + suffix})
        renamed = with_topics(app, suffix)
        self._stack.callback(self._delete, [topic.name for topic in renamed.topics])
        return renamed

    def _delete(self, topics: Sequence[str]) -> None:
        if self._kafka is None:
            return
        try:
            delete_topics(self._kafka, topics)
        except HeadgateError as error:
            self._say(f"topics {', '.join(topics)} could not be deleted ({error}); delete them by hand")

    def heed(self, stop: threading.Event) -> None:
        self._stop = stop

    def resize(self, executors: int) -> None:
        """Also cut the batches of operators that allow it into a task for each core."""
        self._spent_s = self.spent_s
        self._size, self._sized_s = executors, time.monotonic()
        slots = executors * self._app.cluster.cores
        for watched in self._operators:
            if watched.operator.scalable:
                watched.operator.set_parallelism(min(slots, watched.operator.max_parallelism))
        self._running.controls.pin(executors)
        self._until(
            lambda: self._has(executors),
            within_s=_THERE_WITHIN_S,
            otherwise=f"the cluster did not come to {executors} executors",
        )

    def _has(self, executors: int) -> bool:
        try:
            status = self._running.controls.status()
        except NotReady:
            return False
        there = status.observed.executors if status.observed is not None else None
        return there == executors and not status.pending_executors

    def drain(self, records: int) -> Drain:
        with self._production(rate=max(1.0, records / _BURST_S), duration_s=_BURST_S) as production:
            began_s = production.start_time_s
            self._until(
                lambda: production.finished,
                within_s=_SENT_WITHIN_S,
                otherwise=f"{production.total} records could not be sent",
            )
            _check(production)
            self.settle()
        return Drain(records=production.total, seconds=max(time.time() - began_s, 0.001))

    def observe(self, rate: float, hold_s: float, *, kill_after_s: float | None = None) -> Hold:
        killed_s: float | None = None
        with self._production(rate=rate, duration_s=hold_s) as production:
            started_s = production.start_time_s
            while time.time() < started_s + hold_s:
                self._pause()
                if kill_after_s is not None and killed_s is None and time.time() >= started_s + kill_after_s:
                    killed_s = self._kill()
            _check(production)
        return Hold(
            run=self._recorded(started_s, started_s + hold_s),
            started_s=started_s,
            ended_s=started_s + hold_s,
            killed_s=killed_s,
        )

    def _kill(self) -> float:
        """The end of an executor, as a machine that loses its power brings it about."""
        cluster = self._running.cluster
        assert cluster is not None
        victim = list(cluster.executor_pids().values())[-1]
        os.kill(victim.pid, signal.SIGKILL)
        return time.time()

    def _recorded(self, since_s: float, until_s: float) -> RunSeries:
        """What the controller's journal has of that time, and of a few seconds before it."""
        with read_journal(self._running.journal) as reader:
            return RunSeries.from_journal(Excerpt(reader, since_s=since_s - _BEFORE_S, until_s=until_s))

    def keep_journal(self, path: Path) -> None:
        """What the controller has written up to now, which ends with the bench otherwise."""
        with (
            contextlib.closing(sqlite3.connect(self._running.journal)) as journal,
            contextlib.closing(sqlite3.connect(path)) as copy,
        ):
            journal.backup(copy)

    @property
    def spent_s(self) -> float:
        return self._spent_s + self._size * (time.monotonic() - self._sized_s)

    def settle(self) -> None:
        """However long it takes, as long as there are batches that end."""
        seen: list[float] = []
        while any(watched.lag() > 0 for watched in self._operators):
            done = [watched.done() for watched in self._operators]
            if done != seen:
                seen, moved_s = done, time.monotonic()
            if time.monotonic() > moved_s + _MOVES_WITHIN_S:
                raise _too_slow("no batch of the backlog ended", _MOVES_WITHIN_S)
            self._pause()

    def hold(self, rate: float, hold_s: float, go_on: GoOn) -> Step:
        sent: list[ArrivalPoint] = []
        curves: list[list[ArrivalPoint]] = [[] for _ in self._operators]

        def look() -> None:
            _draw(sent, self._source)
            for watched, curve in zip(self._operators, curves, strict=True):
                _draw(curve, watched.probe)

        def held(started_s: float, ended_s: float) -> Step:
            while time.time() < ended_s:
                self._pause()
                look()
            holds = [
                watched.hold(curve, started_s=started_s, ended_s=ended_s)
                for watched, curve in zip(self._operators, curves, strict=True)
            ]
            # What arrived in the topic, whatever the producer says.
            times = [each.time_s for each in sent]
            begin, end = np.interp([started_s, ended_s], times, [each.records for each in sent])
            return judge(
                holds,
                asked_rate=rate,
                achieved_rate=float(end - begin) / (ended_s - started_s),
                started_s=started_s,
                ended_s=ended_s,
                trigger_s=self._trigger_s,
            )

        look()
        with self._production(rate=rate, duration_s=longest_hold_s(hold_s)) as production:
            step = held(production.start_time_s, production.start_time_s + hold_s)
            while (longer_s := go_on(step)) is not None:
                step = held(production.start_time_s, production.start_time_s + longer_s)
            _check(production)
        return step

    def _production(self, *, rate: float, duration_s: float) -> Production:
        plan: ProductionPlan = production_plan(
            self._producer.model_copy(
                update={
                    "workload": f"constant:rate={rate:.6f}",
                    "peak": None,
                    "duration_s": duration_s,
                    "time_scale": 1.0,
                    "seed": self._seed,
                }
            ),
            first_sequence=self._sent,
        )
        assert self._kafka is not None
        production = Production(self._kafka, plan)
        self._sent += production.total
        return production

    def _until(self, reached: Callable[[], bool], *, within_s: float, otherwise: str) -> None:
        deadline_s = time.monotonic() + within_s
        while not reached():
            if time.monotonic() > deadline_s:
                raise _too_slow(otherwise, within_s)
            self._pause()

    def _pause(self) -> None:
        if self._stop.wait(_LOOK_EVERY_S):
            raise KeyboardInterrupt
        for watched in self._operators:
            watched.check()


def _too_slow(what: str, within_s: float) -> Temporary:
    return Temporary(f"{what} within {within_s:.0f} s; give executors more of a processor (--quota), or try again")


def _draw(curve: list[ArrivalPoint], probe: KafkaProbe) -> None:
    """One more point, unless the broker is too busy to answer: between two others it is not missed."""
    with contextlib.suppress(Temporary):
        records = probe.probe()
        curve.append(ArrivalPoint(time.time(), records))


def _check(production: Production) -> None:
    if production.problem is not None:
        raise production.problem
