"""How fast the machine is while something is measured: its processors are shared with others, and not always as fast.

On some machines the same work takes half as much processor time again as it did some seconds before, because somebody
else works on the other half of a processor's core. What was measured minutes apart can then only be compared in units
of work that was the same. A process of its own does a little of it now and then, on one processor after the other.
"""

from __future__ import annotations

import contextlib
import multiprocessing
import os
import time
from collections.abc import Iterator, Sequence
from pathlib import Path

_WORK, _EVERY_S = 60_000, 0.2
"""About two per cent of one processor."""

Pace = tuple[float, float]
"""A moment, and the processor time of the same work then, in seconds."""
Span = tuple[float, float]
"""When something began and ended."""


@contextlib.contextmanager
def watched_pace(file: Path) -> Iterator[None]:
    """Writes the machine's pace into a file for as long as the context lasts."""
    process = multiprocessing.get_context("spawn").Process(target=_watch, args=(file, os.getpid()), daemon=True)
    process.start()
    try:
        yield
    finally:
        process.terminate()
        process.join()


def read_pace(file: Path) -> list[Pace]:
    """What was written; a line that was cut off is left out."""
    rows = [line.split() for line in file.read_text().splitlines()]
    return [(float(row[0]), float(row[1])) for row in rows if len(row) == 3]


def relative_speed(paces: Sequence[Pace], spans: Sequence[Span]) -> float:
    """How fast the machine was in some spans of time, against how fast it was on average; 1 where nothing is known."""
    within = [took_s for time_s, took_s in paces if any(begin_s <= time_s <= end_s for begin_s, end_s in spans)]
    if not within:
        return 1.0
    # Speeds are averaged, not times: work done is speed by time.
    usual = sum(1 / took_s for _, took_s in paces) / len(paces)
    return sum(1 / took_s for took_s in within) / len(within) / usual


def _watch(file: Path, parent: int) -> None:
    processors = sorted(os.sched_getaffinity(0))
    with file.open("a") as out:
        turn = 0
        while os.getppid() == parent:
            os.sched_setaffinity(0, {processors[turn % len(processors)]})
            turn += 1
            began_s, total = time.thread_time(), 0
            for number in range(_WORK):
                total += number * number
            out.write(f"{time.time():.2f} {time.thread_time() - began_s:.6f} .\n")
            out.flush()
            time.sleep(_EVERY_S)
