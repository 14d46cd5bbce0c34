"""How the tasks of an operator spread over the slots of executors, and what that costs.

Tasks go, in the order of their partitions, to the slot that is free first. How long a batch takes
is then the largest of a few straight lines in its records, which is what makes simulating a day a
matter of a fraction of a second. The order in which slots become free is taken from the tasks'
sizes alone, not from their fixed overhead.
"""

from __future__ import annotations

import heapq
from collections.abc import Sequence
from functools import lru_cache
from typing import NamedTuple

from headgate.sim.cluster import Cluster, Executor
from headgate.sim.randomness import Chance, generator
from headgate.sim.scenario import OperatorScenario, Scenario


class Load(NamedTuple):
    """What one executor has of every batch."""

    executor: Executor
    tasks: int
    share: float
    """Of the batch's records."""
    seconds_per_record: float
    """Task time, summed over its slots, per record of the batch."""


class Plan(NamedTuple):
    """An operator's tasks on the executors of the moment."""

    tasks: int
    slots: int
    lines: tuple[tuple[float, float], ...]
    """Fixed seconds and seconds per record of the slots that can be the last to finish."""
    task_overhead_s: float
    longest_task: float
    """Seconds per record of the batch in its longest task; likewise the mean."""
    mean_task: float
    loads: tuple[Load, ...]

    @property
    def seconds_per_record(self) -> float:
        """Of the slot that limits a steady flow."""
        return max(slope for _, slope in self.lines)

    def parts(
        self, records: float, factor: float, extra_s: float, slowed_by: str | None
    ) -> list[tuple[Executor, float, float]]:
        """Task time and records of each executor in one batch."""
        fixed_s, weighted = self.task_overhead_s * factor, records * factor
        return [
            (
                executor,
                tasks * fixed_s + seconds * weighted + (extra_s if executor.id == slowed_by else 0.0),
                share * records,
            )
            for executor, tasks, share, seconds in self.loads
        ]


def make_plan(
    scenario: Scenario,
    operator: OperatorScenario,
    cluster: Cluster,
    *,
    tasks: int,
    now_s: float,
    on: Sequence[Executor],
) -> Plan | None:
    """The plan for a number of tasks on these executors; ``None`` when there are none."""
    if not on:
        return None
    speed = len(on) ** (scenario.scaling_exponent - 1.0)
    waiting_s = scenario.round_trips_per_record * cluster.longest_round_trip_s(on)
    seconds = [1.0 / (operator.capacity * speed * cluster.speed(executor, now_s)) + waiting_s for executor in on]
    shares = task_shares(scenario, tasks)
    slots = None
    if scenario.placement == "hashed":
        slots = hashed_slots(len(shares), sum(executor.cores for executor in on), cluster.seed)
    return spread(on, seconds, shares, task_overhead_s=scenario.task_overhead_s, slots=slots)


@lru_cache(maxsize=256)
def hashed_slots(tasks: int, slots: int, seed: int) -> tuple[int, ...]:
    """The slot of each task as a hash would choose it: always the same for so many slots, and uneven."""
    return tuple(generator(seed, Chance.PLACEMENT, slots).integers(slots, size=tasks).tolist())


def task_shares(scenario: Scenario, tasks: int) -> tuple[float, ...]:
    """The part of the records in each task.

    Given shares belong to partitions: with fewer tasks some read several, with more some read none.
    """
    return _shares(tasks, scenario.skew, scenario.shares)


@lru_cache(maxsize=512)
def _shares(tasks: int, skew: float, partitions: tuple[float, ...]) -> tuple[float, ...]:
    if partitions:
        sizes = [sum(partitions[task::tasks]) for task in range(tasks)]
    else:
        sizes = [(task + 1) ** -skew for task in range(tasks)]
    total = sum(sizes)
    return tuple(size / total for size in sizes)


def spread(
    executors: Sequence[Executor],
    seconds: Sequence[float],
    shares: Sequence[float],
    *,
    task_overhead_s: float,
    slots: Sequence[int] | None = None,
) -> Plan:
    """Give each task to its slot, or to the one that is free first; slots of different executors take turns."""
    free = [(0.0, core, index) for index, executor in enumerate(executors) for core in range(executor.cores)]
    free.sort()
    fixed = None if slots is None else [free[slot][1:] for slot in slots]
    counts: dict[tuple[int, int], int] = {}
    slopes: dict[tuple[int, int], float] = {}
    task_counts = [0] * len(executors)
    task_slopes = [0.0] * len(executors)
    task_shares = [0.0] * len(executors)
    longest = 0.0
    for task, share in enumerate(shares):
        free_at, core, index = free[0] if fixed is None else (0.0, *fixed[task])
        slope = share * seconds[index]
        counts[core, index] = counts.get((core, index), 0) + 1
        slopes[core, index] = slopes.get((core, index), 0.0) + slope
        task_counts[index] += 1
        task_slopes[index] += slope
        task_shares[index] += share
        longest = max(longest, slope)
        if fixed is None:
            # Even an empty task occupies its slot for a moment.
            heapq.heapreplace(free, (free_at + slope + 1e-12, core, index))
    return Plan(
        tasks=len(shares),
        slots=len(free),
        lines=_upper_lines([(counts[slot] * task_overhead_s, slopes[slot]) for slot in counts]),
        task_overhead_s=task_overhead_s,
        longest_task=longest,
        mean_task=sum(task_slopes) / len(shares),
        loads=tuple(
            Load(executor, task_counts[index], task_shares[index], task_slopes[index])
            for index, executor in enumerate(executors)
        ),
    )


def _upper_lines(lines: list[tuple[float, float]]) -> tuple[tuple[float, float], ...]:
    """Those that are not below another one everywhere."""
    kept: list[tuple[float, float]] = []
    for constant, slope in sorted(lines, reverse=True):
        if not kept or slope > kept[-1][1]:
            kept.append((constant, slope))
    return tuple(kept)


def fair_shares(demands: Sequence[float], supply: float) -> list[float]:
    """Max-min fair division: nobody gets more than asked for, and what is left is shared evenly.

    >>> fair_shares([1.0, 4.0, 5.0], 7.0)
    [1.0, 3.0, 3.0]
    """
    granted = [0.0] * len(demands)
    left = supply
    waiting = sorted(range(len(demands)), key=demands.__getitem__)
    for place, index in enumerate(waiting):
        granted[index] = min(demands[index], left / (len(waiting) - place))
        left -= granted[index]
    return granted
