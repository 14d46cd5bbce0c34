"""An engine that works record by record, each of which is simulated: queues with several servers.

For streams of a few records a second, where it matters that they come and take as chance has it: the fluid engine knows
no waiting as long as there is capacity to spare. An operator's instances take records in the order of their arrival, as
long as there is a slot for them; service times are drawn from a gamma distribution. Within a second, records arrive at
random moments, so that counts drawn from a Poisson distribution make a Poisson process.

Rescales are seamless: an instance that has to go finishes its record. What an executor worked on when it was lost is
worked on again, first of all.
"""

from __future__ import annotations

import heapq
from collections import deque
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

import numpy as np

from headgate.core.sample import AgentEvent, ArrivalPoint, Batch, ExecutorSample, OperatorSample
from headgate.sim.arrivals import Cumulative
from headgate.sim.cluster import Cluster, Executor
from headgate.sim.engine import OperatorCounters
from headgate.sim.randomness import Chance, generator
from headgate.sim.scenario import OperatorScenario, Scenario

_DRAWN_AT_ONCE = 1024


@dataclass(slots=True, eq=False)
class _Service:
    """A record being worked on."""

    station: _Station
    executor: Executor
    began_s: float
    ends_s: float
    lost: bool = False


@dataclass(slots=True, eq=False)
class _Station:
    """One operator: those that wait, and how many are being worked on."""

    operator: OperatorScenario
    counters: OperatorCounters
    times_s: Iterator[float]
    downstream: list[_Station] = field(default_factory=list)
    waiting: int = 0
    running: int = 0
    arrived: int = 0
    due: float = 0.0
    """Records that upstreams have put out and that make up no whole one yet."""
    batch_id: int = 0
    points: list[ArrivalPoint] = field(default_factory=list)


