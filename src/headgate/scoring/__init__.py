"""What a run was worth: latencies, costs and elasticity, computed from its journal alone."""

from headgate.scoring.elasticity import Provisioning, StepFunction, excess_time, jitter, provisioning
from headgate.scoring.figures import demand, estimated_capacity, throughput_degradation, violation_share
from headgate.scoring.latency import LatencyOverTime, Stretches, latency_over_time
from headgate.scoring.result import (
    Elasticity,
    Executors,
    Lag,
    Latency,
    Records,
    Result,
    Slo,
    score,
    score_recorded,
    score_series,
)
from headgate.scoring.run import RunSeries, TickPoint

__all__ = [
    "Elasticity",
    "Executors",
    "Lag",
    "Latency",
    "LatencyOverTime",
    "Provisioning",
    "Records",
    "Result",
    "RunSeries",
    "Slo",
    "StepFunction",
    "Stretches",
    "TickPoint",
    "demand",
    "estimated_capacity",
    "excess_time",
    "jitter",
    "latency_over_time",
    "provisioning",
    "score",
    "score_recorded",
    "score_series",
    "throughput_degradation",
    "violation_share",
]
