"""How long new executors are slower, and by how much, as a recorded run shows it.

An executor's task time is compared with what its tasks and records should have cost a warm one. By
age that ratio rises (code gets compiled, processes and caches fill) and then stays; the simulator
knows one step, so the rise is taken as a time of equal slowness.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from headgate.core.sample import ExecutorSample, Sample

_BIN_S = 10.0
_LONGEST_S = 180.0
_LEAST_BUSY_S = 0.5
_WARM = 0.85
"""Share of the settled speed from which an executor counts as warm."""


class Warming(NamedTuple):
    warm_up_s: float
    speed: float


class _Stretch(NamedTuple):
    """Work of one executor between two samples."""

    age_s: float
    expected_s: float
    spent_s: float


def warming(samples: Sequence[Sample], *, task_overhead_s: float, capacity: float) -> Warming | None:
    """``None`` where the run does not show both young and old executors."""
    stretches = _stretches(samples, task_overhead_s=task_overhead_s, capacity=capacity)
    by_bin: dict[int, list[_Stretch]] = {}
    for stretch in stretches:
        by_bin.setdefault(int(min(stretch.age_s, _LONGEST_S) / _BIN_S), []).append(stretch)
    bins = sorted(by_bin)
    if len(bins) < 4 or bins[0] > 1:
        return None
    settled = _speed([stretch for number in bins[len(bins) // 2 :] for stretch in by_bin[number]])
    slow = [number for number in bins[: len(bins) // 2] if _speed(by_bin[number]) < _WARM * settled]
    if not slow:
        return None
    warm_up_s = (slow[-1] + 1) * _BIN_S
    young = _speed([stretch for stretch in stretches if stretch.age_s < warm_up_s])
    return Warming(warm_up_s, round(min(1.0, max(0.05, young / settled)), 3))


def _speed(stretches: Sequence[_Stretch]) -> float:
    return sum(each.expected_s for each in stretches) / max(sum(each.spent_s for each in stretches), 1e-9)


def _stretches(samples: Sequence[Sample], *, task_overhead_s: float, capacity: float) -> list[_Stretch]:
    found = []
    last: dict[str, ExecutorSample] = {}
    for sample in samples:
        for now in sample.executors:
            before = last.setdefault(now.id, now)
            if None in (now.busy_s, before.busy_s, now.records, before.records):
                continue
            spent_s = (now.busy_s or 0.0) - (before.busy_s or 0.0)
            if spent_s < _LEAST_BUSY_S:
                continue
            records = max(0.0, (now.records or 0.0) - (before.records or 0.0))
            expected_s = (now.tasks_done - before.tasks_done) * task_overhead_s + records / capacity
            found.append(_Stretch((now.age_s + before.age_s) / 2, expected_s, spent_s))
            last[now.id] = now
    return found
