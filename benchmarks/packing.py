"""The packing algorithms on ten thousand partitions, and the whole experiment of their paper."""

from __future__ import annotations

import time
from pathlib import Path

import numpy as np

from benchmarks.timing import line, times_s
from headgate.experiments import Runner, consumer_group
from headgate.packing import ALGORITHMS, pack

PARTITIONS = 10_000


def run() -> None:
    chance = np.random.default_rng(0)
    names = [f"p{number}" for number in range(PARTITIONS)]
    before = dict(zip(names, chance.uniform(0, 100, PARTITIONS).tolist(), strict=True))
    after = {name: float(np.clip(speed + chance.uniform(-10, 10), 0, 100)) for name, speed in before.items()}
    for algorithm in ALGORITHMS:
        current = pack(before, {}, capacity=100.0, algorithm=algorithm)

        def again(algorithm=algorithm, current=current) -> None:  # type: ignore[no-untyped-def]
            pack(after, current, capacity=100.0, algorithm=algorithm)

        line(f"{algorithm}, {PARTITIONS} partitions", times_s(again, repeats=15), goal="goal ≤ 50 ms")
    began_s = time.perf_counter()
    consumer_group.reproduce(Runner(repetitions=1), Path())
    print(f"  all streams of the experiment, four kinds of starts: {time.perf_counter() - began_s:.1f} s   goal ≤ 20 s")
