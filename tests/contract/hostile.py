"""Hypothesis strategies of evaluations and knowledge that are valid and as unpleasant as can be."""

from __future__ import annotations

from hypothesis import strategies as st

from headgate.core.allocation import Allocation, Bounds
from headgate.core.decision import Decision, Levers, Outcome, Reason, Ruling, Tick
from headgate.core.evaluation import BatchEvaluation, Evaluation, ExecutorEvaluation, OperatorEvaluation, Spread
from headgate.core.graph import Graph, OperatorNode
from headgate.core.knowledge import AppDescription, Engine, Knowledge


def unknown_or(strategy: st.SearchStrategy[float]) -> st.SearchStrategy[float | None]:
    return st.none() | strategy


rates = st.sampled_from([0.0, 1e-300, 1.0, 1e6, 1e15]) | st.floats(0, 1e9)
shares = st.sampled_from([0.0, 0.5, 1.0, 1e6]) | st.floats(0, 2)
times = st.sampled_from([0.0, 1e12, 1e18]) | st.floats(0, 2e9)
durations = st.sampled_from([0.0, 1e9]) | st.floats(0, 1e5)
sizes = st.sampled_from([0, 1, 2, 1000]) | st.integers(0, 40)
names = st.sampled_from(["a", "b"])

spreads = st.builds(Spread, mean=durations, p50=durations, p95=durations, p99=durations, max=durations)
batches = st.builds(
    BatchEvaluation,
    count=st.integers(0, 100),
    duration_s=durations,
    records=rates,
    largest_records=rates,
    tasks=unknown_or(rates),
    run_s=unknown_or(durations),
    longest_task_s=unknown_or(durations),
    mean_task_s=unknown_or(durations),
    sink_s=unknown_or(durations),
    records_limit=unknown_or(rates),
)
operators = st.builds(
    OperatorEvaluation,
    name=names,
    scalable=st.booleans(),
    parallelism=st.none() | sizes,
    max_parallelism=st.none() | sizes,
    arrival_rate=unknown_or(rates),
    input_rate=unknown_or(rates),
    true_processing_rate=unknown_or(rates),
    upstream=st.sampled_from([(), ("a",), ("b",), ("a", "nobody")]),
    selectivity=unknown_or(rates),
    service_time_s=unknown_or(durations),
    arrival_scv=unknown_or(rates),
    service_scv=unknown_or(rates),
    batch_delay_s=unknown_or(durations),
    lag_records=unknown_or(rates),
    busy=unknown_or(shares),
    partitions=st.none() | sizes,
    latency_s=st.none() | spreads,
    batch=st.none() | batches,
)
executors = st.builds(
    ExecutorEvaluation,
    id=st.text(max_size=3),
    cores=st.integers(0, 64),
    busy=unknown_or(shares),
    age_s=unknown_or(durations),
    leaving=st.booleans(),
)
few_executors = st.lists(executors, max_size=6).map(tuple)
thousand_executors = executors.map(lambda one: (one,) * 1000)


def _evaluations(crowd: st.SearchStrategy[tuple[ExecutorEvaluation, ...]]) -> st.SearchStrategy[Evaluation]:
    return st.builds(
        Evaluation,
        time_s=times,
        operators=st.lists(operators, max_size=2, unique_by=lambda one: one.name).map(tuple),
        executors=crowd,
        pending_executors=sizes,
        age_s=unknown_or(durations),
    )


evaluations = _evaluations(few_executors | thousand_executors)
past_evaluations = _evaluations(few_executors)
allocations = st.builds(
    Allocation, executors=sizes, parallelism=st.dictionaries(names, st.sampled_from([0, 1, 4, 500]), max_size=2)
)
named_nodes = st.integers(0, 5).map(lambda n: Allocation(executors=n, nodes=tuple(f"node-{i}" for i in range(n))))
json_values = st.recursive(
    st.none() | st.booleans() | st.integers(-9, 9) | st.floats(-9, 9) | st.text(max_size=3),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=3), inner, max_size=3),
    max_leaves=5,
)
memories = st.dictionaries(
    st.sampled_from(["time_s", "executors", "recommendations", "changes", "other"]), json_values, max_size=5
)
reasons = st.builds(
    Reason,
    by=st.sampled_from(["revert", "somebody"]),
    code=st.sampled_from(["scale-down-reverted", "other"]),
    message=st.just("because"),
    inputs=st.dictionaries(st.sampled_from(["after", "before", "arrival_rate"]), json_values, max_size=3),
)
decisions = st.builds(
    Decision,
    time_s=times,
    current=allocations,
    wanted=allocations,
    granted=allocations,
    reasons=st.lists(reasons, max_size=2).map(tuple),
)
ticks = st.builds(
    Tick,
    index=st.integers(0, 9),
    time_s=times,
    epoch=st.just(1),
    outcome=st.sampled_from(Outcome),
    evaluation=st.none() | past_evaluations,
    decision=decisions,
)
descriptions = st.builds(
    AppDescription,
    app=st.just("hostile"),
    engine=st.sampled_from(Engine),
    bounds=st.tuples(st.integers(0, 5), st.integers(5, 50)).map(lambda pair: Bounds(*pair)),
    graph=st.sampled_from([Graph(()), Graph.of(OperatorNode(name="a", max_parallelism=3))]),
    cores_per_executor=st.integers(1, 4),
    size_limit=st.none() | sizes,
)
knowledges = st.builds(
    Knowledge,
    description=descriptions,
    current=allocations | named_nodes,
    memory=memories,
    history=st.lists(ticks, max_size=3).map(tuple),
    levers=st.builds(Levers, paused=st.booleans(), pinned=st.none() | sizes),
    started_s=times,
)
rulings = st.builds(Ruling, allocation=allocations | named_nodes, reasons=st.lists(reasons, max_size=1).map(tuple))
