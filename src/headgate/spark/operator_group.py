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

    ``outputs`` are probes of the topics that operators write to, by operator. What they count is what stands in the
    topic: a message that a repeated task wrote again is there twice, and downstream it arrives twice. A topic that
    several operators write to tells of none of them how much.
    """

    def __init__(
        self,
        queries: Sequence[str],
        operators: Sequence[OperatorControl] = (),
        *,
        outputs: Mapping[str, ArrivalProbe] | None = None,
        probe_every_s: float = 1.0,
    ) -> None:
        self._queries = tuple(queries)
        self._operators = {operator.name: operator for operator in operators}
        written = [operator.writes for operator in operators]
        self._outputs = {
            name: probe
            for name, probe in (outputs or {}).items()
            if name in self._operators and written.count(self._operators[name].writes) == 1
        }
        self._probe_every_s = probe_every_s
        self._output: dict[str, tuple[float, float | None]] = {}
        self.graph = Graph(tuple(self._node(name) for name in self._queries))

    @property
    def scales(self) -> frozenset[Dimension]:
        """What can be changed about the app."""
        if any(operator.scalable for operator in self._operators.values()):
            return frozenset({Dimension.EXECUTORS, Dimension.PARALLELISM})
        return frozenset({Dimension.EXECUTORS})

    def complete(self, sample: OperatorSample, now_s: float) -> OperatorSample:
        """A query's sample with what is known about it as an operator."""
        operator = self._operators.get(sample.name)
        if operator is None:
            return sample
        return replace(
            sample,
            upstream=self.graph[sample.name].upstream,
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
            if operator is None and name in self._queries:
                raise UserMistake(
                    f"the order sets the parallelism of query '{name}', which is not an operator; start it through "
                    "headgate.operator to have it set"
                )
            if operator is None:
                raise UserMistake(
                    f"the order names operator '{name}', which there is not{nearest(name, self._queries)}"
                )
            if not operator.scalable:
                raise UserMistake(
                    f"the order sets the parallelism of operator '{name}', which is fixed by its state; leave it out"
                )
            wanted[name] = max(1, min(operator.max_parallelism, count))
        return wanted

    def set_parallelism(self, wanted: Mapping[str, int]) -> None:
        for name, count in wanted.items():
            self._operators[name].set_parallelism(count)

    def _node(self, name: str) -> OperatorNode:
        operator = self._operators.get(name)
        if operator is None:
            return OperatorNode(name=name)
        return OperatorNode(
            name=name,
            upstream=tuple(other for other in self._queries if self._feeds(other, operator)),
            scalable=operator.scalable,
            max_parallelism=operator.max_parallelism,
        )

    def _feeds(self, name: str, reader: OperatorControl) -> bool:
        writer = self._operators.get(name)
        return writer is not None and writer.writes in reader.reads

    def _output_records(self, name: str, now_s: float) -> float | None:
        probe = self._outputs.get(name)
        if probe is None:
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
