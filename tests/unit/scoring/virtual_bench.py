"""A micro-batch queue in virtual time whose capacity is known."""

from __future__ import annotations

import random
from collections.abc import Callable
from dataclasses import dataclass, field

from headgate.core.sample import ArrivalPoint, Batch
from headgate.scoring.backlogs import Drain
from headgate.scoring.holds import OperatorHold, Step, judge
from headgate.wiring.measurement import GoOn


@dataclass
class Operator:
    """Takes what is there, once every trigger or as soon as it is free, and works at a rate."""

    capacity: float
    name: str = "only"
    overhead_s: float = 0.1
    """What a batch costs without any record in it."""
    limit: float | None = None
    selectivity: float = 1.0
    arrived: float = 0.0
    done: float = 0.0
    free_s: float = 0.0
    until_s: float | None = None
    taken: float = 0.0
    began_s: float = 0.0
    ended: list[Batch] = field(default_factory=list)


@dataclass
class VirtualBench:
    """Operators in a row; what one finishes arrives at the next."""

    make: Callable[[int], list[Operator]]
    """The operators on so many executors."""
    trigger_s: float = 1.0
    noise: float = 0.0
    producer_limit: float = float("inf")
    hiccup_every: int = 0
    """Every so many batches, one takes two seconds more."""
    seed: int = 0
    now_s: float = 1000.0
    operators: list[Operator] = field(default_factory=list)
    calls: list[str] = field(default_factory=list)
    interrupt_after: int | None = None

    def __post_init__(self) -> None:
        self._random = random.Random(self.seed)
        self._batches = 0

    def resize(self, executors: int) -> None:
        self.calls.append(f"resize {executors}")
        self.operators = self.make(executors)
        for operator in self.operators:
            operator.free_s = self.now_s

    def drain(self, records: int) -> Drain:
        self.calls.append("drain")
        began_s = self.now_s
        self.operators[0].arrived += records
        self.settle()
        self.calls.pop()
        return Drain(records=records, seconds=self.now_s - began_s)

    def settle(self) -> None:
        self.calls.append("settle")
        deadline_s = self.now_s + 1000
        while any(operator.done < operator.arrived - 1e-6 for operator in self.operators):
            self._advance(0.0)
            assert self.now_s < deadline_s, "the queue does not drain"

    def hold(self, rate: float, hold_s: float, go_on: GoOn) -> Step:
        self.calls.append("hold")
        if self.interrupt_after is not None and self.calls.count("hold") > self.interrupt_after:
            raise KeyboardInterrupt
        sent = min(rate, self.producer_limit)
        started_s = self.now_s
        curves = {operator.name: [ArrivalPoint(self.now_s, operator.arrived)] for operator in self.operators}
        for operator in self.operators:
            operator.ended.clear()
        wanted_s: float | None = hold_s
        while wanted_s is not None:
            while self.now_s < started_s + wanted_s:
                self._advance(sent)
                for operator in self.operators:
                    curves[operator.name].append(ArrivalPoint(self.now_s, operator.arrived))
            holds = [
                OperatorHold(
                    name=operator.name,
                    arrivals=tuple(curves[operator.name]),
                    batches=tuple(operator.ended),
                    done_records=operator.done,
                )
                for operator in self.operators
            ]
            step = judge(
                holds,
                asked_rate=rate,
                achieved_rate=sent,
                started_s=started_s,
                ended_s=self.now_s,
                trigger_s=self.trigger_s,
            )
            wanted_s = go_on(step)
        return step

    def _advance(self, rate: float, step_s: float = 0.02) -> None:
        self.now_s += step_s
        self.operators[0].arrived += rate * step_s
        for operator, following in zip(self.operators, [*self.operators[1:], None], strict=True):
            if operator.until_s is not None and self.now_s >= operator.until_s:
                self._finish(operator, following)
            if operator.until_s is None and self.now_s >= operator.free_s and operator.arrived > operator.done:
                self._begin(operator)

    def _begin(self, operator: Operator) -> None:
        waiting = operator.arrived - operator.done
        operator.taken = min(waiting, operator.limit) if operator.limit is not None else waiting
        self._batches += 1
        hiccup_s = 2.0 if self.hiccup_every and self._batches % self.hiccup_every == 0 else 0.0
        luck = max(0.3, self._random.gauss(1.0, self.noise))
        operator.began_s = self.now_s
        operator.until_s = self.now_s + hiccup_s + luck * (operator.overhead_s + operator.taken / operator.capacity)

    def _finish(self, operator: Operator, following: Operator | None) -> None:
        first, operator.done = operator.done, operator.done + operator.taken
        operator.ended.append(
            Batch(len(operator.ended), operator.began_s, self.now_s, first_record=first, end_record=operator.done)
        )
        if following is not None:
            following.arrived += operator.taken * operator.selectivity
        operator.free_s = max(operator.began_s + self.trigger_s, self.now_s)
        operator.until_s = None
