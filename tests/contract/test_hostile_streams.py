"""Whatever a stream does to its samples, every policy goes on deciding and says why.

Not single evaluations, as in ``test_every_policy``, but courses of minutes: what was learned in one is still there in
the next. Executors vanish, traffic ends or jumps by fifty, the clock goes backwards, figures are missing or all alike.
"""

from __future__ import annotations

import dataclasses
import json

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from headgate.control.deliberation import deliberate
from headgate.control.evaluator import Evaluator, fields_for
from headgate.core.allocation import Allocation, Bounds
from headgate.core.decision import Outcome, Tick
from headgate.core.knowledge import AppDescription, Engine, Knowledge
from headgate.core.ports import Learner
from headgate.core.sample import ArrivalPoint, Batch, ExecutorSample, OperatorSample, Sample
from headgate.errors import NotReady
from headgate.policies import POLICIES
from headgate.wiring.specs import make_guards

STEP_S = 10.0
MINUTES = st.lists(
    st.sampled_from(["calm", "silent", "fifty-fold", "vanished", "backwards", "no-cpu", "all-equal", "nothing-done"]),
    min_size=3,
    max_size=14,
)
CALM = settings(max_examples=25, suppress_health_check=list(HealthCheck))


class Stream:
    """Cumulative counters of an app, minute by minute."""

    def __init__(self) -> None:
        self.time_s = 1000.0
        self.arrived = self.done = 0.0
        self.busy_s: dict[str, float] = {}
        self.records: dict[str, float] = {}
        self.number = 0
        self.calls = 0

    def minute(self, kind: str, executors: int) -> list[Sample]:
        if kind == "backwards":
            self.time_s -= 300.0
        return [self._sample(kind, executors) for _ in range(6)]

    def _sample(self, kind: str, executors: int) -> Sample:
        self.calls += 1
        self.time_s += STEP_S
        rate = {"silent": 0.0, "fifty-fold": 125_000.0}.get(kind, 2500.0)
        if kind not in ("all-equal", "fifty-fold", "silent"):
            rate += 40.0 * (self.calls % 5)
        before, self.arrived = self.arrived, self.arrived + STEP_S * rate
        first, self.done = self.done, self.done if kind == "nothing-done" else self.arrived
        present = 0 if kind == "vanished" else executors
        shown = []
        for index in range(present):
            name = str(index)
            share = 0.0 if kind in ("silent", "nothing-done") else min(1.0, rate / (1000.0 * executors))
            self.busy_s[name] = self.busy_s.get(name, 0.0) + STEP_S * share
            self.records[name] = self.records.get(name, 0.0) + (self.done - first) / executors
            known = kind != "no-cpu"
            shown.append(
                ExecutorSample(
                    name, "n", 1, 1e5, self.busy_s[name] if known else None, self.records[name] if known else None
                )
            )
        self.number += 1
        batch = Batch(self.number, self.time_s - 5.0, self.time_s, first, self.done)
        return Sample(
            time_s=self.time_s,
            operators=(
                OperatorSample(
                    name="app",
                    arrivals=(ArrivalPoint(self.time_s - STEP_S, before), ArrivalPoint(self.time_s, self.arrived)),
                    batches=(batch,) if self.done > first else (),
                    done_records=self.done,
                    busy_s=sum(self.busy_s.values()) if kind != "no-cpu" else None,
                ),
            ),
            executors=tuple(shown),
            target_executors=executors,
        )


@pytest.mark.parametrize("name", sorted(POLICIES))
@given(kinds=MINUTES, seamless=st.booleans())
@CALM
def test_every_minute_has_a_decision_with_its_reason(name: str, kinds: list[str], seamless: bool) -> None:
    policy, bounds = POLICIES[name](), Bounds(1, 12)
    engine = Engine.MICRO_BATCH if seamless else Engine.CONTINUOUS
    description = AppDescription(app="hostile", engine=engine, bounds=bounds, seamless=seamless)
    evaluator = Evaluator(keep_s=120.0, engine=engine)
    guards = make_guards(())
    stream, current = Stream(), Allocation(executors=3)
    memory, history, delivered = {}, (), None
    for index, kind in enumerate(["calm", *kinds, "calm"]):
        for sample in stream.minute(kind, current.executors):
            evaluator.learn(sample)
        try:
            evaluation = evaluator.evaluate(
                now_s=stream.time_s, window_s=policy.window_s, fields=fields_for(policy), events_since_s=0.0
            )
        except NotReady:
            continue
        knowledge = Knowledge(
            description=description, current=current, memory=memory, history=history, delivered=delivered
        )
        found = deliberate(evaluation=evaluation, knowledge=knowledge, policy=policy, guards=guards)
        assert deliberate(evaluation=evaluation, knowledge=knowledge, policy=policy, guards=guards) == found
        assert found.decision.reasons
        assert all(reason.code and reason.message for reason in found.decision.reasons)
        assert found.decision.granted.executors in bounds
        assert json.loads(json.dumps(found.memory, allow_nan=False)) == found.memory
        delivered = {"problem": "it crashed"} if found.train and isinstance(policy, Learner) else None
        tick = Tick(
            index=index,
            time_s=stream.time_s,
            epoch=1,
            outcome=Outcome.APPLIED,
            evaluation=evaluation,
            decision=found.decision,
            memory=found.memory,
        )
        memory, history, current = found.memory, (*history, dataclasses.replace(tick)), found.decision.granted
