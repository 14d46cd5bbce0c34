"""Recorded loads: CSV files of ``seconds,records_per_second``.

The header is optional, blank lines are skipped, and seconds count from the first row. Between rows
the rate is interpolated linearly, because a trace in steps of five minutes would otherwise ask for
a rescaling at every row; a trace in steps of one second is reproduced row by row. A trace lasts one
more step after its last row (a row stands for the time until the next), and repeats.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from headgate.errors import UserMistake
from headgate.workloads.shape import MOST_RATE, SHORTEST_S, Series

HEADER = "seconds,records_per_second"
_MOST_BYTES = 256 * 2**20


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Trace:
    """Rows of a recorded load; times start at 0 and increase."""

    name: str
    times_s: Series
    recorded: Series

    @property
    def natural_s(self) -> float | None:
        if len(self.times_s) == 1:
            return None
        return float(self.times_s[-1] + (self.times_s[-1] - self.times_s[-2]))

    def rates(self, times_s: Series) -> Series:
        length_s = self.natural_s
        if length_s is None:
            return np.full(len(times_s), self.recorded[0])
        return np.interp(np.mod(times_s, length_s), self.times_s, self.recorded)


def read_trace(path: str) -> Trace:
    """The trace in a file; whatever is wrong with it is said with its line."""
    rows = [
        (number, line) for number, line in enumerate(_text(path).splitlines(), start=1) if line and not line.isspace()
    ]
    if rows and rows[0][1].replace(" ", "").strip().lower() == HEADER:
        del rows[0]
    if not rows:
        raise UserMistake(f"workload {path} is empty; give rows of {HEADER}")
    times = np.empty(len(rows))
    rates = np.empty(len(rows))
    for index, (number, line) in enumerate(rows):
        times[index], rates[index] = _row(line, where=f"workload {path}, line {number}")
        if index and times[index] <= times[index - 1]:
            how = "repeats the time of" if times[index] == times[index - 1] else "goes back behind"
            raise UserMistake(
                f"workload {path}, line {number}: {times[index]:g} s {how} the row before; sort the rows by time"
            )
        if index and times[index] - times[index - 1] < SHORTEST_S:
            raise UserMistake(f"workload {path}, line {number}: less than a millisecond after the row before; drop it")
    return Trace(name=path, times_s=times - times[0], recorded=rates)


def _text(path: str) -> str:
    try:
        file = Path(path)
        if file.stat().st_size > _MOST_BYTES:
            raise UserMistake(f"workload {path} is larger than {_MOST_BYTES >> 20} MiB; give coarser rows")
        return file.read_text(encoding="utf-8-sig")
    except FileNotFoundError:
        raise UserMistake(f"workload {path} does not exist; give a CSV file of {HEADER}, or a shape") from None
    except OSError as error:
        reason = error.strerror or type(error).__name__
        raise UserMistake(f"workload {path} cannot be read ({reason}); give a CSV file of {HEADER}") from None
    except ValueError:  # not UTF-8, or a path that no file can have
        raise UserMistake(f"workload {path} is not a text file; give a CSV file of {HEADER}") from None


def _row(line: str, *, where: str) -> tuple[float, float]:
    cells = line.split(",")
    try:
        time_s, rate = (float(cell) for cell in cells)
    except ValueError:
        shown = line.strip() if len(line) <= 60 else line.strip()[:60] + "…"
        raise UserMistake(f"{where}: '{shown}' is not two numbers; write rows as {HEADER}") from None
    if not (math.isfinite(time_s) and math.isfinite(rate)):
        raise UserMistake(f"{where}: '{line.strip()}' has a value that is not finite; drop the row or give a number")
    if rate < 0:
        raise UserMistake(f"{where}: a rate of {rate:g} records/s is negative; give 0 or more")
    if rate > MOST_RATE or abs(time_s) > 1e12:
        raise UserMistake(f"{where}: '{line.strip()}' is too large; give at most {MOST_RATE:g} records/s")
    return time_s, rate
