"""Bin packing of partitions onto consumers, pure: algorithms, and the scores by which they are compared."""

from headgate.packing.algorithms import ALGORITHMS, Assignment, Speeds, pack
from headgate.packing.scores import bins, cardinal_bin_scores, moved, pareto_front, rscore

__all__ = [
    "ALGORITHMS",
    "Assignment",
    "Speeds",
    "bins",
    "cardinal_bin_scores",
    "moved",
    "pack",
    "pareto_front",
    "rscore",
]
