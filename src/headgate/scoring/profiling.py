"""What a profiling run shows: latency under a constant load, and what a failure costs.

Read off the same series as every result, so that a profile and a run speak of the same latency.
"""

from __future__ import annotations

import numpy as np

from headgate.core.profile import FailurePoint, LoadPoint
from headgate.scoring.distribution import Distribution
from headgate.scoring.run import RunSeries

_CALM_S = 5.0
"""So long before the end the lag must be back, or it was not seen to stay so."""


def load_point(run: RunSeries, *, since_s: float, until_s: float) -> LoadPoint | None:
    """Mean latency of the records that came between two moments; ``None`` if none of them was finished."""
    records = run.records
    chosen = records.finished & (records.arrived0_s >= since_s) & (records.arrived1_s <= until_s)
    low, high = records.latency_ranges()
    within = chosen[records.finished]
    latencies = Distribution.of(low[within], high[within], records.records[chosen])
    if latencies is None:
        return None
    return LoadPoint(rate=_rate(run, since_s, until_s), latency_s=latencies.mean)


def failure_point(run: RunSeries, *, since_s: float, killed_s: float, until_s: float) -> FailurePoint:
    """What an executor's death at ``killed_s`` did to a run that was steady since ``since_s``.

    Work stood still from the kill until the next completion, less the time that lies between completions
    anyway. It had recovered when the lag was, for good, not higher than it had ever been before the kill.
    """
    finished_s = np.unique(np.concatenate([curves.completions.finished_s for curves in run.operators.values()]))
    before = finished_s[(finished_s > since_s) & (finished_s <= killed_s)]
    usual_s = float(np.median(np.diff(before))) if len(before) > 1 else 0.0
    after = finished_s[(finished_s > killed_s) & (finished_s <= until_s)]
    downtime_s = max(0.0, float(after[0]) - killed_s - usual_s) if len(after) else until_s - killed_s
    return FailurePoint(
        rate=_rate(run, since_s, killed_s),
        downtime_s=downtime_s,
        recovery_s=_recovery_s(run, since_s=since_s, killed_s=killed_s, until_s=until_s, downtime_s=downtime_s),
    )


def _recovery_s(run: RunSeries, *, since_s: float, killed_s: float, until_s: float, downtime_s: float) -> float | None:
    time_s, lag = run.time_s, run.lag_records
    usual = lag[(time_s > since_s) & (time_s <= killed_s)]
    later = (time_s > killed_s) & (time_s <= until_s)
    if not len(usual) or not later.any():
        return None
    too_long = time_s[later & (lag > usual.max())]
    if not len(too_long):
        return downtime_s
    if until_s - float(too_long[-1]) < _CALM_S:
        return None
    return max(downtime_s, float(time_s[time_s > too_long[-1]][0]) - killed_s)


def _rate(run: RunSeries, since_s: float, until_s: float) -> float:
    """As far as arrivals were seen: what came after the last look at them is not known."""
    known_s = min(until_s, float(run.arrival_curve_s[-1]))
    if known_s <= since_s:
        return 0.0
    came = run.arrived_by(np.array([since_s, known_s]))
    return float(came[1] - came[0]) / (known_s - since_s)
