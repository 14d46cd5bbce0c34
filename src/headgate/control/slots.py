"""Which operators wait for slots: there may be fewer than their instances, as long as executors are on their way."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from headgate.core.sample import OperatorSample


def waiting_instances(operators: Sequence[OperatorSample], slots: int) -> Mapping[str, int]:
    """Instances without a slot, by operator, if slots are shared evenly; unknown of whose parallelism is unknown.

    >>> waiting_instances([OperatorSample(name="a", parallelism=1), OperatorSample(name="b", parallelism=4)], 3)
    {'a': 0, 'b': 2}
    """
    waiting = {operator.name: operator.parallelism for operator in operators if operator.parallelism is not None}
    left = slots
    while left > 0 and any(waiting.values()):
        for name, count in waiting.items():
            if count and left:
                waiting[name] = count - 1
                left -= 1
    return waiting
