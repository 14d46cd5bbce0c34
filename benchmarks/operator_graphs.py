"""One decision of each policy that sizes operators, on a graph of a hundred operators with a thousand paths."""

from __future__ import annotations

from benchmarks.timing import line, times_s
from headgate.control.deliberation import deliberate
from headgate.core.allocation import Allocation, Bounds, Dimension
from headgate.core.evaluation import Evaluation, OperatorEvaluation
from headgate.core.graph import Graph, OperatorNode
from headgate.core.knowledge import AppDescription, Engine, Knowledge
from headgate.policies import known_policies
from headgate.policies.queueing_path import paths_through
from headgate.wiring.specs import make_guards

LAYERS = (10, 10, 10)
"""Every operator of a layer reads all of the layer before it: a thousand ways through three of them."""
TAIL = 70
"""Operators in a row behind them."""


def run() -> None:
    edges = _edges()
    paths = paths_through(edges)
    now = Evaluation(time_s=1000.0, operators=tuple(_operator(name, upstream) for name, upstream in edges))
    current = Allocation(executors=2 * len(edges), parallelism={name: 2 for name, _ in edges})
    graph = Graph(
        tuple(OperatorNode(name=name, upstream=upstream, scalable=True, max_parallelism=15) for name, upstream in edges)
    )
    description = AppDescription(
        app="bench",
        engine=Engine.MICRO_BATCH,
        bounds=Bounds(1, 1500),
        graph=graph,
        scales=frozenset({Dimension.EXECUTORS, Dimension.PARALLELISM}),
    )
    knowledge, guards = Knowledge(description=description, current=current), make_guards(())
    for name, cls in sorted(known_policies().items()):
        if Dimension.PARALLELISM not in cls.scales:
            continue
        policy = cls()

        def decide(policy=policy) -> None:  # type: ignore[no-untyped-def]
            deliberate(evaluation=now, knowledge=knowledge, policy=policy, guards=guards)

        what = f"{name}, {len(edges)} operators, {len(paths)} paths"
        line(what, times_s(decide, repeats=300), goal="goal p99 ≤ 10 ms")


def _edges() -> tuple[tuple[str, tuple[str, ...]], ...]:
    edges: list[tuple[str, tuple[str, ...]]] = []
    before: tuple[str, ...] = ()
    for layer, width in enumerate(LAYERS):
        names = tuple(f"{layer}-{number}" for number in range(width))
        edges += [(name, before) for name in names]
        before = names
    for number in range(TAIL):
        name = f"tail-{number}"
        edges.append((name, before))
        before = (name,)
    return tuple(edges)


def _operator(name: str, upstream: tuple[str, ...]) -> OperatorEvaluation:
    return OperatorEvaluation(
        name=name,
        upstream=upstream,
        scalable=True,
        parallelism=2,
        max_parallelism=15,
        arrival_rate=30.0,
        input_rate=30.0,
        true_processing_rate=44.0,
        service_time_s=1 / 22,
        selectivity=1.0,
        lag_records=100.0,
        arrival_scv=1.2,
        service_scv=0.4,
    )
