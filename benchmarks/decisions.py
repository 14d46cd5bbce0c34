"""One decision of each policy, guards included, with 100 executors and ten minutes of history."""

from __future__ import annotations

from benchmarks.timing import line, times_s
from headgate.control.deliberation import deliberate
from headgate.core.allocation import Allocation, Bounds
from headgate.core.decision import Decision, Outcome, Tick
from headgate.core.evaluation import Evaluation, ExecutorEvaluation, OperatorEvaluation, Spread
from headgate.core.knowledge import AppDescription, Engine, Knowledge
from headgate.guards import GUARDS
from headgate.policies import known_policies
from headgate.wiring.specs import make_guards

EXECUTORS = 100


def evaluation(time_s: float) -> Evaluation:
    return Evaluation(
        time_s=time_s,
        operators=(
            OperatorEvaluation(
                name="op",
                arrival_rate=90_000.0,
                input_rate=88_000.0,
                true_processing_rate=110_000.0,
                lag_records=20_000.0,
                busy=0.85,
                latency_s=Spread(mean=2.0, p50=1.8, p95=4.0, p99=5.0, max=7.0),
            ),
        ),
        executors=tuple(
            ExecutorEvaluation(id=str(n), node=f"node-{n}", busy=0.5 + 0.005 * n, input_rate=900.0, age_s=600.0)
            for n in range(EXECUTORS)
        ),
        age_s=1.0,
    )


def run() -> None:
    current = Allocation(executors=EXECUTORS)
    history = tuple(
        Tick(
            index=n,
            time_s=15.0 * n,
            epoch=1,
            outcome=Outcome.UNCHANGED,
            evaluation=evaluation(15.0 * n),
            decision=Decision(time_s=15.0 * n, current=current, wanted=current, granted=current),
            observed=current,
        )
        for n in range(40)
    )
    description = AppDescription(app="bench", engine=Engine.MICRO_BATCH, bounds=Bounds(1, 200))
    guards = make_guards(sorted(GUARDS))
    now = evaluation(600.0)
    for name, cls in sorted(known_policies().items()):
        policy = cls()
        knowledge = Knowledge(description=description, current=current, history=history)

        def decide(policy=policy, knowledge=knowledge) -> None:  # type: ignore[no-untyped-def]
            deliberate(evaluation=now, knowledge=knowledge, policy=policy, guards=guards)

        line(f"{name}, all guards, {EXECUTORS} executors", times_s(decide, repeats=2000), goal="goal p99 ≤ 10 ms")
