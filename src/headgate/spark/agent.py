"""The agent in the driver: measures an app, and holds it at the size that it was last ordered to have.

Until the first order it only watches, so that a dry run changes nothing. Orders return at once; a
thread of its own goes on towards the target, also when the controller is gone. Nothing here can
stop, restart or slow a query.
"""

from __future__ import annotations

import logging
import threading
import time
from collections import deque
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Self

from headgate.core.allocation import Bounds
from headgate.core.knowledge import AppDescription, Engine
from headgate.core.ports import Order
from headgate.core.sample import Sample
from headgate.errors import HeadgateError, Permanent, StaleEpoch, StreamEnded, UserMistake
from headgate.spark.collector import Collector
from headgate.spark.discovery import Discovery, Newcomer, TopicProbe, arrivals_of, no_probe, shared, topics_of
from headgate.spark.executors import Reconciler
from headgate.spark.facts import Gateway, QueryState, QueryView
from headgate.spark.gateway import PySparkQuery, SparkGateway, session_of
from headgate.spark.operator_group import OperatorGroup
from headgate.spark.operators import operator_of
from headgate.spark.queries import ArrivalProbe
from headgate.spark.roster import Roster
from headgate.spark.session_check import check_session, cores_per_executor, detect_cluster, locality_wait, size_limit

if TYPE_CHECKING:
    from pyspark.sql.streaming.query import StreamingQuery

log = logging.getLogger(__name__)

_ORDERS_REMEMBERED = 1024
_JOIN_THREAD_WITHIN_S = 30.0


