"""One decision of each policy, guards included, on small and large apps with six hours of history.

Training is in the background; what a tick waits for is that its lesson is handed over.
"""

from __future__ import annotations

import math
import pickle

from benchmarks.timing import line, times_s
from headgate.control.deliberation import deliberate
from headgate.core.allocation import Allocation, Bounds
from headgate.core.decision import Decision, Outcome, Tick
from headgate.core.evaluation import CoursePoint, Evaluation, ExecutorEvaluation, OperatorEvaluation, Spread
from headgate.core.knowledge import AppDescription, Engine, Knowledge
from headgate.core.ports import Learner
from headgate.guards import GUARDS
from headgate.models.forecasting.arima import Arima
from headgate.policies import known_policies
from headgate.wiring.specs import make_guards

EXECUTORS = (12, 100)
PERIOD_S = 60.0
TICKS = 360
TRAINED = {"model": Arima(ar=(0.3, 0.2, 0.4), ma=(-1.8, 0.9), differences=2, variance=6.0).state}
"""What a training delivers, for the policies that are trained."""


def evaluation(index: int, executors: int) -> Evaluation:
    rate = executors * (900.0 + 100.0 * math.sin(index / 60))
    course = tuple(CoursePoint(0.8 + 0.02 * step, 900.0 + 20.0 * step, 1.0) for step in range(6))
    return Evaluation(
        time_s=PERIOD_S * index,
        operators=(
            OperatorEvaluation(
                name="op",
                arrival_rate=rate,
                input_rate=0.98 * rate,
                true_processing_rate=1.2 * rate,
                lag_records=20_000.0,
                busy=0.85,
                arrivals_per_s=tuple(rate + second for second in range(60)),
                finished_per_s=tuple(rate - second for second in range(60)),
                latency_s=Spread(mean=2.0, p50=1.8, p95=4.0, p99=5.0, max=7.0),
            ),
        ),
        executors=tuple(
            ExecutorEvaluation(
                id=str(number),
                node=f"node-{number}",
                busy=0.5 + 0.4 * number / executors,
                input_rate=900.0,
                age_s=600.0,
                course=course,
            )
            for number in range(executors)
        ),
        age_s=1.0,
    )


def run() -> None:
    for executors in EXECUTORS:
        _size(executors)


def _size(executors: int) -> None:
    current = Allocation(executors=executors)
    history = tuple(
        Tick(
            index=index,
            time_s=PERIOD_S * index,
            epoch=1,
            outcome=Outcome.UNCHANGED,
            evaluation=evaluation(index, executors),
            decision=Decision(time_s=PERIOD_S * index, current=current, wanted=current, granted=current),
            observed=current,
        )
        for index in range(TICKS)
    )
    description = AppDescription(app="bench", engine=Engine.MICRO_BATCH, bounds=Bounds(1, 200))
    guards = make_guards(sorted(GUARDS))
    now = evaluation(TICKS, executors)
    for name, cls in sorted(known_policies().items()):
        policy = cls()
        first = Knowledge(description=description, current=current, history=history, delivered=TRAINED)
        learned = deliberate(evaluation=history[-1].evaluation, knowledge=first, policy=policy, guards=guards)
        knowledge = Knowledge(description=description, current=current, history=history, memory=learned.memory)

        def decide(policy=policy, knowledge=knowledge) -> None:  # type: ignore[no-untyped-def]
            deliberate(evaluation=now, knowledge=knowledge, policy=policy, guards=guards)

        line(f"{name}, all guards, {executors} executors", times_s(decide, repeats=500), goal="goal p99 ≤ 10 ms")
        if isinstance(policy, Learner) and policy.looks_back_s:

            def hand_over(policy: Learner = policy, knowledge: Knowledge = knowledge) -> None:
                pickle.dumps((policy, policy.lesson(now, knowledge)))

            line(f"{name}, a training handed over, {executors} executors", times_s(hand_over, repeats=100))
