"""The DAG of operators that an app consists of.

Edges are streams; an operator names the operators it reads from. A graph is checked when it is
made: unknown upstreams, duplicate names and cycles are refused there, so that no reader of a graph
has to think of them again.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from headgate.errors import UserMistake


@dataclass(frozen=True, slots=True, kw_only=True)
class OperatorNode:
    """One step of the app: what is fixed about it while it runs."""

    name: str
    upstream: tuple[str, ...] = ()
    scalable: bool = False
    """Whether its parallelism can be changed while it runs (stateless operators)."""
    max_parallelism: int | None = None


@dataclass(frozen=True, slots=True)
class Graph:
    """Operators in an order in which every operator follows those it reads from.

    >>> graph = Graph.of(OperatorNode(name="b", upstream=("a",)), OperatorNode(name="a"))
    >>> [operator.name for operator in graph]
    ['a', 'b']
    >>> graph.paths()
    (('a', 'b'),)
    """

    operators: tuple[OperatorNode, ...]

    def __post_init__(self) -> None:
        names = [operator.name for operator in self.operators]
        for name in names:
            if names.count(name) > 1:
                raise UserMistake(f"operator '{name}' appears twice; give every operator a name of its own")
        for operator in self.operators:
            for source in operator.upstream:
                if source not in names:
                    raise UserMistake(
                        f"operator '{operator.name}' reads from '{source}', which is not an operator; "
                        f"name one of {', '.join(names)}"
                    )
        object.__setattr__(self, "operators", _in_topological_order(self.operators))

    @classmethod
    def of(cls, *operators: OperatorNode) -> Graph:
        return cls(operators)

    def __iter__(self) -> Iterator[OperatorNode]:
        return iter(self.operators)

    def __getitem__(self, name: str) -> OperatorNode:
        for operator in self.operators:
            if operator.name == name:
                return operator
        raise KeyError(name)

    def downstream(self, name: str) -> tuple[str, ...]:
        return tuple(operator.name for operator in self.operators if name in operator.upstream)

    def sources(self) -> tuple[str, ...]:
        """Operators that read from outside the app."""
        return tuple(operator.name for operator in self.operators if not operator.upstream)

    def sinks(self) -> tuple[str, ...]:
        """Operators that no other operator reads from."""
        return tuple(operator.name for operator in self.operators if not self.downstream(operator.name))

    def paths(self) -> tuple[tuple[str, ...], ...]:
        """Every way from a source to a sink."""
        complete: list[tuple[str, ...]] = []
        open_paths: list[tuple[str, ...]] = [(name,) for name in self.sources()]
        while open_paths:
            path = open_paths.pop()
            following = self.downstream(path[-1])
            if not following:
                complete.append(path)
            open_paths.extend((*path, name) for name in following)
        return tuple(sorted(complete))


def _in_topological_order(operators: tuple[OperatorNode, ...]) -> tuple[OperatorNode, ...]:
    placed: dict[str, OperatorNode] = {}
    waiting = list(operators)
    while waiting:
        ready = [operator for operator in waiting if all(name in placed for name in operator.upstream)]
        if not ready:
            names = ", ".join(operator.name for operator in waiting)
            raise UserMistake(
                f"operators {names} read from each other in a circle; an app must be a graph without cycles"
            )
        placed.update((operator.name, operator) for operator in ready)
        waiting = [operator for operator in waiting if operator.name not in placed]
    return tuple(placed.values())
