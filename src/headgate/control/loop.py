"""The loop itself: when to sample, when to decide, what to do when something does not answer.

One thread turns it, so ticks cannot overlap. Times are multiples of interval and period counted
from the start, so that a slow turn delays nothing after it; turns that were missed are left out.
"""

from __future__ import annotations

import logging
import threading
import uuid
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from headgate.control.deliberation import deliberate, looked_back_s
from headgate.control.evaluator import Evaluator, fields_for
from headgate.control.memory import LoopMemory
from headgate.core.allocation import Allocation
from headgate.core.decision import Decision, Levers, Outcome, Tick
from headgate.core.evaluation import Evaluation
from headgate.core.knowledge import AppDescription
from headgate.core.ports import Agent, Clock, Guard, Journal, JournalHeader, Learner, Order, Policy, Training
from headgate.core.status import Status
from headgate.errors import HeadgateError, NotReady, Permanent, StaleEpoch, StreamEnded, Temporary, UserMistake

log = logging.getLogger("headgate")

_LIVE_WINDOW_S = 10.0
_LONGEST_BACK_OFF_S = 10.0


class Loop:
    """Turns agent, policy, guards and journal into a stream that sizes itself."""

    def __init__(
        self,
        *,
        agent: Agent,
        policy: Policy,
        policy_spec: str,
        journal: Journal,
        clock: Clock,
        training: Training,
        guards: Sequence[Guard] = (),
        guard_specs: Sequence[str] = (),
        sampling_interval_s: float = 1.0,
        dry_run: bool = False,
        extra: Mapping[str, Any] | None = None,
        on_tick: Callable[[Tick], None] | None = None,
        epoch: int | None = None,
    ) -> None:
        """``epoch`` is what it was elected with, where several controllers stand by for each other."""
        self._elected = epoch
        self._agent = agent
        self._policy = policy
        self._policy_spec = policy_spec
        self._guards = tuple(guards)
        self._guard_specs = tuple(guard_specs)
        self._journal = journal
        self._clock = clock
        self._training = training
        self._interval_s = min(sampling_interval_s, policy.period_s)
        self._dry_run = dry_run
        self._extra = dict(extra or {})
        self._on_tick = on_tick
        self._stopping = False
        self._wake = threading.Event()
        self._lock = threading.Lock()
        self._description: AppDescription | None = None
        self._memory: LoopMemory | None = None
        self._evaluator: Evaluator | None = None
        self._epoch = 0
        self._started_s = 0.0
        self._next_tick_s: float | None = None
        self._last_tick_s: float | None = None
        self._ordered = False
        self._decide_now = False
        self._problem: str | None = None
        self._ended = False

    def run(self, *, until_s: float | None = None) -> None:
        """Turn until stopped, until the stream ends, until a permanent error, or until a time."""
        try:
            self._start()
            self._turn(until_s)
            if self._stopping:
                # What happened since the last sample belongs to the record, too.
                self._collect()
        except StreamEnded as end:
            self._say(str(end))
        except Permanent as error:
            self._say(f"the controller stops: {error}")
            raise
        finally:
            self._ended = True

    def stop(self) -> None:
        """Leave the stream at its present size and end after the tick in flight."""
        self._stopping = True
        self._wake.set()

    def _start(self) -> None:
        description = self._patiently(self._agent.describe)
        missing = self._policy.scales - description.scales
        if missing:
            raise UserMistake(
                f"policy {self._policy.name} scales {', '.join(sorted(missing))}, which app '{description.app}' does "
                f"not offer; it offers {', '.join(sorted(description.scales))}"
            )
        self._started_s = self._clock.now_s()
        looks_back_s = looked_back_s(self._policy, self._guards)
        memory = LoopMemory(description=description, looks_back_s=looks_back_s, started_s=self._started_s)
        last = self._journal.last_tick()
        if last is not None:
            recorded = self._journal.header()
            if recorded.app != description.app:
                raise UserMistake(
                    f"the journal is of app '{recorded.app}', and this is app '{description.app}'; "
                    "give every app a journal of its own"
                )
            memory.recall(last, self._journal, same_policy=recorded.policy == self._policy_spec)
        newest = max(description.newest_epoch, last.epoch if last is not None else 0)
        self._epoch = newest + 1 if self._elected is None else self._elected
        self._journal.open_run(
            JournalHeader(
                app=description.app,
                policy=self._policy_spec,
                description=description,
                guards=self._guard_specs,
                sampling_interval_s=self._interval_s,
                dry_run=self._dry_run,
                started_s=self._started_s,
                extra=self._extra,
            )
        )
        self._evaluator = Evaluator(
            keep_s=max(self._policy.window_s, self._policy.period_s, _LIVE_WINDOW_S) + self._interval_s,
            engine=description.engine,
        )
        with self._lock:
            self._description, self._memory = description, memory
        if last is not None and not self._dry_run:
            resumed = memory.current.with_executors(description.bounds.clamp(memory.current.executors))
            memory.current = resumed
            self._say(f"resuming at {resumed.executors} executors, the size in the journal")
            self._patiently(lambda: self._send(resumed))
        elif self._elected is not None and not self._dry_run and description.executors is not None:
            # Nothing changes by this, but from now on whoever led before is refused.
            self._patiently(lambda: self._send(memory.current))

    def _turn(self, until_s: float | None) -> None:
        start_s = self._started_s
        next_sample_s = start_s
        self._next_tick_s = start_s + self._policy.period_s
        failures = 0
        while not self._stopping:
            due_s = min(next_sample_s, self._next_tick_s)
            if until_s is not None and due_s > until_s:
                return
            self._clock.wait_until(due_s, self._wake)
            if self._stopping:
                return
            if self._wake.is_set():
                self._wake.clear()
            now_s = self._clock.now_s()
            if now_s < due_s and not self._decide_now:
                continue
            collected = self._collect()
            failures = 0 if collected else failures + 1
            back_off_s = min(self._interval_s * 2.0 ** min(failures, 10), _LONGEST_BACK_OFF_S) if failures else 0.0
            next_sample_s = _next_slot(start_s, self._interval_s, now_s + max(0.0, back_off_s - self._interval_s))
            if now_s >= self._next_tick_s or self._decide_now:
                if now_s >= self._next_tick_s:
                    self._next_tick_s = _next_slot(start_s, self._policy.period_s, now_s)
                self._decide_now = False
                self._tick(now_s, fresh=collected)

    def _collect(self) -> bool:
        assert self._evaluator is not None
        try:
            sample = self._agent.collect()
        except (NotReady, Temporary) as error:
            self._complain(str(error))
            return False
        with self._lock:
            self._evaluator.learn(sample)
            if not self._ordered and self._memory is not None:
                self._memory.found(sample)
        for event in sample.events:
            log.info("%s", event.message)
        if self._write(lambda: self._journal.append_sample(sample)) and self._problem is not None:
            log.info("working again after: %s", self._problem)
            self._problem = None
        return True

    def _tick(self, now_s: float, *, fresh: bool) -> None:
        assert self._memory is not None
        assert self._evaluator is not None
        memory = self._memory
        evaluation: Evaluation | None = None
        problem: str | None = None
        if fresh:
            try:
                evaluation = self._evaluator.evaluate(
                    now_s=now_s,
                    window_s=self._policy.window_s,
                    events_since_s=self._last_tick_s or self._started_s,
                    fields=fields_for(self._policy),
                )
            except NotReady as error:
                problem = str(error)
        else:
            problem = self._problem or "nothing could be collected"
        self._last_tick_s = now_s
        observed = evaluation.allocation if evaluation is not None else None
        with self._lock:
            # Nothing is sent in a dry run, so what is there is the only size to start from.
            current = observed if self._dry_run and observed is not None else memory.current
            memory.delivered = self._training.take()
            knowledge = memory.knowledge(current, now_s=now_s)
        deliberation = deliberate(
            evaluation=evaluation,
            knowledge=knowledge,
            policy=self._policy,
            guards=self._guards,
            problem=problem,
        )
        decision = deliberation.decision
        if deliberation.train and evaluation is not None and isinstance(self._policy, Learner):
            self._training.submit(self._policy, evaluation, knowledge)
        outcome, problem, stale = self._act(
            decision, ready=evaluation is not None, problem=problem, checkpoint=deliberation.checkpoint
        )
        tick = Tick(
            index=memory.ticks,
            time_s=now_s,
            epoch=self._epoch,
            outcome=outcome,
            evaluation=evaluation,
            decision=decision,
            observed=observed,
            memory=deliberation.memory,
            delivered=knowledge.delivered,
            levers=knowledge.levers,
            problem=problem,
            took_s=max(0.0, self._clock.now_s() - now_s),
            run_started_s=self._started_s,
        )
        with self._lock:
            if outcome is Outcome.APPLIED:
                memory.current = decision.granted
            memory.remember(tick)
        self._write(lambda: self._journal.append_tick(tick))
        if self._on_tick is not None:
            self._on_tick(tick)
        if stale is not None:
            raise stale

    def _act(
        self, decision: Decision, *, ready: bool, problem: str | None, checkpoint: bool
    ) -> tuple[Outcome, str | None, StaleEpoch | None]:
        if not decision.changes:
            return (Outcome.UNCHANGED if ready else Outcome.NOT_READY), problem, None
        if self._dry_run:
            return Outcome.DRY_RUN, problem, None
        try:
            self._send(decision.granted, checkpoint=checkpoint)
        except StaleEpoch as stale:
            return Outcome.REFUSED, str(stale), stale
        except HeadgateError as error:
            self._complain(str(error))
            return Outcome.FAILED, str(error), None
        return Outcome.APPLIED, problem, None

    def _send(self, allocation: Allocation, *, checkpoint: bool = False) -> None:
        self._agent.apply(
            Order(allocation=allocation, epoch=self._epoch, request_id=uuid.uuid4().hex, checkpoint=checkpoint)
        )
        self._ordered = True

    def _patiently(self, call: Callable[[], Any]) -> Any:
        """Try until it works or the loop is stopped: at the start there is nothing else to do."""
        wait_s = 0.5
        while True:
            try:
                return call()
            except (NotReady, Temporary) as error:
                self._complain(str(error))
                if self._stopping:
                    raise StreamEnded("stopped before the app answered") from error
                self._clock.wait_until(self._clock.now_s() + wait_s, self._wake)
                wait_s = min(2 * wait_s, _LONGEST_BACK_OFF_S)

    def _write(self, write: Callable[[], None]) -> bool:
        """A journal that cannot be written must not stop the stream from being cared for."""
        try:
            write()
        except Temporary as error:
            self._complain(str(error))
            return False
        return True

    def _complain(self, problem: str) -> None:
        if problem != self._problem:
            log.warning("%s", problem)
        self._problem = problem

    def _say(self, message: str) -> None:
        log.info("%s", message)

    def status(self) -> Status:
        memory, description, evaluator = self._memory, self._description, self._evaluator
        if memory is None or description is None or evaluator is None:
            raise NotReady("the controller has not reached the app yet; ask again in a moment")
        now_s = self._clock.now_s()
        with self._lock:
            try:
                now = evaluator.evaluate(now_s=now_s, window_s=_LIVE_WINDOW_S, events_since_s=now_s - _LIVE_WINDOW_S)
            except NotReady:
                now = None
            newest = evaluator.newest
            return Status(
                app=description.app,
                policy=self._policy_spec,
                time_s=now_s,
                started_s=self._started_s,
                epoch=self._epoch,
                bounds=description.bounds,
                dry_run=self._dry_run,
                running=not self._ended,
                levers=memory.levers,
                target=memory.current,
                observed=now.allocation if now is not None else None,
                pending_executors=newest.pending_executors if newest is not None else 0,
                now=now,
                last_tick=memory.last_tick,
                next_tick_s=self._next_tick_s,
                rescalings=memory.rescalings,
                problem=self._problem,
            )

    def pause(self) -> None:
        self._pull(lambda levers: Levers(paused=True, pinned=levers.pinned))

    def resume(self) -> None:
        self._pull(lambda levers: Levers(paused=False, pinned=levers.pinned))

    def pin(self, executors: int) -> None:
        if self._description is None:
            raise NotReady("the controller has not reached the app yet; ask again in a moment")
        bounds = self._description.bounds
        if executors not in bounds:
            raise UserMistake(
                f"pin {executors} is outside the bounds of app '{self._description.app}'; "
                f"give a number from {bounds.least} to {bounds.most}"
            )
        self._pull(lambda levers: Levers(paused=levers.paused, pinned=executors))

    def unpin(self) -> None:
        self._pull(lambda levers: Levers(paused=levers.paused, pinned=None))

    def _pull(self, change: Callable[[Levers], Levers]) -> None:
        if self._memory is None:
            raise NotReady("the controller has not reached the app yet; ask again in a moment")
        if self._ended:
            raise UserMistake("the controller has ended; start it again before pulling its levers")
        with self._lock:
            self._memory.levers = change(self._memory.levers)
        self._decide_now = True
        self._wake.set()


def _next_slot(start_s: float, step_s: float, after_s: float) -> float:
    """The first multiple of the step, counted from the start, that lies after a moment."""
    turns = int((after_s - start_s) / step_s + 1e-9) + 1
    return start_s + turns * step_s
