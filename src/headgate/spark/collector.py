"""Measures: turns what the driver tells into one sample's operators and executors.

Polls the progress events that Spark keeps (a hundred by default, one a batch), because a Python
listener needs a second server in the driver and runs on Spark's own threads. Assumes that it is
asked before that many batches have passed.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass

from headgate.core.sample import ExecutorSample, ExecutorState, OperatorSample
from headgate.spark.facts import ExecutorFact, Gateway, QueryState, QueryView
from headgate.spark.operator_group import OperatorGroup
from headgate.spark.queries import ArrivalProbe, FinishedBatch, QueryReader
from headgate.spark.stages import StageLedger


@dataclass(frozen=True, slots=True, kw_only=True)
class Measurement:
    """One round of questions and its answers."""

    time_s: float
    operators: tuple[OperatorSample, ...]
    executors: tuple[ExecutorSample, ...]
    facts: tuple[ExecutorFact, ...]
    batches: tuple[FinishedBatch, ...]
    states: tuple[tuple[QueryView, QueryState], ...]


class Collector:
    """Counters of all queries and executors of one app, since the collector was made."""

    def __init__(
        self,
        gateway: Gateway,
        queries: Sequence[QueryView],
        *,
        now_s: Callable[[], float],
        probes: Mapping[str, ArrivalProbe] | None = None,
        probe_every_s: float = 1.0,
        group: OperatorGroup | None = None,
    ) -> None:
        self._gateway = gateway
        self._now_s = now_s
        self._group = group or OperatorGroup([query.name for query in queries])
        probes = probes or {}
        self._probe_every_s = probe_every_s
        self._awaited: set[str] = set()
        self.readers = [
            QueryReader(query, probe=probes.get(query.name), probe_every_s=probe_every_s) for query in queries
        ]
        self._ledger = StageLedger(gateway, [query.run_id for query in queries])
        self._ledger.update()
        self._busy_s: dict[str, float] = {}
        self._last_s = float("-inf")

    def join(self, query: QueryView, *, probe: ArrivalProbe | None) -> None:
        """Measure one more query, as soon as it has something to tell: the others are not kept waiting."""
        self.readers.append(QueryReader(query, probe=probe, probe_every_s=self._probe_every_s))
        self._awaited.add(query.run_id)
        self._ledger.watch(query.run_id)

    def leave(self, name: str) -> None:
        """Measure a query no longer."""
        self.readers = [reader for reader in self.readers if reader.query.name != name]

    def collect(self, leaving: Collection[str]) -> Measurement:
        """Raises ``NotReady`` as long as a query has neither finished a batch nor found nothing to do."""
        states = []
        for reader in self.readers:
            asked_s = self._now_s()
            state = reader.query.state()
            reader.read(state, asked_s)
            states.append((reader.query, state))
        self._ledger.update()
        facts = self._gateway.executors()
        registered = self._gateway.registered()
        facts = tuple(fact for fact in facts if fact.id in registered)
        active = self._gateway.active_stages() if any(fact.tasks_running for fact in facts) else ()
        now_s = max(self._now_s(), self._last_s + 1e-3)
        by_run, by_executor = self._ledger.running_s(active, now_s)
        self._awaited -= {reader.query.run_id for reader in self.readers if reader.knows_position}
        answers = [
            reader.operator(self._ledger, running_s=by_run.get(reader.query.run_id, 0.0))
            for reader in self.readers
            if reader.query.run_id not in self._awaited
        ]
        self._last_s = now_s
        return Measurement(
            time_s=now_s,
            operators=tuple(self._group.complete(operator, now_s) for operator, _ in answers),
            executors=tuple(
                self._executor(fact, by_executor.get(fact.id, 0.0), now_s=now_s, leaving=fact.id in leaving)
                for fact in facts
            ),
            facts=facts,
            batches=tuple(finished for _, batches in answers for finished in batches),
            states=tuple(states),
        )

    def _executor(self, fact: ExecutorFact, running_s: float, *, now_s: float, leaving: bool) -> ExecutorSample:
        # A task that ends between two questions is for a moment in neither answer.
        busy_s = max(self._busy_s.get(fact.id, 0.0), fact.busy_s + running_s)
        self._busy_s[fact.id] = busy_s
        return ExecutorSample(
            id=fact.id,
            node=fact.node,
            cores=fact.cores,
            age_s=max(0.0, now_s - fact.added_s),
            busy_s=busy_s,
            records=self._ledger.records[fact.id],
            state=ExecutorState.LEAVING if leaving else ExecutorState.ACTIVE,
            tasks_done=fact.tasks_done,
            tasks_failed=fact.tasks_failed,
        )
