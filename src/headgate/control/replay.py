"""A recorded run, decided again: by the same policy to prove it repeatable, by another to see what it would want.

Every tick gets the evaluation, the size and the levers of the record; what the policy remembers is
its own. So the same policy must come to the same decisions, and another one shows what it would
have wanted at each of those moments. (How the stream would have fared under it is the simulator's
question, because another size would have changed the evaluations.)
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from headgate.control.deliberation import deliberate, looked_back_s
from headgate.control.memory import LoopMemory
from headgate.control.training import TrainingAtOnce
from headgate.core.decision import Decision, Tick
from headgate.core.ports import Guard, JournalReader, Learner, Policy


@dataclass(frozen=True, slots=True, kw_only=True)
class ReplayedTick:
    recorded: Tick
    decision: Decision

    @property
    def same(self) -> bool:
        return self.decision == self.recorded.decision


def replay(
    reader: JournalReader, *, policy: Policy, guards: Sequence[Guard], recorded: bool = False
) -> Iterator[ReplayedTick]:
    """Decide every recorded tick again, in order.

    ``recorded`` says that this is the policy of the record, which gets what its trainings delivered when they did;
    another one is trained on the way.
    """
    header = reader.header()
    looks_back_s = looked_back_s(policy, guards)
    memory = LoopMemory(description=header.description, looks_back_s=looks_back_s, started_s=header.started_s)
    training = TrainingAtOnce()
    own: Mapping[str, Any] = {}
    for tick in reader.ticks():
        memory.levers = tick.levers
        memory.started_s = tick.run_started_s
        memory.delivered = tick.delivered if recorded else training.take()
        knowledge = memory.knowledge(tick.decision.current, now_s=tick.time_s, memory=own)
        deliberation = deliberate(
            evaluation=tick.evaluation,
            knowledge=knowledge,
            policy=policy,
            guards=guards,
            problem=tick.problem,
        )
        own = deliberation.memory
        if deliberation.train and not recorded and tick.evaluation is not None and isinstance(policy, Learner):
            training.submit(policy, tick.evaluation, knowledge)
        memory.remember(tick)
        yield ReplayedTick(recorded=tick, decision=deliberation.decision)
