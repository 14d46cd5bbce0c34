"""Daedalus: the fewest executors that carry the load to come and recover in time.

Source: Pfister, Scheinert, Geldenhuys and Kao, "Daedalus: Self-Adaptive Horizontal Autoscaling for Resource Efficiency
of Distributed Stream Processing Systems", ICPE 2024. Every minute it learns what each executor can carry
(``models.capacity``), foresees the workload of the next 15 minutes (``policies.foresight``), predicts how long each
size would take to recover (``models.recovery``), and picks one by Algorithm 1 (``scale_out``). After a rescale it
watches until the stream is normal again (``models.anomaly``) and corrects its downtimes by what it saw.

What the paper leaves open, and what is done here:

- CPU is the executors' busy share. Its points are means of 10 s or of whole micro-batches instead of a moving average
  of a minute, so that micro-batches give points at all.
- With micro-batches, more is carried the longer batches may get, and records wait as long: ``longest_batch_s``.
- Throughput is that of the sources, as in the paper; an executor's part of it is its part of the work, because on Spark
  who reads a record need not be who works on it.
- The first model is trained after ``first_training_s``; until then the straight line stands in for it. (The authors'
  code retrains from a WAPE of 0.10 on; the text says poor, and calls 0.25 inaccurate: both are ``poor_wape`` here.)
- Between trainings the authors' library goes on fitting all coefficients. Here level and drift follow what comes.
- A downtime is what the engine says it was. An engine that does not stop has the slow batch that a new executor
  causes instead, and none at all when it shrinks. Without either, it follows from the recovery that was seen. What
  piles up until a new executor has joined is backlog, too.
- Beside ``arima``, the workload can be foreseen by its last season, by exponential smoothing, or by the line alone.
- Lag that is there already is not in the paper's backlog; ``counts_lag`` adds it.
- The size with which the loop of Algorithm 1 begins and ends is the bounds'; ``executors`` of the bounds guard.
- Algorithm 1 compares capacity, records a second, with consumer lag, records: as printed, one second of lag. With
  micro-batches there always are some seconds of it; what the batch that runs and the next one take does not count.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from headgate.core.allocation import Dimension
from headgate.core.decision import Proposal, Reason
from headgate.core.evaluation import Evaluation, OperatorEvaluation
from headgate.core.knowledge import Knowledge
from headgate.core.options import check_options, option
from headgate.core.sample import EventKind
from headgate.models.anomaly import RecoveryWatch
from headgate.models.capacity import LONGEST_BATCH_S, Basis, CapacityEstimate
from headgate.models.forecasting import Forecast
from headgate.models.forecasting.forecast import Series
from headgate.models.recovery import joining_recovery_s, recovery_s, replayed
from headgate.policies.daedalus.algorithm import Choice, Outlook, scale_out
from headgate.policies.daedalus.memory import UNSET, Memory
from headgate.policies.foresight import Foreseeing, added, finite, workload_of

CapacityOf = Callable[[int], CapacityEstimate | None]

_BLOCK_S = 10
"""Workload and throughput are compared in means of so many seconds: micro-batches finish in lumps."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Daedalus(Foreseeing):
    """The fewest executors that carry what comes and recover in time.

    >>> Daedalus(recovery_target_s=300).period_s
    60.0
    """

    name: ClassVar[str] = "daedalus"
    scales: ClassVar[frozenset[Dimension]] = frozenset({Dimension.EXECUTORS})
    needs: ClassVar[tuple[str, ...]] = ("operators.arrivals_per_s", "executors.course")
    uses: ClassVar[tuple[str, ...]] = ("operators.finished_per_s",)

    recovery_target_s: float = option(600.0, "time in which a rescale or a failure must be caught up with", above=0)
    checkpoint_interval_s: float = option(10.0, "records of so long are worked off again after a stop", least=0)
    downtime_out_s: float = option(30.0, "first guess of the time without work when growing", least=0)
    downtime_in_s: float = option(15.0, "the same when shrinking", least=0)
    long_lived_s: float = option(600.0, "time after a rescale in which only need brings about another", least=0)
    grace_s: float = option(180.0, "time after a rescale in which there is no other", least=0)
    ignored_s: float = option(120.0, "age below which an executor says nothing about its capacity", least=0)
    longest_batch_s: float = option(LONGEST_BATCH_S, "what is carried in longer micro-batches does not count", above=0)
    counts_lag: bool = option(False, "count lag that is there already into the backlog")

    def __post_init__(self) -> None:
        check_options(f"policy '{self.name}'", self)

    def decide(self, evaluation: Evaluation, knowledge: Knowledge) -> Proposal:
        memory = self._recall(knowledge)
        workload = workload_of(evaluation)
        present = len(evaluation.working_executors)
        if not workload.size or not present:
            missing = self.needs[0] if not workload.size else self.needs[1]
            memory.size = knowledge.current.executors
            return self.held(knowledge, memory.state, "missing-metrics", f"{missing} is unknown")
        reasons = [*self._notice(evaluation, knowledge, memory, workload)]
        of_sources = _share_of_sources(evaluation)
        for executor in evaluation.working_executors:
            course = [point._replace(rate=point.rate * of_sources) for point in executor.course]
            memory.capacity.learn(executor.id, course, age_s=executor.age_s)
        memory.capacity.retain({executor.id for executor in evaluation.working_executors})
        memory.capacity.observe(present, evaluation.time_s)
        capacity_of = memory.capacity.sizes(current=present, time_s=evaluation.time_s)
        estimate = capacity_of(present)
        forecast, how = self.foresight.foresee(evaluation, knowledge, memory.foresight, workload)
        reasons += how
        train = self.foresight.wants_training(knowledge, memory.foresight)
        if estimate is None:
            why = f"{self.needs[1]} says nothing yet"
            return self.held(knowledge, memory.state, "capacity-unknown", why, reasons, train=train)
        reasons.append(self._carried(estimate))
        outlook = self._outlook(evaluation, knowledge, memory, workload, forecast, capacity_of)
        if outlook.since_rescale_s is not None and outlook.since_rescale_s < self.grace_s:
            why = f"the last rescale was {outlook.since_rescale_s:.0f} s ago"
            return self.held(knowledge, memory.state, "grace-period", why, reasons, train=train)
        choice = scale_out(
            outlook, target_s=self.recovery_target_s, long_lived_s=self.long_lived_s, next_loop_s=self.period_s
        )
        reasons.append(self._chosen(choice, outlook, capacity_of(choice.executors)))
        predicted_s = finite(outlook.recovery_s(choice.executors))
        memory.watched = [outlook.current, choice.executors, UNSET if predicted_s is None else predicted_s]
        return Proposal(
            allocation=knowledge.current.with_executors(choice.executors),
            reasons=tuple(reasons),
            memory=memory.state,
            train=train,
        )

    def _recall(self, knowledge: Knowledge) -> Memory:
        # An engine that does not stop has no downtime when it shrinks.
        in_s = 0.0 if knowledge.description.seamless else self.downtime_in_s
        return Memory.restored(
            knowledge.memory,
            ignored_s=self.ignored_s,
            longest_batch_s=self.longest_batch_s,
            out_s=self.downtime_out_s,
            in_s=in_s,
        )

    def _notice(self, evaluation: Evaluation, knowledge: Knowledge, memory: Memory, workload: Series) -> list[Reason]:
        """What came of the last rescale: when it was, how long it stopped the stream, when that was caught up with."""
        current, now_s = knowledge.current.executors, evaluation.time_s
        before, memory.size = memory.size, current
        if before is not None and before != current:
            memory.rescaled_s = memory.time_s
            memory.watch = RecoveryWatch(began_s=memory.time_s)
            memory.watched = [before, current, memory.watched[2] if len(memory.watched) == 3 else UNSET]
        memory.time_s = now_s
        changed = memory.watched[:2] if memory.watch is not None and len(memory.watched) == 3 else []
        told = False
        for event in evaluation.events:
            downtime_s = _downtime_s(event.kind, event.figures)
            if downtime_s is not None and changed:
                memory.downtimes.learn(int(changed[0]), int(changed[1]), downtime_s)
                told = True
            if event.kind is EventKind.JOINED and "join_s" in event.figures:
                memory.joined(event.figures["join_s"])
        return self._watch(evaluation, memory, workload, told=told)

    def _watch(self, evaluation: Evaluation, memory: Memory, workload: Series, *, told: bool) -> list[Reason]:
        """Learn what is normal, or, after a rescale, wait until it is so again."""
        finished = added([operator.finished_per_s for operator in evaluation.sources])
        length = min(workload.size, finished.size) // _BLOCK_S * _BLOCK_S
        if not length:
            return []
        joined_s = _joined_s(evaluation)
        apart = (workload[-length:] - finished[-length:]).reshape(-1, _BLOCK_S).mean(axis=1)
        for block, difference in enumerate(apart.tolist()):
            # Its beginning: a stream that is normal during a block was so when that began.
            time_s = evaluation.time_s - length + block * _BLOCK_S
            if memory.watch is None:
                memory.anomaly.learn(difference)
                continue
            if time_s < memory.watch.began_s:
                continue
            unusual = time_s < joined_s or memory.anomaly.is_anomalous(difference)
            measured_s = memory.watch.look(time_s, anomalous=unusual)
            if measured_s is not None:
                memory.watch = None
                return [self._recovered(memory, measured_s, workload, told=told)]
        return []

    def _recovered(self, memory: Memory, measured_s: float, workload: Series, *, told: bool) -> Reason:
        before, after, predicted_s = memory.watched if len(memory.watched) == 3 else (0.0, 0.0, UNSET)
        inputs = {"predicted_s": None if predicted_s < 0 else predicted_s, "measured_s": finite(measured_s)}
        if not np.isfinite(measured_s):
            return self.reason("recovery-not-seen", "the stream did not come back to normal", inputs)
        capacity = memory.capacity.at(int(after), current=max(1, int(after)), time_s=memory.time_s)
        if not told and capacity is not None and capacity.rate > 0:
            # The downtime that, with this workload and capacity, leads to the recovery that was seen.
            average = float(workload.mean())
            spare = max(0.0, capacity.rate - average)
            downtime_s = (measured_s * spare - average * self.checkpoint_interval_s) / capacity.rate
            memory.downtimes.learn(int(before), int(after), max(0.0, min(measured_s, downtime_s)))
        message = f"the stream was normal again {measured_s:.0f} s after the rescale"
        if predicted_s >= 0:
            message += f"; {predicted_s:.0f} s were predicted"
        return self.reason("recovered", message, inputs)

    def _outlook(
        self,
        evaluation: Evaluation,
        knowledge: Knowledge,
        memory: Memory,
        workload: Series,
        forecast: Forecast,
        capacity_of: CapacityOf,
    ) -> Outlook:
        lag = sum(_waiting(operator) for operator in evaluation.sources)
        again = replayed(workload.tolist(), self.checkpoint_interval_s)

        bounds, current = knowledge.bounds, knowledge.current.executors

        def capacity(size: int) -> float:
            known = capacity_of(size)
            return 0.0 if known is None else known.rate

        def recovery(size: int, course: Series = forecast.mean) -> float:
            if knowledge.description.seamless and size > current and memory.joining_s >= 0:
                return joining_recovery_s(
                    joining_s=memory.joining_s,
                    present_capacity=capacity(current),
                    capacity=capacity(size),
                    forecast=course,
                    downtime_s=memory.downtimes.expect_s(current, size),
                    lag_records=lag if self.counts_lag else 0.0,
                )
            return recovery_s(
                capacity=capacity(size),
                forecast=course,
                downtime_s=memory.downtimes.expect_s(current, size),
                replayed_records=0.0 if knowledge.description.seamless else again,
                lag_records=lag if self.counts_lag else 0.0,
            )

        rescaled_s = memory.rescaled_s
        return Outlook(
            current=current,
            least=bounds.least,
            most=bounds.most,
            average=float(workload.mean()),
            forecast=forecast,
            capacity=capacity,
            recovery_s=recovery,
            recovery_range_s=lambda size: (recovery(size, forecast.lower), recovery(size, forecast.upper)),
            downtime_s=lambda size: memory.downtimes.expect_s(current, size),
            seamless=knowledge.description.seamless,
            lag_records=lag,
            since_rescale_s=None if rescaled_s < 0 else max(0.0, evaluation.time_s - rescaled_s),
        )

    def _carried(self, estimate: CapacityEstimate) -> Reason:
        """What the present executors can do, and how sure that is."""
        carry = f"{estimate.executors} executors carry {estimate.rate:.0f} records/s"
        if estimate.low is not None and estimate.high is not None:
            sure = f"in 19 of 20 cases {estimate.low:.0f} to {estimate.high:.0f}"
        else:
            sure = {
                Basis.OBSERVED: "as when there were so many last",
                Basis.AVERAGE: "if they are like those before",
            }.get(estimate.basis, "by what they do just now, because there is no line yet")
        inputs = {
            "executors": estimate.executors,
            "rate": estimate.rate,
            "low": estimate.low,
            "high": estimate.high,
            "confidence": estimate.confidence,
            "points": estimate.points,
            "from": str(estimate.basis),
        }
        return self.reason("capacity", f"{carry}, {sure}", inputs)

    def _chosen(self, choice: Choice, outlook: Outlook, chosen: CapacityEstimate | None) -> Reason:
        size, current = choice.executors, outlook.current
        optimistic_s, pessimistic_s = outlook.recovery_range_s(size)
        inputs = {
            "current": current,
            "chosen": size,
            "workload": outlook.average,
            "capacity": None if chosen is None else chosen.rate,
            "capacity_from": None if chosen is None else str(chosen.basis),
            "capacity_confidence": None if chosen is None else chosen.confidence,
            "downtime_s": outlook.downtime_s(size),
            "recovery_s": finite(outlook.recovery_s(size)),
            "recovery_optimistic_s": finite(optimistic_s),
            "recovery_pessimistic_s": finite(pessimistic_s),
            "recovery_target_s": self.recovery_target_s,
            "lag_records": outlook.lag_records,
            "passed_over": {str(smaller): why for smaller, why in choice.passed_over.items()},
        }
        load = f"{outlook.average:.0f} records/s"
        match choice.branch:
            case "recently-rescaled":
                message = f"{current} executors were chosen lately and still carry {load}"
            case "fits-already":
                message = f"{current} executors are the fewest that carry {load} and what is foreseen"
            case "fits":
                message = (
                    f"{size} executors are the fewest that carry {load} and what is foreseen, and recover in time: "
                    f"{_price(outlook, size)}"
                )
            case _:
                message = f"no size up to {outlook.most} carries {load} and what is foreseen, and recovers in time"
        return self.reason(choice.branch, message, inputs)