class DriverAgent:
    """The agent's logic on any gateway; ``SparkAgent`` is this on a live session."""

    def __init__(
        self,
        gateway: Gateway,
        queries: Sequence[QueryView],
        *,
        description: AppDescription,
        target: int | None = None,
        reconcile_every_s: float = 2.0,
        sample_offsets_every_s: float = 1.0,
        probes: Mapping[str, ArrivalProbe] | None = None,
        group: OperatorGroup | None = None,
        state_waits: str | None = None,
        discover: Callable[[OperatorGroup], Iterable[Newcomer]] | None = None,
        now_s: Callable[[], float] = time.time,
    ) -> None:
        self._description = description
        self._discover = discover
        self._state_waits = state_waits
        self._group = group or OperatorGroup([query.name for query in queries])
        self._queries = list(queries)
        self._now_s = now_s
        self._reconcile_every_s = reconcile_every_s
        self._collector = Collector(
            gateway, queries, now_s=now_s, probes=probes, probe_every_s=sample_offsets_every_s, group=self._group
        )
        past_s = {reader.query.name: reader.durations_s for reader in self._collector.readers}
        self._roster = Roster(size_limit=description.size_limit, durations_s=past_s)
        self._reconciler = Reconciler(gateway, now_s=now_s, roster=self._roster)
        if target is not None:
            self._reconciler.target = self._possible(target)
        self._orders = threading.Lock()
        self._newest_epoch = description.newest_epoch
        self._obeyed: deque[str] = deque(maxlen=_ORDERS_REMEMBERED)
        self._measuring = threading.Lock()
        self._ended: dict[str, QueryState] = {}
        self._over = False
        self._stop = threading.Event()
        self._wake = threading.Event()
        self._thread: threading.Thread | None = None
        self._fault: Permanent | None = None
        self.reconcile()

    def describe(self) -> AppDescription:
        return replace(
            self._description,
            graph=self._group.graph,
            scales=self._group.scales,
            executors=self.target or None,
            newest_epoch=self._newest_epoch,
        )

    @property
    def target(self) -> int:
        """What is being reconciled towards; what is there, as long as nothing was ordered."""
        target = self._reconciler.target
        return self._reconciler.present if target is None else target

    @property
    def ended(self) -> bool:
        """Whether every query has terminated, as of the last ``collect`` or now."""
        for query in self._queries:
            if query.name not in self._ended:
                try:
                    self._note_state(query, query.state())
                except Permanent as error:
                    self._ended[query.name] = QueryState(active=False, failure=str(error))
                except HeadgateError:
                    return False
        return len(self._ended) == len(self._queries)

    @property
    def failure(self) -> str | None:
        """Why the first failed query failed; ``None`` if none did."""
        for name, state in self._ended.items():
            if state.failure is not None:
                return f"query '{name}' failed: {state.failure}"
        return None

    def collect(self) -> Sample:
        """Measure; once every query has ended, one more time, and then ``StreamEnded``."""
        with self._measuring:
            if self._over:
                raise StreamEnded(self.failure or f"app '{self._description.app}' has ended with its queries")
            try:
                sample = self._measure()
            except Permanent as error:
                if self.ended:
                    raise StreamEnded(f"app '{self._description.app}' has ended: {error}") from error
                raise
            self._over = len(self._ended) == len(self._queries)
            return sample

    def _measure(self) -> Sample:
        if self._fault is not None:
            raise self._fault
        self._meet()
        measured = self._collector.collect(self._reconciler.leaving)
        self._look()
        for query, state in measured.states:
            self._note_state(query, state)
        self._part()
        self._advise()
        self._roster.worked(measured.time_s, measured.facts)
        self._roster.finished(measured.batches)
        target = self.target
        present = sum(executor.id not in self._reconciler.leaving for executor in measured.facts)
        return Sample(
            time_s=measured.time_s,
            operators=measured.operators,
            executors=measured.executors,
            pending_executors=max(0, target - present),
            target_executors=target,
            events=self._roster.take_events(),
        )

    def _meet(self) -> None:
        """Take in operators that were started since the last look and are connected with those that are known."""
        for newcomer in self._discover(self._group) if self._discover is not None else ():
            name = newcomer.view.name
            try:
                self._group.join(newcomer.operator, output=newcomer.output)
            except UserMistake as error:
                log.warning("operator '%s' is left out of the app: %s", name, error)
                continue
            # One of that name may have ended before, and have been started again.
            self._queries = [*(query for query in self._queries if query.name != name), newcomer.view]
            self._ended.pop(name, None)
            self._collector.leave(name)
            self._collector.join(newcomer.view, probe=newcomer.arrivals)
            self._roster.operator(self._now_s(), name, joined=True)

    def _part(self) -> None:
        """Let go of operators that their owner has ended, as long as others go on; one that failed stays in sight."""
        stopped = [name for name, state in self._ended.items() if state.failure is None]
        if len(self._ended) == len(self._queries):
            return
        for name in stopped:
            if name in {reader.query.name for reader in self._collector.readers}:
                self._collector.leave(name)
                self._group.leave(name)
                self._roster.operator(self._now_s(), name, joined=False)

    def _advise(self) -> None:
        with_state = [reader.query.name for reader in self._collector.readers if reader.has_state]
        if self._state_waits is not None and with_state:
            log.warning(
                "query '%s' has state, whose tasks wait for the executor where they ran before, so that new executors "
                "get little of its work; set spark.locality.wait=0s (it is %s)",
                with_state[0],
                self._state_waits,
            )
            self._state_waits = None

    def apply(self, order: Order) -> None:
        with self._orders:
            if order.epoch < self._newest_epoch:
                raise StaleEpoch(offered=order.epoch, newest=self._newest_epoch)
            parallelism = self._group.checked(order.allocation.parallelism)
            self._newest_epoch = order.epoch
            if order.request_id in self._obeyed:
                return
            self._obeyed.append(order.request_id)
            self._reconciler.target = self._possible(order.allocation.executors)
            self._group.set_parallelism(parallelism)
        self._wake.set()

    def start(self) -> None:
        """Begin to hold the app at its target; may be called twice."""
        if self._thread is None:
            self._stop.clear()
            self._thread = threading.Thread(target=self._keep_reconciling, name="headgate-reconcile", daemon=True)
            self._thread.start()

    def stop(self) -> None:
        """Leave the app at its present size; the query goes on."""
        self._stop.set()
        self._wake.set()
        thread, self._thread = self._thread, None
        if thread is not None:
            thread.join(_JOIN_THREAD_WITHIN_S)

    def __enter__(self) -> Self:
        self.start()
        return self

    def __exit__(self, *exception: object) -> None:
        self.stop()

    def reconcile(self) -> None:
        """One step towards the target; the thread does this every few seconds."""
        try:
            self._reconciler.reconcile()
        except Permanent as error:
            self._fault = error
            raise

    def _possible(self, executors: int) -> int:
        # A query without any executor would stand still, which no bounds can mean.
        return max(1, self._description.bounds.clamp(executors))

    def _keep_reconciling(self) -> None:
        while not self._stop.is_set():
            try:
                self.reconcile()
            except Permanent as error:
                log.info("no longer reconciling: %s", error)
                return
            except HeadgateError as error:
                log.info("%s", error)
            except Exception:
                # A fault of ours must not end the thread that replaces dead executors.
                log.exception("a step towards the target failed")
            self._wake.wait(self._reconcile_every_s)
            self._wake.clear()

    def _look(self) -> None:
        try:
            # Also between two steps: an executor may come and be lost again before the next.
            self._reconciler.look()
        except HeadgateError as error:
            log.info("%s", error)

    def _note_state(self, query: QueryView, state: QueryState) -> None:
        if not state.active and query.name not in self._ended:
            self._ended[query.name] = state
            self._roster.ended(self._now_s(), query.name, state.failure)


