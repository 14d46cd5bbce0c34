"""An operator under observation: what its topics say has come, and what its batches say they have done."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping, Sequence
from typing import Any

from headgate.core.sample import ArrivalPoint, Batch
from headgate.errors import Permanent, Temporary
from headgate.kafka.probe import KafkaProbe
from headgate.kafka.settings import KafkaSettings
from headgate.scoring.holds import OperatorHold
from headgate.spark.operators import Operator
from headgate.spark.progress import ProgressEvent, read_event


class WatchedOperator:
    """An operator with what its topics and its batches say."""

    def __init__(self, operator: Operator, settings: KafkaSettings, *, starts: Mapping[str, Mapping[int, int]]) -> None:
        self.operator = operator
        self.probe = KafkaProbe(settings, operator.reads)
        self._done = float(sum(sum(starts[topic].values()) for topic in operator.reads))

    def done(self) -> float:
        """Position up to which its batches are finished."""
        last = self.operator.query.lastProgress
        if last is not None:
            end = _event(last).end
            self._done = self._done if end is None else max(self._done, end)
        return self._done

    def lag(self) -> float:
        # In this order: what arrives in between counts as lag, and not the other way round.
        done = self.done()
        try:
            return self.probe.probe() - done
        except Temporary:
            return math.inf

    def hold(self, arrivals: Sequence[ArrivalPoint], *, started_s: float, ended_s: float) -> OperatorHold:
        events = [_event(progress) for progress in self.operator.query.recentProgress]
        batches = [
            Batch(event.batch_id, event.started_s, event.finished_s, event.start or 0.0, event.end)
            for event in events
            if event.executed and event.end is not None and started_s < event.finished_s <= ended_s
        ]
        return OperatorHold(
            name=self.operator.name,
            arrivals=tuple(arrivals),
            batches=tuple(batches),
            done_records=batches[-1].end_record if batches else self.done(),
        )

    def check(self) -> None:
        query = self.operator.query
        if not query.isActive:
            error = query.exception()
            reason = str(error).splitlines()[0] if error is not None else "it was stopped"
            raise Permanent(f"operator '{self.operator.name}' has ended while it was measured: {reason}")


def _event(progress: Any) -> ProgressEvent:
    return read_event(json.loads(progress.json))
