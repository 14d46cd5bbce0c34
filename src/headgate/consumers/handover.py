"""Partitions on their way from one consumer to another: what has to be said, and what has been acknowledged.

Source: the consumer-group autoscaler, section 4.4.8. A partition is stopped where it is read and, once that is
acknowledged and only then, started where it shall be. What is not acknowledged is said again.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass

from headgate.consumers.actions import Send
from headgate.consumers.group import Difference
from headgate.consumers.messages import Held, StartConsumingCommand, StopConsumingCommand, split

Commands = type[StartConsumingCommand] | type[StopConsumingCommand]


@dataclass(slots=True)
class _Step:
    """Stopped at one consumer, if it is read, and started at another, if it shall be."""

    stop_at: int | None
    start_at: int | None
    epoch: int
    """Of the reader that stops, and then of the one that starts."""
    sent_s: float | None = None


class Handover:
    """From one assignment to another; over when it is empty."""

    def __init__(self, *, term: int, epochs: Callable[[], int], requests: Callable[[], int]) -> None:
        """``epochs`` and ``requests`` give numbers that no other has had."""
        self._term = term
        self._epochs = epochs
        self._requests = requests
        self._steps: dict[str, _Step] = {}

    def __contains__(self, partition: str) -> bool:
        return partition in self._steps

    def __len__(self) -> int:
        return len(self._steps)

    def begin(self, wanted: Difference, *, epochs: Mapping[str, int]) -> None:
        """``epochs`` under which partitions are read by now."""
        self._steps = {
            partition: _Step(
                stop_at=wanted.stops.get(partition),
                start_at=wanted.starts.get(partition),
                epoch=epochs.get(partition, 0),
            )
            for partition in {**wanted.stops, **wanted.starts}
        }

    def clear(self) -> None:
        self._steps = {}

    @property
    def receivers(self) -> frozenset[int]:
        """Who is to be given something."""
        return frozenset(step.start_at for step in self._steps.values() if step.start_at is not None)

    def starts_at(self, partition: str, consumer: int) -> bool:
        """Whether all that is left for a partition is to be started there."""
        step = self._steps.get(partition)
        return step is not None and step.stop_at is None and step.start_at == consumer

    def commands(self, now_s: float, *, resend_s: float) -> list[Send]:
        """What can be said by now and was not said lately."""
        stops: dict[int, list[str]] = {}
        starts: dict[int, list[str]] = {}
        for partition, step in self._steps.items():
            if step.sent_s is not None and now_s - step.sent_s < resend_s:
                continue
            if step.stop_at is not None:
                stops.setdefault(step.stop_at, []).append(partition)
            elif step.start_at is not None:
                if step.sent_s is None:
                    step.epoch = self._epochs()
                starts.setdefault(step.start_at, []).append(partition)
        said = [self._said(StopConsumingCommand, consumer, stops[consumer], now_s) for consumer in sorted(stops)]
        return said + [
            self._said(StartConsumingCommand, consumer, starts[consumer], now_s) for consumer in sorted(starts)
        ]

    def stopped(self, partition: str, *, at: int) -> None:
        step = self._steps.get(partition)
        if step is not None and step.stop_at == at:
            self._next_half(partition, step)

    def started(self, held: Held, *, at: int) -> bool:
        """Whether that was what had been said."""
        if not self.starts_at(held.partition, at) or self._steps[held.partition].epoch != held.epoch:
            return False
        del self._steps[held.partition]
        return True

    def forget(self, consumer: int) -> None:
        """Go on without a consumer that was lost."""
        for partition, step in list(self._steps.items()):
            if step.start_at == consumer:
                step.start_at, step.sent_s = None, None if step.stop_at is None else step.sent_s
                if step.stop_at is None:
                    # Nobody reads it; the next watch will see that.
                    del self._steps[partition]
            elif step.stop_at == consumer:
                # A newer epoch keeps it from writing, so nobody has to wait for its answer.
                self._next_half(partition, step)

    def _said(self, kind: Commands, consumer: int, partitions: list[str], now_s: float) -> Send:
        held = []
        for partition in partitions:
            step = self._steps[partition]
            step.sent_s = now_s
            topic, number = split(partition)
            held.append(Held(topic=topic, number=number, epoch=step.epoch))
        return Send(consumer, kind(term=self._term, request=self._requests(), partitions=tuple(held)))

    def _next_half(self, partition: str, step: _Step) -> None:
        step.stop_at, step.sent_s = None, None
        if step.start_at is None:
            del self._steps[partition]