class SingleRecords:
    """The engine of scenarios whose operators say how service times vary."""

    def __init__(
        self,
        scenario: Scenario,
        arrivals: Cumulative,
        cluster: Cluster,
        *,
        seed: int,
        events: list[AgentEvent],  # noqa: ARG002 - all engines are made alike
    ) -> None:
        self._scenario = scenario
        self._cluster = cluster
        self._now_s = 0.0
        graph = scenario.graph()
        known = {
            operator.name: _Station(
                operator=operator,
                counters=OperatorCounters(scenario, operator),
                times_s=_service_times_s(scenario, operator, seed=seed, number=number),
            )
            for number, operator in enumerate(scenario.operators)
        }
        self._stations = [known[node.name] for node in graph]
        for name, station in known.items():
            station.downstream = [known[other] for other in graph.downstream(name)]
        self._sources = [known[name] for name in graph.sources()]
        self._arrivals: deque[float] = deque(_moments_s(arrivals, seed=seed))
        self._services: list[tuple[float, int, _Service]] = []
        self._served = 0

    def advance(self, until_s: float) -> None:
        self._begin_services(self._now_s)
        while True:
            arrives_s = self._arrivals[0] if self._arrivals else np.inf
            ends_s = self._services[0][0] if self._services else np.inf
            at_s = min(arrives_s, ends_s)
            if at_s > until_s:
                break
            self._now_s = at_s
            if arrives_s <= ends_s:
                self._arrivals.popleft()
                for station in self._sources:
                    self._arrive(station, 1.0, at_s)
            else:
                self._end(heapq.heappop(self._services)[2], at_s)
            self._begin_services(at_s)
        self._now_s = until_s

    def _arrive(self, station: _Station, records: float, now_s: float) -> None:
        station.due += records * station.operator.share
        while station.due >= 1.0 - 1e-9:
            station.due -= 1.0
            station.waiting += 1
            station.points.append(ArrivalPoint(now_s, float(station.arrived)))
            station.arrived += 1
            station.points.append(ArrivalPoint(now_s, float(station.arrived)))

    def _begin_services(self, now_s: float) -> None:
        """Whoever has an instance free and a slot for it; in turn, so that none takes all slots."""
        active = self._cluster.active
        slots = sum(executor.cores for executor in active)
        taken = len(self._services)
        began = True
        while began and taken < slots:
            began = False
            for station in self._stations:
                if station.waiting and station.running < station.counters.tasks and taken < slots:
                    self._begin(station, active[self._served % len(active)], now_s)
                    taken, began = taken + 1, True

    def _begin(self, station: _Station, executor: Executor, now_s: float) -> None:
        station.waiting -= 1
        station.running += 1
        service = _Service(station, executor, now_s, now_s + next(station.times_s))
        self._served += 1
        heapq.heappush(self._services, (service.ends_s, self._served, service))

    def _end(self, service: _Service, now_s: float) -> None:
        station, counters = service.station, service.station.counters
        station.running -= 1
        if service.lost:
            station.waiting += 1
            return
        took_s = now_s - service.began_s
        service.executor.busy_s += took_s
        service.executor.records += 1
        service.executor.tasks_done += 1
        done = counters.done
        counters.batches.append(Batch(station.batch_id, now_s, now_s, done, done + 1.0, run_s=took_s))
        counters.done, counters.busy_s = done + 1.0, counters.busy_s + took_s
        station.batch_id += 1
        for reader in station.downstream:
            self._arrive(reader, station.operator.selectivity, now_s)

    def cluster_changed(
        self,
        now_s: float,
        *,
        joined: Sequence[Executor],  # noqa: ARG002
        lost: Sequence[Executor],
        left: bool = False,  # noqa: ARG002
    ) -> None:
        gone = set(map(id, lost))
        if not gone:
            return
        kept = []
        for ends_s, number, service in self._services:
            if id(service.executor) in gone:
                service.lost = True
                self._end(service, now_s)
            else:
                kept.append((ends_s, number, service))
        heapq.heapify(kept)
        self._services = kept

    def set_parallelism(self, parallelism: dict[str, int], now_s: float) -> None:  # noqa: ARG002
        for station in self._stations:
            station.counters.tasks = parallelism.get(station.operator.name, station.counters.tasks)

    def idle_at_s(self, now_s: float) -> float:
        return max([now_s, *(service.ends_s for _, _, service in self._services)])

    def operator_samples(self, now_s: float) -> tuple[OperatorSample, ...]:
        running_s: dict[int, float] = {}
        for _, _, service in self._services:
            key = id(service.station)
            running_s[key] = running_s.get(key, 0.0) + now_s - service.began_s
        samples = []
        for station in self._stations:
            points, station.points = (*station.points, ArrivalPoint(now_s, float(station.arrived))), []
            busy_s = station.counters.busy_s + running_s.get(id(station), 0.0)
            samples.append(station.counters.sample(points, busy_s=busy_s, back_pressure=None))
        return tuple(samples)

    def executor_samples(self, now_s: float) -> tuple[ExecutorSample, ...]:
        running: dict[str, tuple[float, float]] = {}
        for _, _, service in self._services:
            busy_s, records = running.get(service.executor.id, (0.0, 0.0))
            running[service.executor.id] = (busy_s + now_s - service.began_s, records)
        return self._cluster.samples(now_s, running=running)

    def drained(self, now_s: float) -> bool:  # noqa: ARG002
        return not self._arrivals and not self._services and not any(station.waiting for station in self._stations)


def _moments_s(arrivals: Cumulative, *, seed: int) -> list[float]:
    """When each record arrives: at random within its second."""
    counts = np.diff(np.floor(np.asarray(arrivals, dtype=np.float64) + 1e-6)).astype(np.int64)
    first = int(arrivals[0])
    seconds = np.repeat(np.arange(len(counts)), counts)
    moments = seconds + generator(seed, Chance.ARRIVAL, 0).random(len(seconds))
    return [*([0.0] * first), *np.sort(moments).tolist()]


def _service_times_s(scenario: Scenario, operator: OperatorScenario, *, seed: int, number: int) -> Iterator[float]:
    mean_s, scv = 1.0 / operator.capacity + scenario.task_overhead_s, operator.service_scv or 0.0
    source = generator(seed, Chance.SERVICE, number)
    while True:
        if scv == 0:
            yield mean_s
        else:
            yield from source.gamma(1 / scv, mean_s * scv, _DRAWN_AT_ONCE).tolist()
