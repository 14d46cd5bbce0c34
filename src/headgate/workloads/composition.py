"""From text to workload: shapes and traces, added, multiplied by noise, and transformed.

``sine:period=3h,low=0.1 + spike:at=1h,height=2`` is a sum; ``noise`` in a sum multiplies it. Each
part is a shape in the common grammar, or a CSV trace (a path that ends in ``.csv``, or of a file
that exists).

The transforms, in this order:

1. parts are sampled at whole seconds and composed, over their natural length (the longest of the
   parts, an hour if none has one) or as far as the duration reaches, whichever is more;
2. ``time_scale`` compresses time: six hours at 4 last one and a half. Rates are kept: each new
   second has the mean rate of the time that it stands for;
3. ``peak`` rescales, so that the highest of these rates is exactly the peak;
4. ``duration_s`` cuts. A longer run than its parts' natural length sees traces repeat and shapes go on.
"""

from __future__ import annotations

import math
import re
from collections.abc import Mapping
from pathlib import Path

import numpy as np

from headgate.core.units import format_duration
from headgate.errors import UserMistake
from headgate.grammar import parse_spec
from headgate.workloads.bursts import FlashCrowd, Spike
from headgate.workloads.noise import Noise
from headgate.workloads.shape import MOST_RATE, Series, Shape
from headgate.workloads.steady import Constant, Ramp
from headgate.workloads.steps import Square, Stair, Step
from headgate.workloads.trace import Trace, read_trace
from headgate.workloads.waves import Sine, Weekly
from headgate.workloads.workload import LONGEST_S, Workload

SHAPES: Mapping[str, type[Shape] | type[Noise]] = {
    shape.name: shape for shape in (Constant, FlashCrowd, Noise, Ramp, Sine, Spike, Square, Stair, Step, Weekly)
}

DEFAULT_DURATION_S = 3600.0
_CHUNK_S = 1 << 20
_SPACED_PLUS = re.compile(r"\s\+(?=\s|$)")
# A plus before a letter joins shapes; one before a digit belongs to a number, as in 1e+3.
_TIGHT_PLUS = re.compile(r"\+(?=\s*[A-Za-z])")

Part = Shape | Trace | Noise


def parse_workload(
    text: str,
    *,
    peak: float | None = None,
    duration_s: float | None = None,
    time_scale: float = 1.0,
    seed: int = 0,
) -> Workload:
    """The workload that a text describes; the same for the same text and seed.

    >>> load = parse_workload("constant:rate=200 + step:at=10,low=0,peak=300", duration_s=20)
    >>> load.rate_at(5), load.rate_at(15), load.duration_s
    (200.0, 500.0, 20.0)
    >>> parse_workload("sine", peak=5000).peak
    5000.0
    """
    _check_transforms(text, peak=peak, duration_s=duration_s, time_scale=time_scale, seed=seed)
    parts = parse_parts(text)
    natural_s = max((part.natural_s or 0.0 for part in parts if not isinstance(part, Noise)), default=0.0)
    if not natural_s:
        natural_s = DEFAULT_DURATION_S if duration_s is None else duration_s * time_scale
    wanted_s = natural_s / time_scale if duration_s is None else duration_s
    # Whole seconds: at least one, and none that only a rounding error asks for.
    seconds = max(1, math.ceil(_bounded(wanted_s, text) - 1e-9))
    # The maximum that a peak rescales is that of the whole, also when only a beginning is run.
    horizon_s = seconds * time_scale if peak is None else max(natural_s, seconds * time_scale)
    _bounded(max(horizon_s, horizon_s / time_scale), text)
    rates = _compress(_compose(parts, max(1, math.ceil(horizon_s - 1e-9)), seed=seed), time_scale)
    if peak is not None:
        highest = float(rates.max())
        if highest <= 0:
            raise UserMistake(f"workload '{text}' is 0 everywhere and has no peak to rescale; drop the peak")
        # Divided first: the factor alone may be too large a number for very small rates.
        rates = rates / highest * peak
    return Workload(name=text.strip(), rates=rates[:seconds])


def parse_parts(text: str) -> tuple[Part, ...]:
    """The parts of a composition, made and checked."""
    whole = text.strip()
    if not whole:
        raise UserMistake("the workload is empty; name a shape, as in sine:period=3h, or a CSV file")
    if _is_trace(whole):
        return (read_trace(whole),)
    parts: list[Part] = []
    for piece in _SPACED_PLUS.split(whole):
        for term in [piece] if _is_trace(piece.strip()) else _TIGHT_PLUS.split(piece):
            if not term.strip():
                raise UserMistake(f"workload '{whole}' has nothing on one side of a +; name a shape there")
            parts.append(_part(term.strip()))
    return tuple(parts)


def _part(term: str) -> Part:
    return read_trace(term) if _is_trace(term) else parse_spec(term, SHAPES, kind="workload")


def _is_trace(text: str) -> bool:
    if text.lower().endswith(".csv"):
        return not _SPACED_PLUS.search(text) or _is_file(text)
    return text.partition(":")[0].strip() not in SHAPES and _is_file(text)


def _is_file(text: str) -> bool:
    try:
        return Path(text).is_file()
    except (OSError, ValueError):  # a text that cannot be a path
        return False


def _check_transforms(text: str, *, peak: float | None, duration_s: float | None, time_scale: float, seed: int) -> None:
    for name, value, least, most in (
        ("peak", peak, 0.0, MOST_RATE),
        ("duration", duration_s, 0.0, float(LONGEST_S)),
        ("time-scale", time_scale, 1e-3, 1e6),
    ):
        if value is not None and not (value > 0 and least <= value <= most):
            raise UserMistake(
                f"workload '{text}': {name}={value:g} is not possible; give more than {least:g}, at most {most:g}"
            )
    if seed < 0:
        raise UserMistake(f"workload '{text}': seed={seed} is negative; give 0 or more")


def _bounded(seconds: float, text: str) -> float:
    if not seconds <= LONGEST_S:
        raise UserMistake(
            f"workload '{text}' would be {seconds:.3g} s long; "
            f"keep it within {format_duration(LONGEST_S)}, for instance by a duration"
        )
    return seconds


def _compose(parts: tuple[Part, ...], seconds: int, *, seed: int) -> Series:
    added = [part for part in parts if not isinstance(part, Noise)] or [Constant()]
    rates = np.zeros(seconds)
    # In chunks, so that a year of seconds needs one long array and not one for every step of a formula.
    for start in range(0, seconds, _CHUNK_S):
        chunk = rates[start : start + _CHUNK_S]
        times = np.arange(start, start + len(chunk), dtype=np.float64)
        for part in added:
            chunk += part.rates(times)
    for index, factor in enumerate(parts):
        if isinstance(factor, Noise):
            rates *= factor.factors(seconds, np.random.default_rng([seed, index]))
    return rates


def _compress(rates: Series, time_scale: float) -> Series:
    if time_scale == 1.0:
        return rates
    total = np.concatenate([[0.0], np.cumsum(rates)])
    steps = max(1, math.ceil(len(rates) / time_scale - 1e-9))
    edges = np.minimum(np.arange(steps + 1) * time_scale, len(rates))
    volumes: Series = np.diff(np.interp(edges, np.arange(len(total)), total))
    widths: Series = np.diff(edges)
    return np.maximum(volumes / widths, 0.0)
