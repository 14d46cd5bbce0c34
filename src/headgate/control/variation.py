"""How unevenly records come and are worked on, as squared coefficients of variation, from what is counted in lumps.

Neither single arrivals nor single services are seen: positions in topics are read about once a second, and task times
are those of whole micro-batches. But what varies from record to record adds up.

- If times between arrivals vary independently of each other with c_a², counts over spans that are long against them
  have a variance of c_a² times their mean. So c_a² is the mean of (count − expected)² ÷ expected. What is expected
  follows a straight line through the window, so that a rate that rises is not taken for one that varies.
- If service times vary independently with mean m and c_s², the task time of n records has the variance n m² c_s². So
  c_s² is the mean of (task time − expected)² ÷ (n m²), expected being a cost of each batch plus m for each record, as a
  line through the batches has it.

Whatever slows a whole batch or burst down counts as if its records had varied that much: for a record that waits behind
them, it is the same.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from headgate.core.sample import Batch

_LEAST = 6
"""Spans or batches below which nothing is said."""
_LEAST_SPREAD = 0.05
"""Sizes of batches that vary less than this share have no line through them."""


def arrival_scv(curve: Sequence[tuple[float, float]]) -> float | None:
    """Of the times between arrivals, from a cumulative curve of (time, records); ``None`` if that says too little."""
    if len(curve) <= _LEAST:
        return None
    times, records = (np.array(column, dtype=np.float64) for column in zip(*curve, strict=True))
    spans, counts = np.diff(times), np.diff(records)
    spans, counts, middles = spans[spans > 0], counts[spans > 0], ((times[1:] + times[:-1]) / 2)[spans > 0]
    total_s, total = float(spans.sum()), float(counts.sum())
    if len(spans) < _LEAST or total <= 0:
        return None
    middles = middles - float((middles * spans).sum()) / total_s
    rates = counts / spans
    lever = float((spans * middles * middles).sum())
    rise = float((spans * middles * (rates - total / total_s)).sum()) / lever if lever > 0 else 0.0
    expected = np.maximum(total / total_s + rise * middles, 0.05 * total / total_s) * spans
    return float(((counts - expected) ** 2 / expected).mean()) * len(spans) / (len(spans) - 2)


def service_scv(batches: Sequence[Batch]) -> float | None:
    """Of the service times, from batches with their tasks' times; ``None`` if these say too little."""
    seen = [(batch.records, took_s) for batch in batches if batch.records > 0 and (took_s := _task_s(batch))]
    if len(seen) < _LEAST:
        return None
    records, task_s = (np.array(column, dtype=np.float64) for column in zip(*seen, strict=True))
    each_s, own_s = float(task_s.sum() / records.sum()), 0.0
    if float(records.std()) > _LEAST_SPREAD * float(records.mean()):
        slope, intercept = np.polyfit(records, task_s, 1)
        if slope > 0 and intercept >= 0:
            each_s, own_s = float(slope), float(intercept)
    away = (task_s - own_s - each_s * records) ** 2 / (records * each_s * each_s)
    return float(away.mean()) * len(seen) / (len(seen) - (2 if own_s else 1))


def _task_s(batch: Batch) -> float | None:
    """Time of all its tasks together."""
    if batch.mean_task_s is not None and batch.tasks is not None:
        return batch.mean_task_s * batch.tasks
    return batch.run_s
