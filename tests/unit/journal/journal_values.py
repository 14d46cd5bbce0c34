"""Small values for the tests of journals."""

from __future__ import annotations

from headgate.core.allocation import Allocation, Bounds
from headgate.core.decision import Decision, Outcome, Tick
from headgate.core.knowledge import AppDescription, Engine
from headgate.core.ports import JournalHeader
from headgate.core.sample import ExecutorSample, OperatorSample, Sample


def header(app: str = "orders", *, started_s: float = 0.0) -> JournalHeader:
    description = AppDescription(app=app, engine=Engine.MICRO_BATCH, bounds=Bounds(1, 12))
    return JournalHeader(app=app, policy="static:executors=3", description=description, started_s=started_s)


def sample(time_s: float, *, executors: int = 1) -> Sample:
    return Sample(
        time_s=time_s,
        operators=(OperatorSample(name="parse", done_records=time_s * 1000),),
        executors=tuple(
            ExecutorSample(str(number), f"node-{number}", 1, time_s, time_s * 0.7 + number, time_s * 37.5)
            for number in range(executors)
        ),
    )


def tick(index: int, time_s: float, *, executors: int = 3) -> Tick:
    size = Allocation(executors=executors)
    decision = Decision(time_s=time_s, current=size, wanted=size.with_executors(executors + 1), granted=size)
    return Tick(index=index, time_s=time_s, epoch=2, outcome=Outcome.APPLIED, evaluation=None, decision=decision)
