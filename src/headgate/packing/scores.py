"""How good a packing is: how many consumers it takes, and what moving partitions costs.

Source: the consumer-group autoscaler (sections 4.4.1 and 4.4.6.2).

    Rscore = Σ speed of the partitions that are taken from a consumer ÷ capacity

    CBS = mean over the steps of (bins − fewest bins of any algorithm) ÷ fewest bins of any algorithm
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from headgate.packing.algorithms import Assignment, Speeds


def bins(packed: Assignment) -> int:
    """Consumers in use."""
    return len(set(packed.values()))


def moved(before: Assignment, after: Assignment) -> list[str]:
    """Partitions that are taken from a consumer; those that had none are not."""
    return [partition for partition, consumer in after.items() if before.get(partition, consumer) != consumer]


def rscore(before: Assignment, after: Assignment, speeds: Speeds, *, capacity: float) -> float:
    """Seconds of a consumer's work that pile up for each second that the move takes.

    >>> rscore({"a": 1, "b": 2}, {"a": 2, "b": 2, "c": 2}, {"a": 5.0, "b": 3.0, "c": 9.0}, capacity=10.0)
    0.5
    """
    return sum(speeds[partition] for partition in moved(before, after)) / capacity


def cardinal_bin_scores(used: Mapping[str, Sequence[int]]) -> dict[str, float]:
    """By algorithm, from the bins that each used in each step.

    >>> cardinal_bin_scores({"a": [4, 6], "b": [5, 6]})
    {'a': 0.0, 'b': 0.125}
    """
    fewest = [min(step) for step in zip(*used.values(), strict=True)]
    return {
        name: sum((count - least) / least for count, least in zip(counts, fewest, strict=True) if least) / len(fewest)
        for name, counts in used.items()
    }


def pareto_front(points: Mapping[str, tuple[float, float]]) -> tuple[str, ...]:
    """Those that no other beats in both figures, by the first of them.

    >>> pareto_front({"a": (0.0, 9.0), "b": (0.1, 5.0), "c": (0.2, 6.0)})
    ('a', 'b')
    """

    def beaten(name: str) -> bool:
        mine = points[name]
        return any(other[0] <= mine[0] and other[1] <= mine[1] and other != mine for other in points.values())

    return tuple(sorted((name for name in points if not beaten(name)), key=lambda name: points[name]))