class SparkAgent(DriverAgent):
    """Controls the app of one or several streaming queries of the session in this process.

    ``target`` is the size to resume at, as from a journal; without it the app is kept as it is
    until the first order. ``probes`` know the arrivals of queries, by name, between their batches; the
    embedded trace source has one by itself, and ``topic_probe`` makes those of topics, read and written.
    """

    def __init__(
        self,
        queries: Sequence[StreamingQuery],
        *,
        app: str,
        bounds: Bounds,
        target: int | None = None,
        reconcile_every_s: float = 2.0,
        sample_offsets_every_s: float = 1.0,
        probes: Mapping[str, ArrivalProbe] | None = None,
        topic_probe: TopicProbe = no_probe,
        now_s: Callable[[], float] = time.time,
    ) -> None:
        if not queries:
            raise UserMistake("no streaming query was given; start one and attach to it")
        session = session_of(queries[0])
        check_session(session, bounds)
        gateway = SparkGateway(session)
        views = [PySparkQuery(query, gateway=gateway) for query in queries]
        topic_probe = shared(topic_probe)
        known = {view.name: arrivals_of(view.source_options(), topic_probe, now_s=now_s) for view in views}
        operators = [operator for query in queries if (operator := operator_of(query)) is not None]
        outputs = {
            operator.name: topic_probe(operator.topic_options, (operator.writes,))
            for operator in operators
            if operator.writes is not None
        }
        group = OperatorGroup(
            [view.name for view in views],
            operators,
            reads={view.name: topics_of(view.source_options()) for view in views},
            outputs={name: probe for name, probe in outputs.items() if probe is not None},
            probe_every_s=sample_offsets_every_s,
        )
        super().__init__(
            gateway,
            views,
            description=AppDescription(
                app=app,
                engine=Engine.MICRO_BATCH,
                bounds=bounds,
                graph=group.graph,
                scales=group.scales,
                cores_per_executor=cores_per_executor(session) or _cores(gateway),
                cluster=detect_cluster(session),
                size_limit=size_limit(session),
            ),
            target=target,
            reconcile_every_s=reconcile_every_s,
            sample_offsets_every_s=sample_offsets_every_s,
            probes={name: probe for name, probe in known.items() if probe is not None} | dict(probes or {}),
            group=group,
            state_waits=locality_wait(session),
            discover=Discovery(gateway, topic_probe, now_s) if operators else None,
            now_s=now_s,
        )


def _cores(gateway: Gateway) -> int:
    return max((fact.cores for fact in gateway.executors()), default=1)
