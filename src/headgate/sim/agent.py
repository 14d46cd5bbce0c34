"""The simulator behind the agent's port: the same loop that scales real Spark scales this.

The engine is advanced lazily, to the clock's present, whenever somebody looks or orders.
"""

from __future__ import annotations

import math

from headgate.core.allocation import Allocation, Bounds, Dimension
from headgate.core.knowledge import AppDescription
from headgate.core.knowledge import Engine as EngineKind
from headgate.core.ports import Clock, Order
from headgate.core.sample import AgentEvent, Sample
from headgate.errors import StaleEpoch, UserMistake, nearest
from headgate.sim.arrivals import ArrivalCurve, Cumulative
from headgate.sim.cluster import Cluster
from headgate.sim.continuous import ContinuousEngine
from headgate.sim.engine import Engine
from headgate.sim.microbatch import SingleQuery
from headgate.sim.queries import QueryGraph
from headgate.sim.scenario import Scenario
from headgate.sim.single_records import SingleRecords

_FIRST_LOAD_S = 60
_FIRST_BUSY = 0.8


class SimulatedApp:
    """An app in virtual time.

    ``arrivals`` are the records that have arrived in all by second 0, 1, 2, …; a first value above 0
    is a backlog that is there from the start.
    """

    def __init__(
        self,
        scenario: Scenario,
        arrivals: Cumulative,
        *,
        bounds: Bounds,
        clock: Clock,
        seed: int = 0,
        executors: int | None = None,
        app: str = "simulated",
    ) -> None:
        if seed < 0:
            raise UserMistake(f"seed={seed} is negative; give 0 or more")
        self._scenario = scenario
        self._bounds = bounds
        self._clock = clock
        self._app = app
        self._events: list[AgentEvent] = []
        self._newest_epoch = 0
        self._obeyed: set[str] = set()
        self._ends_at_s = float(len(arrivals) - 1)
        start = bounds.clamp(_first_size(scenario, arrivals)) if executors is None else executors
        self._cluster = Cluster(scenario, executors=start, seed=seed, events=self._events)
        self._engine: Engine
        self._continuous: ContinuousEngine | None = None
        if scenario.single_records:
            self._engine = SingleRecords(scenario, arrivals, self._cluster, seed=seed, events=self._events)
        elif scenario.engine == "continuous":
            self._continuous = ContinuousEngine(scenario, arrivals, self._cluster, seed=seed, events=self._events)
            self._engine = self._continuous
        elif len(scenario.operators) == 1:
            self._engine = SingleQuery(scenario, arrivals, self._cluster, seed=seed, events=self._events)
        else:
            self._engine = QueryGraph(scenario, arrivals, self._cluster, seed=seed, events=self._events)

    def describe(self) -> AppDescription:
        scenario = self._scenario
        scales = {Dimension.EXECUTORS}
        if any(operator.scalable for operator in scenario.operators):
            scales.add(Dimension.PARALLELISM)
        if scenario.nodes:
            scales.add(Dimension.NODES)
        return AppDescription(
            app=self._app,
            engine=EngineKind.CONTINUOUS if scenario.engine == "continuous" else EngineKind.MICRO_BATCH,
            bounds=self._bounds,
            graph=scenario.graph(),
            cores_per_executor=scenario.cores,
            scales=frozenset(scales),
            seamless=scenario.rescale == "seamless",
            cluster=f"simulated ({scenario.name})",
            executors=self._cluster.target,
            newest_epoch=self._newest_epoch,
            size_limit=scenario.limit,
        )

    def collect(self) -> Sample:
        now_s = self._clock.now_s()
        self._advance(now_s)
        events = tuple(self._events)
        self._events.clear()
        return Sample(
            time_s=now_s,
            operators=self._engine.operator_samples(now_s),
            executors=self._engine.executor_samples(now_s),
            nodes=self._cluster.node_samples() if self._scenario.nodes else (),
            pending_executors=self._cluster.pending,
            target_executors=self._cluster.target,
            events=events,
        )

    def apply(self, order: Order) -> None:
        if order.epoch < self._newest_epoch:
            raise StaleEpoch(offered=order.epoch, newest=self._newest_epoch)
        allocation = order.allocation
        self._cluster.check(allocation)
        parallelism = self._checked_parallelism(allocation)
        self._newest_epoch = order.epoch
        if order.request_id in self._obeyed:
            return
        now_s = self._clock.now_s()
        self._advance(now_s)
        cluster, engine = self._cluster, self._engine
        changes_size = allocation.executors != cluster.target or (
            bool(allocation.nodes) and set(allocation.nodes) != set(cluster.target_nodes)
        )
        if changes_size or self._restarts_for(parallelism):
            if order.checkpoint and self._continuous is not None:
                self._continuous.save()
            self._resize(allocation, parallelism, now_s)
        engine.set_parallelism(parallelism, now_s)
        self._obeyed.add(order.request_id)

    def kill_executor(self, executor_id: str) -> None:
        """Let an executor die, for tests and experiments."""
        now_s = self._clock.now_s()
        self._advance(now_s)
        joins_s = self._fail_restart(now_s)
        lost = self._cluster.lose(executor_id, now_s, joins_s=joins_s)
        self._engine.cluster_changed(now_s, joined=(), lost=(lost,))

    @property
    def ends_at_s(self) -> float:
        """When the last record arrives."""
        return self._ends_at_s

    @property
    def drained(self) -> bool:
        """Whether everything that will ever arrive is finished."""
        now_s = self._clock.now_s()
        self._advance(now_s)
        return self._engine.drained(now_s)

    def _advance(self, now_s: float) -> None:
        cluster, engine = self._cluster, self._engine
        while cluster.next_event_s <= now_s:
            at_s = cluster.next_event_s
            engine.advance(at_s)
            fails = any(executor.fails_s <= at_s for executor in cluster.executors)
            joined, lost = cluster.settle(at_s, replacement_joins_s=self._fail_restart(at_s) if fails else None)
            engine.cluster_changed(at_s, joined=joined, lost=lost)
        engine.advance(now_s)

    def _fail_restart(self, now_s: float) -> float | None:
        """An engine that restores by restarting stops when an executor is lost; when it goes on."""
        if self._continuous is None or self._scenario.rescale != "restart":
            return None
        failure_s = self._scenario.downtime_failure_s
        return self._continuous.stop(now_s, self._scenario.downtime_out_s if failure_s is None else failure_s)

    def _restarts_for(self, parallelism: dict[str, int]) -> bool:
        restarts = self._scenario.rescale == "restart"
        return restarts and self._continuous is not None and self._continuous.changes(parallelism)

    def _resize(self, allocation: Allocation, parallelism: dict[str, int], now_s: float) -> None:
        cluster, scenario, engine = self._cluster, self._scenario, self._engine
        before, active = cluster.room_for(cluster.target), len(cluster.active)
        joins_s, idle_at_s, stop_s = None, engine.idle_at_s(now_s), scenario.stop_s
        moves = cluster.room_for(allocation.executors) != before or bool(allocation.nodes)
        if (
            self._continuous is not None
            and scenario.rescale == "restart"
            and (moves or self._restarts_for(parallelism))
        ):
            outwards = cluster.room_for(allocation.executors) >= before
            joins_s = self._continuous.stop(now_s, scenario.downtime_out_s if outwards else scenario.downtime_in_s)
            idle_at_s, stop_s = now_s, 0.0
        cluster.aim(allocation, now_s, idle_at_s=idle_at_s, joins_s=joins_s, stop_s=stop_s)
        engine.cluster_changed(now_s, joined=(), lost=(), left=len(cluster.active) < active)

    def _checked_parallelism(self, allocation: Allocation) -> dict[str, int]:
        known = {operator.name: operator for operator in self._scenario.operators}
        for name, wanted in allocation.parallelism.items():
            if name not in known:
                raise UserMistake(f"the allocation names operator '{name}', which there is not{nearest(name, known)}")
            most = known[name].max_parallelism
            if not known[name].scalable:
                raise UserMistake(f"the parallelism of operator '{name}' is fixed; leave it out of the allocation")
            if wanted < 1 or (most is not None and wanted > most):
                raise UserMistake(f"operator '{name}' cannot have {wanted} instances; give 1 to {most or 'any number'}")
        return dict(allocation.parallelism)


def _first_size(scenario: Scenario, arrivals: Cumulative) -> int:
    """What the scenario says, or what carries the first minute's load with a fifth of it in reserve."""
    if scenario.executors is not None:
        return scenario.executors
    curve = ArrivalCurve(arrivals[: _FIRST_LOAD_S + 1])
    rate = (curve.total - curve.values[0]) / max(1, curve.last)
    return max(1, math.ceil(rate * scenario.record_s / scenario.cores / _FIRST_BUSY))
