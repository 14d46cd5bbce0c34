"""The partitions that a consumer reads: under which epochs, where they have come to, and how it gets and gives them.

Claimed in the lake's log, kept in the consumer's volume.
"""

from __future__ import annotations

import threading
from collections.abc import Iterable, Mapping

from headgate.consumers.commit_log import CommitLog, Position
from headgate.consumers.lake import Lake
from headgate.consumers.messages import Held, split
from headgate.consumers.volume import Volume
from headgate.kafka.admin import BEGINNING, Admin, Partition


class Holdings:
    def __init__(self, volume: Volume, log: CommitLog, lake: Lake, admin: Admin, *, consumer: int) -> None:
        self._volume = volume
        self._log = log
        self._lake = lake
        self._admin = admin
        self._consumer = consumer
        self.positions: dict[str, int] = {}
        """The next offset of each partition."""
        self.changing = threading.Lock()
        """A sign of life from before a change must not arrive after the answer that tells of it."""

    @property
    def held(self) -> Mapping[str, Held]:
        return self._volume.remembered.held

    def resume(self) -> None:
        """After an end of whatever kind: finish or forget what was planned, and take up the partitions again."""
        plan = self._volume.remembered.plan
        if plan is not None:
            commit = self._log.find(plan.name, since=plan.commits_read)
            if commit is not None:
                self._lake.publish(commit)
            else:
                self._lake.forget(plan.name)
            self._volume.remember(plan=None)
        if self.held:
            self.take(self.held.values())

    def take(self, partitions: Iterable[Held]) -> None:
        """Read partitions from now on, where the log says that they have come to."""
        wanted = {each.partition: each for each in partitions}
        epochs = {partition: each.epoch for partition, each in wanted.items()}
        claimed, refused = self._log.claim(epochs, consumer=self._consumer)
        self._publish_left_over(claimed)
        begins = self._begins([partition for partition, position in claimed.items() if position.end is None])
        for partition, position in claimed.items():
            self.positions[partition] = begins.get(partition, 0) if position.end is None else position.end
        with self.changing:
            self._volume.remember(held={**self.held, **{partition: wanted[partition] for partition in claimed}})
        self.release(refused)

    def release(self, partitions: Iterable[str]) -> None:
        given = frozenset(partitions)
        for partition in given:
            self.positions.pop(partition, None)
        if given:
            kept = {partition: held for partition, held in self.held.items() if partition not in given}
            with self.changing:
                self._volume.remember(held=kept)

    def _begins(self, partitions: Iterable[str]) -> dict[str, int]:
        wanted = [Partition(*split(partition)) for partition in partitions]
        found = self._admin.offsets(wanted, BEGINNING) if wanted else {}
        return {f"{partition.topic}-{partition.number}": offset for partition, offset in found.items()}

    def _publish_left_over(self, claimed: Mapping[str, Position]) -> None:
        """What the reader before has committed, and perhaps not put in its place before it ended."""
        for number in sorted({position.number for position in claimed.values() if position.number}):
            commit = self._log.read(number)
            if commit is not None:
                self._lake.publish(commit)
