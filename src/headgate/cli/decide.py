"""``headgate decide``: decisions from recorded evaluations, with no stream in sight."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator
from pathlib import Path

import click

from headgate.cli.output import Output, everywhere
from headgate.cli.params import BOUNDS
from headgate.codec import from_plain, to_plain
from headgate.control.deliberation import deliberate, looked_back_s
from headgate.control.memory import LoopMemory
from headgate.control.training import TrainingAtOnce
from headgate.core.allocation import Allocation, Bounds, Dimension
from headgate.core.decision import Decision, Outcome, Tick
from headgate.core.evaluation import Evaluation
from headgate.core.graph import Graph, OperatorNode
from headgate.core.knowledge import AppDescription, Engine
from headgate.core.ports import Learner
from headgate.errors import UserMistake
from headgate.report.decisions import decision_lines
from headgate.wiring.specs import make_guards, make_policy


@click.command(epilog="Example: headgate decide --from evaluations.jsonl --policy hpa:target=0.7 --all")
@click.option("--from", "source", required=True, help="JSON document or JSON lines; - for stdin.")
@click.option("--policy", "-p", required=True, help="As name:option=value,…; see `headgate policies`.")
@click.option("--executors", "-e", "bounds", type=BOUNDS, default="1..1000", show_default=True)
@click.option("--guard", "-g", "guards", multiple=True, help="A guard, as cooldown:down_s=300; repeatable.")
@click.option("--current", type=click.IntRange(min=0), help="Present size [executors in the evaluation].")
@click.option("--all", "show_all", is_flag=True, help="Every decision, not only the last.")
@everywhere
def decide(
    *,
    source: str,
    policy: str,
    bounds: Bounds,
    guards: tuple[str, ...],
    current: int | None,
    show_all: bool,
    output: Output,
) -> None:
    """Decide offline from recorded evaluations, fed in order."""
    made_policy, made_guards = make_policy(policy), make_guards(guards)
    looks_back_s = looked_back_s(made_policy, made_guards)
    training = TrainingAtOnce()
    decisions: list[Decision] = []
    memory: LoopMemory | None = None
    for evaluation in read_evaluations(source):
        if memory is None:
            memory = LoopMemory(
                description=_describe(evaluation, bounds), looks_back_s=looks_back_s, started_s=evaluation.time_s
            )
        seen = evaluation.allocation
        memory.delivered = training.take()
        size = current if current is not None else seen.executors + evaluation.pending_executors
        knowledge = memory.knowledge(Allocation(executors=size, parallelism=seen.parallelism), now_s=evaluation.time_s)
        deliberation = deliberate(
            evaluation=evaluation,
            knowledge=knowledge,
            policy=made_policy,
            guards=made_guards,
        )
        decision = deliberation.decision
        if deliberation.train and isinstance(made_policy, Learner):
            training.submit(made_policy, evaluation, knowledge)
        decisions.append(decision)
        memory.remember(
            Tick(
                index=memory.ticks,
                time_s=evaluation.time_s,
                epoch=0,
                outcome=Outcome.APPLIED if decision.changes else Outcome.UNCHANGED,
                evaluation=evaluation,
                decision=decision,
                observed=seen,
                memory=deliberation.memory,
                delivered=knowledge.delivered,
            )
        )
    if not decisions:
        raise UserMistake(f"{source} holds no evaluation; give at least one (`headgate schema evaluation`)")
    shown = decisions if show_all else decisions[-1:]
    if output.as_json:
        plain = [to_plain(decision) for decision in shown]
        output.document(plain if show_all else plain[0])
    for decision in shown:
        output.show(decision_lines(decision))


def _describe(evaluation: Evaluation, bounds: Bounds) -> AppDescription:
    names = {operator.name for operator in evaluation.operators}
    graph = Graph(
        tuple(
            OperatorNode(
                name=operator.name,
                upstream=tuple(name for name in operator.upstream if name in names),
                scalable=operator.scalable,
                max_parallelism=operator.max_parallelism,
            )
            for operator in evaluation.operators
        )
    )
    return AppDescription(
        app="offline", engine=Engine.MICRO_BATCH, bounds=bounds, graph=graph, scales=frozenset(Dimension)
    )


def read_evaluations(source: str) -> Iterator[Evaluation]:
    """One document, a list of them, or one per line."""
    try:
        text = sys.stdin.read() if source == "-" else Path(source).read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        reason = error.strerror if isinstance(error, OSError) else "it is not UTF-8 text"
        raise UserMistake(f"--from {source} cannot be read: {reason}; check the path") from None
    yield from parse_evaluations(text, where=source)


def parse_evaluations(text: str, *, where: str) -> Iterator[Evaluation]:
    try:
        whole = json.loads(text)
    except (ValueError, RecursionError):
        whole = None
    if whole is not None:
        documents = whole if isinstance(whole, list) else [whole]
        for number, document in enumerate(documents, start=1):
            place = f"{where}, evaluation {number}" if isinstance(whole, list) else where
            yield from_plain(Evaluation, document, where=place)
        return
    for number, line in enumerate(text.splitlines(), start=1):
        if not line.strip():
            continue
        try:
            document = json.loads(line)
        except (ValueError, RecursionError):
            raise UserMistake(
                f"{where}, line {number} is not JSON; give one document, or one evaluation per line"
            ) from None
        yield from_plain(Evaluation, document, where=f"{where}, line {number}")
