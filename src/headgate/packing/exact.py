"""The best that any packing can do, by mixed-integer programming: a bound to compare algorithms with, for small groups.

    minimise   consumers in use + moves_weigh × Rscore

over assignments of each partition to one consumer, none of which gets more than its capacity. With no weight it is bin
packing alone. Finding it takes exponential time at worst, so the time is limited; what is found by then is a packing
all the same, and a bound says how far it may be from the best. A partition that is faster than a consumer can take has
one of its own, as with every algorithm.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from headgate.errors import UserMistake
from headgate.packing.algorithms import Assignment, Speeds, pack
from headgate.packing.scores import bins, rscore


@dataclass(frozen=True, slots=True, kw_only=True)
class ExactPacking:
    """The best packing that was found."""

    assignment: Assignment
    objective: float
    bound: float
    """No packing has an objective below this."""

    @property
    def proven(self) -> bool:
        """Whether there is none better."""
        return self.objective <= self.bound + 1e-6


def best_packing(
    speeds: Speeds,
    current: Assignment,
    *,
    capacity: float,
    moves_weigh: float = 0.0,
    within_s: float = 10.0,
) -> ExactPacking:
    """The packing with the fewest consumers, and as far as moves weigh something, with few moves."""
    try:
        from scipy.optimize import Bounds, LinearConstraint, milp
        from scipy.sparse import lil_matrix
    except ModuleNotFoundError:
        raise UserMistake("scipy is not installed; run pip install 'headgate[packing]'") from None
    # Any packing shows how many consumers are enough, and is the answer where nothing better is found in time.
    known = pack(speeds, current, capacity=capacity, algorithm="bfd")
    large = {name for name, speed in speeds.items() if speed > capacity}
    items = [name for name in speeds if name not in large]
    taken = sorted({current[name] for name in speeds if name in current})
    most = bins({name: known[name] for name in items}) if moves_weigh == 0 else len(taken) + bins(known)
    fresh = [number for number in range(1, len(taken) + most + 1) if number not in taken]
    consumers = [*taken, *fresh[:most]] if moves_weigh else list(range(1, most + 1))
    used, count = len(consumers), len(items)
    if not items:
        return ExactPacking(assignment=known, objective=float(bins(known)), bound=float(bins(known)))
    # First whether each consumer is used, then for each partition which one it has.
    costs = np.concatenate([np.ones(used), np.zeros(count * used)])
    matrix = lil_matrix((count + used, used + count * used))
    for item, name in enumerate(items):
        first = used + item * used
        matrix[item, first : first + used] = 1
        for place, consumer in enumerate(consumers):
            matrix[count + place, first + place] = speeds[name]
            if moves_weigh and name in current and current[name] != consumer:
                costs[first + place] = moves_weigh * speeds[name] / capacity
    for place in range(used):
        matrix[count + place, place] = -capacity
    lower = np.concatenate([np.ones(count), np.full(used, -np.inf)])
    upper = np.concatenate([np.ones(count), np.full(used, capacity * 1e-9)])
    found = milp(
        costs,
        constraints=LinearConstraint(matrix.tocsr(), lower, upper),
        integrality=np.ones(len(costs)),
        bounds=Bounds(0, 1),
        options={"time_limit": within_s},
    )
    if found.x is None:
        return ExactPacking(assignment=known, objective=math.inf, bound=0.0)
    chosen = found.x[used:].reshape(count, used).argmax(axis=1)
    assignment = {name: consumers[place] for name, place in zip(items, chosen.tolist(), strict=True)}
    free = (number for number in range(1, len(speeds) + used + 1) if number not in set(assignment.values()))
    assignment |= {name: next(free) for name in large}
    bound = (found.mip_dual_bound or 0.0) + len(large)
    objective = bins(assignment) + moves_weigh * rscore(current, assignment, speeds, capacity=capacity)
    # Without moves it is a number of consumers, and there are no fractions of one.
    return ExactPacking(
        assignment=assignment, objective=objective, bound=bound if moves_weigh else float(math.ceil(bound - 1e-6))
    )
