"""Loads to try a stream with: shapes, recorded traces, noise, and the records they mean.

``parse_workload`` reads what users type; ``arrivals`` turns it into whole records. Units and the
meaning of every option follow one rule, written down in ``headgate.workloads.shape``; the order of
rescaling, compressing and cutting in ``headgate.workloads.composition``.
"""

from headgate.workloads.arrivals import arrivals, count_at, counts_at
from headgate.workloads.composition import DEFAULT_DURATION_S, SHAPES, parse_workload
from headgate.workloads.noise import Noise
from headgate.workloads.shape import Shape
from headgate.workloads.trace import read_trace
from headgate.workloads.workload import LONGEST_S, Workload

__all__ = [
    "DEFAULT_DURATION_S",
    "LONGEST_S",
    "SHAPES",
    "Noise",
    "Shape",
    "Workload",
    "arrivals",
    "count_at",
    "counts_at",
    "parse_workload",
    "read_trace",
]
