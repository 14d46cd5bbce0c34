"""A run made by hand: an hour of a daily-looking load, one to six executors, and some mishaps."""

from __future__ import annotations

import math
from collections.abc import Callable

import pytest

from headgate.core.allocation import Allocation, Bounds
from headgate.core.decision import Decision, Outcome, Reason, Tick
from headgate.core.evaluation import Evaluation, ExecutorEvaluation, OperatorEvaluation
from headgate.core.graph import Graph, OperatorNode
from headgate.core.knowledge import AppDescription, Engine
from headgate.core.ports import JournalHeader
from headgate.core.sample import (
    AgentEvent,
    ArrivalPoint,
    Batch,
    EventKind,
    ExecutorSample,
    ExecutorState,
    OperatorSample,
    Sample,
)
from headgate.journal.memory import MemoryJournal

RunMaker = Callable[..., MemoryJournal]

CAPACITY = 300.0
JOIN_S = 8


@pytest.fixture(scope="session")
def make_run() -> RunMaker:
    return record_run


def evaluation(time_s: float, *, rate: float, executors: int) -> Evaluation:
    busy = min(1.0, rate / (executors * CAPACITY))
    return Evaluation(
        time_s=time_s,
        operators=(
            OperatorEvaluation(
                name="read",
                arrival_rate=rate,
                input_rate=min(rate, executors * CAPACITY),
                true_processing_rate=executors * CAPACITY,
                busy=busy,
            ),
        ),
        executors=tuple(ExecutorEvaluation(id=str(n), busy=busy) for n in range(executors)),
    )


def record_run(
    *,
    app: str = "orders",
    policy: str = "hpa:target=0.8",
    workload: str = "sine:period=1h",
    duration_s: int = 3600,
    target: float = 0.8,
    started_s: float = 0.0,
    reason: str = "mean busy 0.93 over target 0.8",
    further: tuple[Reason, ...] = (),
    mishaps: bool = True,
    period_s: int = 30,
) -> MemoryJournal:
    description = AppDescription(
        app=app,
        engine=Engine.MICRO_BATCH,
        bounds=Bounds(1, 6),
        graph=Graph.of(OperatorNode(name="read")),
        cluster="standalone",
    )
    journal = MemoryJournal()
    journal.open_run(
        JournalHeader(
            app=app,
            policy=policy,
            description=description,
            guards=("bounds",),
            started_s=started_s,
            extra={"workload": workload, "scenario": "default", "seed": 0},
        )
    )
    arrived = done = 0.0
    there, target_size, due_s = 1, 1, None
    batches_made = 0
    for second in range(duration_s + 1):
        now_s = started_s + second
        rate = 800 - 600 * math.cos(second / 3600 * 2 * math.pi) + 60 * math.sin(second * 1.7)
        arrived += rate if second else 0.0
        events: list[AgentEvent] = []
        if due_s is not None and second >= due_s:
            there, due_s = target_size, None
            events.append(AgentEvent(time_s=now_s, kind=EventKind.JOINED, message="executor joined", executor="7"))
        if mishaps and second == 1500:
            there -= 1
            due_s = second + 20
            events.append(
                AgentEvent(time_s=now_s, kind=EventKind.LOST, message="executor 4 was lost: exit 137", executor="4")
            )
        batches: list[Batch] = []
        if second and second % 2 == 0:
            end = min(arrived, done + there * CAPACITY * 2)
            batches.append(Batch(batches_made, now_s - 2, now_s, done, end, tasks=there))
            batches_made += 1
            done = end
        if second and second % period_s == 0:
            wanted = max(0, math.ceil(rate / CAPACITY / target))
            granted = min(6, max(1, wanted))
            index = second // period_s
            outcome = Outcome.APPLIED if granted != target_size else Outcome.UNCHANGED
            reasons = [Reason(by="hpa", code="scale" if wanted != target_size else "hold", message=reason), *further]
            if granted != wanted:
                reasons.append(Reason(by="bounds", code="clamped", message=f"{wanted} is outside 1..6"))
            not_ready = mishaps and index == 1
            journal.append_tick(
                Tick(
                    index=index,
                    time_s=now_s,
                    epoch=1,
                    outcome=Outcome.NOT_READY if not_ready else outcome,
                    evaluation=None if not_ready else evaluation(now_s, rate=rate, executors=there),
                    decision=Decision(
                        time_s=now_s,
                        current=Allocation(executors=target_size),
                        wanted=Allocation(executors=target_size if not_ready else wanted),
                        granted=Allocation(executors=target_size if not_ready else granted),
                        reasons=() if not_ready else tuple(reasons),
                    ),
                    observed=Allocation(executors=there),
                    problem="no batch has finished yet" if not_ready else None,
                )
            )
            if not not_ready and granted != target_size:
                due_s = second + (JOIN_S if granted > there else 2)
                target_size = granted
        journal.append_sample(
            Sample(
                time_s=now_s,
                operators=(
                    OperatorSample(
                        name="read",
                        arrivals=(ArrivalPoint(now_s, arrived),),
                        batches=tuple(batches),
                        done_records=done,
                        busy_s=done / CAPACITY,
                    ),
                ),
                executors=tuple(
                    ExecutorSample(str(n), f"node-{n}", 1, float(second), None, None, ExecutorState.ACTIVE)
                    for n in range(there)
                ),
                pending_executors=max(0, target_size - there),
                target_executors=target_size,
                events=tuple(events),
            )
        )
    return journal
