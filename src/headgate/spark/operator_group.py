"""The operators among an app's queries: how they are connected, what they add to samples, how orders reach them."""

from __future__ import annotations

import logging
from collections.abc import Mapping, Sequence
from dataclasses import replace

from headgate.core.allocation import Dimension
from headgate.core.graph import Graph, OperatorNode
from headgate.core.sample import OperatorSample
from headgate.errors import HeadgateError, UserMistake, nearest
from headgate.spark.facts import OperatorControl
from headgate.spark.queries import ArrivalProbe

log = logging.getLogger(__name__)


class OperatorGroup:
    """All queries of an app by name, those that are operators with their controls.

    ``reads`` are the topics that queries are seen to read which are no operators. ``outputs`` are probes of the topics
    that operators write to, by operator. What they count is what stands in the topic: a message that a repeated task
    wrote again is there twice, and downstream it arrives twice. A topic that several operators write to tells of none
    of them how much. Operators may join and leave while the app runs.
    """

    def __init__(
        self,
        queries: Sequence[str],
        operators: Sequence[OperatorControl] = (),
        *,
        reads: Mapping[str, Sequence[str]] | None = None,
        outputs: Mapping[str, ArrivalProbe] | None = None,
        probe_every_s: float = 1.0,
    ) -> None:
        twice = [name for name in queries if list(queries).count(name) > 1]
        if twice:
            raise UserMistake(f"query '{twice[0]}' appears twice; give every query a name of its own, and give it once")
        self._operators = {operator.name: operator for operator in operators}
        self._reads = {name: tuple((reads or {}).get(name, ())) for name in queries}
        self._reads |= {name: tuple(operator.reads) for name, operator in self._operators.items()}
        self._outputs = dict(outputs or {})
        self._probe_every_s = probe_every_s
        self._output: dict[str, tuple[float, float | None]] = {}
        self._left: set[str] = set()
        self.graph = self._connected()
        self._name_problems()

    def belongs(self, operator: OperatorControl) -> bool:
        """Whether an operator is connected with this app: it reads what this app writes, or the other way round."""
        written = {each.writes for each in self._operators.values()} - {None}
        read = {topic for topics in self._reads.values() for topic in topics}
        return bool(written.intersection(operator.reads)) or operator.writes in read

    def join(self, operator: OperatorControl, *, output: ArrivalProbe | None = None) -> None:
        """One more operator; ``UserMistake`` if operators would read from each other in a circle."""
        name = operator.name
        self._operators[name], self._reads[name] = operator, tuple(operator.reads)
        try:
            self.graph = self._connected()
        except UserMistake:
            del self._operators[name], self._reads[name]
            raise
        if output is not None:
            self._outputs[name] = output
        self._left.discard(name)
        self._name_problems()

    def leave(self, name: str) -> None:
        """An operator has ended, and the others go on."""
        self._operators.pop(name, None)
        self._reads.pop(name, None)
        self._outputs.pop(name, None)
        self._output.pop(name, None)
        self._left.add(name)
        self.graph = self._connected()

    def _connected(self) -> Graph:
        return Graph(tuple(self._node(name) for name in self._reads))

    def _writers(self, topic: str | None) -> list[str]:
        return [name for name, operator in self._operators.items() if operator.writes == topic]

    def _name_problems(self) -> None:
        for topic in sorted({operator.writes for operator in self._operators.values() if operator.writes is not None}):
            writers = self._writers(topic)
            if len(writers) > 1:
                named = " and ".join(f"'{name}'" for name in writers)
                log.warning("operators %s write to one topic, '%s': how much each puts out is unknown", named, topic)

    @property
    def scales(self) -> frozenset[Dimension]:
        """What can be changed about the app."""
        if any(operator.scalable for operator in self._operators.values()):
            return frozenset({Dimension.EXECUTORS, Dimension.PARALLELISM})
        return frozenset({Dimension.EXECUTORS})

    def complete(self, sample: OperatorSample, now_s: float) -> OperatorSample:
        """A query's sample with what is known about it as an operator."""
        operator, upstream = self._operators.get(sample.name), self.graph[sample.name].upstream
        if operator is None:
            return replace(sample, upstream=upstream) if upstream else sample
        return replace(
            sample,
            upstream=upstream,
            scalable=operator.scalable,
            parallelism=operator.parallelism,
            max_parallelism=operator.max_parallelism,
            output_records=self._output_records(sample.name, now_s),
        )

    def checked(self, parallelism: Mapping[str, int]) -> dict[str, int]:
        """What an order asks of operators, within their limits; ``UserMistake`` if there is no such operator."""
        wanted = {}
        for name, count in parallelism.items():
            operator = self._operators.get(name)
            if operator is None and name in self._left:
                # It has ended since it was decided on.
                continue
            if operator is None and name in self._reads:
                raise UserMistake(
                    f"the order sets the parallelism of query '{name}', which is not an operator; start it through "
                    "headgate.operator to have it set"
                )
            if operator is None:
                raise UserMistake(f"the order names operator '{name}', which there is not{nearest(name, self._reads)}")
            if not operator.scalable:
                raise UserMistake(
                    f"the order sets the parallelism of operator '{name}', which is fixed by its state; leave it out"
                )
            wanted[name] = max(1, min(operator.max_parallelism, count))
        return wanted

    def set_parallelism(self, wanted: Mapping[str, int]) -> None:
        for name, count in wanted.items():
            if name in self._operators:
                self._operators[name].set_parallelism(count)

    def _node(self, name: str) -> OperatorNode:
        operator = self._operators.get(name)
        upstream = tuple(
            other for other, writer in self._operators.items() if other != name and writer.writes in self._reads[name]
        )
        if operator is None:
            return OperatorNode(name=name, upstream=upstream)
        return OperatorNode(
            name=name, upstream=upstream, scalable=operator.scalable, max_parallelism=operator.max_parallelism
        )

    def _output_records(self, name: str, now_s: float) -> float | None:
        probe = self._outputs.get(name)
        if probe is None or len(self._writers(self._operators[name].writes)) > 1:
            return None
        asked_s, records = self._output.get(name, (float("-inf"), None))
        if now_s - asked_s >= self._probe_every_s * 0.9:
            try:
                records = probe.probe()
            except HeadgateError as error:
                log.info("operator '%s': its output could not be asked for (%s)", name, error)
                records = None
            self._output[name] = (now_s, records)
        return records
