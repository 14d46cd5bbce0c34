"""How long records waited: arrivals matched with the batches that finished them, as both come in.

The curve of arrivals and the batches share one axis, the position in the operator's input. A record
arrived when the curve passed its position and was finished when its batch ended. Points of the
curve are forgotten as soon as batches have passed them, so memory follows the lag, not the time.
"""

from __future__ import annotations

from bisect import bisect_left
from collections import deque
from collections.abc import Iterable
from itertools import accumulate
from operator import mul

from headgate.core.evaluation import Spread
from headgate.core.sample import ArrivalPoint, Batch

_SHARES = (0.5, 0.95, 0.99)


class LatencyTrack:
    """Latencies of one operator's recent records, as (finished, latency, records) pieces."""

    def __init__(self, *, keep_s: float, at_batch_end: bool) -> None:
        self._keep_s = keep_s
        self._at_batch_end = at_batch_end
        self._curve: deque[ArrivalPoint] = deque()
        self._pieces: deque[tuple[float, float, float]] = deque()

    def learn(self, arrivals: Iterable[ArrivalPoint], batches: Iterable[Batch]) -> None:
        curve = self._curve
        for point in arrivals:
            if not curve or (point[0] > curve[-1][0] and point[1] >= curve[-1][1]):
                curve.append(point)
        for batch in batches:
            self._match(batch)
        pieces = self._pieces
        if pieces:
            oldest_s = pieces[-1][0] - self._keep_s
            while pieces[0][0] < oldest_s:
                pieces.popleft()

    def _match(self, batch: Batch) -> None:
        """Cut a batch where the curve bends; on average, the records of a piece came at its middle."""
        curve, keep = self._curve, self._pieces.append
        started_s, ended_s, first, end = batch[1:5]
        finished_s = ended_s if self._at_batch_end else (started_s + ended_s) / 2
        while len(curve) >= 2:
            start_s, low = curve[0]
            stop_s, high = curve[1]
            if high <= first:
                curve.popleft()
                continue
            if first < low:
                first = low
            if first >= end:
                return
            if high <= first:
                # Nothing came between the first two moments that are known of.
                curve.popleft()
                continue
            upper = end if end <= high else high
            came_s = start_s + ((first + upper) / 2 - low) * ((stop_s - start_s) / (high - low))
            keep((ended_s, finished_s - came_s if finished_s > came_s else 0.0, upper - first))
            if end <= high:
                return
            first = high

    def spread(self, *, since_s: float) -> Spread | None:
        """Of the records finished since then, weighted by records."""
        recent = sorted([(wait_s, records) for finished_s, wait_s, records in self._pieces if finished_s > since_s])
        if not recent:
            return None
        waits_s, records = zip(*recent, strict=True)
        summed = list(accumulate(records))
        total = summed[-1]
        if total <= 0:
            return None
        p50, p95, p99 = (waits_s[min(bisect_left(summed, share * total), len(recent) - 1)] for share in _SHARES)
        return Spread(mean=sum(map(mul, waits_s, records)) / total, p50=p50, p95=p95, p99=p99, max=waits_s[-1])
