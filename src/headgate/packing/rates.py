"""Write speeds of partitions, step by step, and present assignments, as files that people write."""

from __future__ import annotations

import csv
import json
import math
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path

from headgate.errors import UserMistake
from headgate.packing.algorithms import Assignment, Speeds

RATES_HEAD = ("step", "partition", "bytes_per_second")
ASSIGNMENT_HEAD = ("partition", "consumer")


@dataclass(frozen=True, slots=True, kw_only=True)
class RateStep:
    """All speeds that were measured at one moment."""

    step: int
    speeds: Speeds


def read_rates(path: Path) -> list[RateStep]:
    """A CSV of ``step,partition,bytes_per_second``; steps in ascending order, partitions in the order of the file."""
    steps: dict[int, dict[str, float]] = {}
    for line, (step_text, partition, speed_text) in _rows(path, RATES_HEAD):
        where = f"{path}, line {line}"
        try:
            step, speed = int(step_text), float(speed_text)
        except ValueError:
            given = f"{step_text},{partition},{speed_text}"
            raise UserMistake(f"{where}: '{given}' has no numbers where they belong; write 0,p1,1500") from None
        if not partition:
            raise UserMistake(f"{where}: the partition has no name; give it one")
        if not 0 <= speed < math.inf:
            raise UserMistake(f"{where}: bytes_per_second={speed_text} is negative or no number; give 0 or more")
        if partition in steps.setdefault(step, {}):
            raise UserMistake(f"{where}: partition '{partition}' is there twice in step {step}; give it once")
        steps[step][partition] = speed
    if not steps:
        raise UserMistake(f"{path} has no rows; give lines of {','.join(RATES_HEAD)}")
    return [RateStep(step=step, speeds=steps[step]) for step in sorted(steps)]


def read_assignment(path: Path) -> Assignment:
    """A JSON object of partition and consumer, as ``headgate pack --json`` has it, or a CSV of the same two."""
    text = _text(path)
    if text.lstrip().startswith("{"):
        try:
            found = json.loads(text)
        except ValueError as error:
            raise UserMistake(f"{path} is not valid JSON ({error}); correct that place") from None
        pairs: Iterable[tuple[str, object]] = found.items()
    else:
        pairs = [(partition, consumer) for _, (partition, consumer) in _rows(path, ASSIGNMENT_HEAD)]
    assignment = {}
    for partition, consumer in pairs:
        number = str(consumer)
        if not number.isdecimal() or int(number) < 1:
            raise UserMistake(f"{path}: consumer '{consumer}' of '{partition}' is no number from 1 up; give one")
        assignment[partition] = int(number)
    return assignment


def _rows(path: Path, head: tuple[str, ...]) -> Iterator[tuple[int, list[str]]]:
    rows = csv.reader(_text(path).splitlines())
    for line, row in enumerate(rows, start=1):
        cells = [cell.strip() for cell in row]
        if not any(cells) or (line == 1 and tuple(cells) == head):
            continue
        if len(cells) != len(head):
            raise UserMistake(f"{path}, line {line}: {len(cells)} columns; give {','.join(head)}")
        yield line, cells


def _text(path: Path) -> str:
    try:
        return path.read_text(encoding="utf-8")
    except OSError as error:
        raise UserMistake(f"{path} cannot be read ({error.strerror}); give a readable file") from None
    except ValueError:
        raise UserMistake(f"{path} is not UTF-8 text; give a CSV file") from None
