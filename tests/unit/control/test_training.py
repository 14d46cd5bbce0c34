"""Policies that are trained beside the loop: at once on virtual time, in a process of its own on real time."""

from __future__ import annotations

import os
import time
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar

import pytest
from loop_bench import Bench, Counting

from headgate.control.replay import replay
from headgate.control.training import TrainingAtOnce, TrainingProcess
from headgate.core.decision import Proposal, Reason
from headgate.core.evaluation import Evaluation
from headgate.core.knowledge import Knowledge
from headgate.policies import Daedalus
from headgate.testing import evaluation, knowledge


@dataclass(frozen=True)
class Learning(Counting):
    """Asks for a training at its second tick and says what it got."""

    name: ClassVar[str] = "learning"
    looks_back_s: float = 100.0
    fails: bool = False

    def decide(self, evaluation: Evaluation, knowledge: Knowledge) -> Proposal:
        asked = knowledge.memory.get("asked", 0) + 1
        got = None if knowledge.delivered is None else dict(knowledge.delivered)
        return Proposal(
            allocation=knowledge.current,
            reasons=(Reason(by=self.name, code="got", message="what it got", inputs={"got": got}),),
            memory={"asked": asked},
            train=asked == 2,
        )

    def lesson(self, evaluation: Evaluation, knowledge: Knowledge) -> Any:
        return {"ticks": len(knowledge.history), "time_s": evaluation.time_s}

    def train(self, lesson: Any) -> Mapping[str, Any]:
        if self.fails:
            raise ZeroDivisionError("nothing\nto learn from")
        return dict(lesson)


@dataclass(frozen=True)
class Slow(Learning):
    def train(self, lesson: Any) -> Mapping[str, Any]:
        time.sleep(60)
        return {}


@dataclass(frozen=True)
class Crashing(Learning):
    def train(self, lesson: Any) -> Mapping[str, Any]:
        os._exit(3)


def got(bench: Bench) -> list[Any]:
    return [tick.decision.reasons[0].inputs["got"] for tick in bench.ticks]


def test_what_a_training_brings_is_there_at_the_next_tick_and_in_the_journal() -> None:
    bench = Bench(policy=Learning())
    bench.loop.run(until_s=45)
    assert got(bench) == [None, None, {"ticks": 1, "time_s": 20.0}, None]
    assert [tick.delivered for tick in bench.ticks] == got(bench)


def test_a_replay_delivers_what_was_recorded_and_another_policy_is_trained_on_the_way() -> None:
    bench = Bench(policy=Learning())
    bench.loop.run(until_s=45)
    assert all(tick.same for tick in replay(bench.journal, policy=Learning(), guards=bench.guards, recorded=True))
    plain = Bench()
    plain.loop.run(until_s=45)
    other = list(replay(plain.journal, policy=Learning(), guards=plain.guards))
    assert [tick.decision.reasons[0].inputs["got"] for tick in other] == got(bench)


def test_a_training_that_fails_is_delivered_as_a_problem() -> None:
    bench = Bench(policy=Learning(fails=True))
    bench.loop.run(until_s=35)
    assert got(bench)[2] == {"problem": "ZeroDivisionError: nothing to learn from"}


class TestProcess:
    """In a process of its own; what is trained must be importable there."""

    def delivered(self, training: TrainingProcess) -> Mapping[str, Any]:
        training.wait(60.0)
        found = training.take()
        assert found is not None
        assert training.take() is None
        return found

    def test_it_brings_what_the_same_training_brings_at_once(self) -> None:
        seen = evaluation(operators=[], busy=0.5)
        training, at_once = TrainingProcess(), TrainingAtOnce()
        for each in (training, at_once):
            each.submit(Daedalus(), seen, knowledge())
        # There is nothing to learn from, which is an answer, too.
        assert self.delivered(training) == at_once.take()

    def test_a_crash_is_survived(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setenv("PYTHONPATH", str(Path(__file__).parent), prepend=os.pathsep)
        training = TrainingProcess()
        training.submit(Crashing(), evaluation(), knowledge())
        assert "ended with code 3" in self.delivered(training)["problem"]

    def test_what_cannot_be_handed_over_is_a_problem_too(self) -> None:
        class Local(Learning):
            """No other process could find it."""

        training = TrainingProcess()
        training.submit(Local(), evaluation(), knowledge())
        assert "Local" in self.delivered(training)["problem"]

    def test_a_training_that_does_not_end_is_ended(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setenv("PYTHONPATH", str(Path(__file__).parent), prepend=os.pathsep)
        training = TrainingProcess(longest_s=3.0)
        training.submit(Slow(), evaluation(), knowledge())
        assert training.take() is None
        training.submit(Slow(), evaluation(), knowledge())
        assert self.delivered(training) == {"problem": "it took longer than 3 s"}