def _price(outlook: Outlook, size: int) -> str:
    """What going to a size costs, in words."""
    within, lost_s = f"within {outlook.recovery_s(size):.0f} s", outlook.downtime_s(size)
    if lost_s < 0.5:
        return within
    return f"{within}, of which {lost_s:.0f} s are {'a slower batch' if outlook.seamless else 'a stop'}"


def _share_of_sources(evaluation: Evaluation) -> float:
    """How many of the records that operators take in come from outside.

    The workload is that of the sources, so capacities must be, too; an executor works for all operators.
    """
    taken = [operator.input_rate or 0.0 for operator in evaluation.operators]
    outside = sum(operator.input_rate or 0.0 for operator in evaluation.sources)
    return outside / sum(taken) if outside > 0 else 1.0


def _joined_s(evaluation: Evaluation) -> float:
    """When all executors that were asked for were there; a stream that waits for some has not recovered."""
    if evaluation.pending_executors:
        return math.inf
    return max((event.time_s for event in evaluation.events if event.kind is EventKind.JOINED), default=-math.inf)


def _waiting(operator: OperatorEvaluation) -> float:
    """Records behind; with micro-batches, those of the batch that runs and of the next one are not."""
    in_time = 0.0 if operator.batch is None else 2 * operator.batch.records
    return max(0.0, (operator.lag_records or 0.0) - in_time)


def _downtime_s(kind: EventKind, figures: Mapping[str, float]) -> float | None:
    if kind is EventKind.RESTARTED:
        return figures.get("downtime_s")
    return figures.get("extra_s") if kind is EventKind.SLOW_BATCH else None
