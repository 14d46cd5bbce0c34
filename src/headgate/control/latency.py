"""How long records waited: arrivals matched with the batches that finished them, as both come in.

The curve of arrivals and the batches share one axis, the position in the operator's input. A record
arrived when the curve passed its position and was finished when its batch ended. Points of the
curve are forgotten as soon as batches have passed them, so memory follows the lag, not the time.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Iterator

from headgate.core.evaluation import Spread
from headgate.core.sample import ArrivalPoint, Batch


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
        pieces = self._pieces
        for batch in batches:
            finished_s = batch[2] if self._at_batch_end else (batch[1] + batch[2]) / 2
            for waited_since_s, records in self._arrivals_of(batch[3], batch[4]):
                wait_s = finished_s - waited_since_s
                pieces.append((batch[2], wait_s if wait_s > 0.0 else 0.0, records))
        if pieces:
            oldest_s = pieces[-1][0] - self._keep_s
            while pieces[0][0] < oldest_s:
                pieces.popleft()

    def _arrivals_of(self, first: float, end: float) -> Iterator[tuple[float, float]]:
        """Mean arrival time and number of the records in [first, end), piece by piece of the curve."""
        curve = self._curve
        while len(curve) >= 2 and curve[1][1] <= first:
            curve.popleft()
        while first < end and len(curve) >= 2:
            (start_s, low), (stop_s, high) = curve[0], curve[1]
            if high <= low or first < low:
                if first < low:
                    first = min(low, end)
                    continue
                curve.popleft()
                continue
            upper = end if end < high else high
            per_record_s = (stop_s - start_s) / (high - low)
            yield start_s + ((first + upper) / 2 - low) * per_record_s, upper - first
            if upper < high:
                return
            first = upper
            curve.popleft()

    def spread(self, *, since_s: float) -> Spread | None:
        """Of the records finished since then, weighted by records."""
        recent = sorted([(wait_s, records) for finished_s, wait_s, records in self._pieces if finished_s > since_s])
        total = mean = 0.0
        for wait_s, records in recent:
            total += records
            mean += wait_s * records
        if total <= 0:
            return None
        mean /= total
        marks = (0.5 * total, 0.95 * total, 0.99 * total)
        found: list[float] = []
        seen = 0.0
        for wait_s, records in recent:
            seen += records
            while len(found) < 3 and seen >= marks[len(found)]:
                found.append(wait_s)
        longest_s = recent[-1][0]
        found.extend([longest_s] * (3 - len(found)))
        return Spread(mean=mean, p50=found[0], p95=found[1], p99=found[2], max=longest_s)
