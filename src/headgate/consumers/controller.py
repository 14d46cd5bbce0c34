"""The controller of a consumer group: which state it is in, and what it does about what it hears.

Source: the consumer-group autoscaler, sections 4.4.3 to 4.4.8. *Synchronize*: ask every consumer that lives what it
reads. *Sentinel*: follow the speeds; leave when a consumer gets more than it can take, a partition is read by nobody,
or it was watched for long enough to see whether fewer would do. *Reassign*: pack. *Group management*: have consumers
created, wait until they are ready, have partitions stopped where they are read and, once that is acknowledged and only
then, started where they shall be; have consumers deleted that read nothing any more.

Beyond the paper: what is not acknowledged is said again; a consumer that is silent for longer than its lease is taken
for lost, and its partitions are given away under newer epochs, so that it can write nothing if it comes back. And
partitions that nobody reads do not wait for consumers that have yet to start: with ``rescue``, those that are there
read them until then, even if that is too much for them, and the group is packed when it has been seen to be so.

Nothing here reads a clock, a topic or a process: events, speeds and moments come in, actions go out.
"""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass

from headgate.consumers.actions import Action, Create, Delete, GroupSettings, Note, Phase, Send
from headgate.consumers.group import difference, loads, pack_within, renumbered, rescued
from headgate.consumers.handover import Handover
from headgate.consumers.messages import (
    Event,
    Leads,
    StartConsumingEvent,
    StateEvent,
    StopConsumingCommand,
    StopConsumingEvent,
    TellState,
    WriteSpeeds,
    first_epoch,
)
from headgate.packing import moved, rscore


@dataclass(slots=True)
class _Member:
    """A consumer that is meant to live."""

    heard_s: float
    """When it was last heard of; before the first time, when it was created or asked."""
    ready: bool = False
    incarnation: str | None = None


class GroupController:
    """One term of a controller."""

    def __init__(self, settings: GroupSettings, *, term: int) -> None:
        self.settings = settings
        self.term = term
        self.phase = Phase.SYNCHRONIZE
        self.speeds: dict[str, float] = {}
        self.held: dict[str, tuple[int, int]] = {}
        """Consumer and epoch of each partition that is read."""
        self._members: dict[int, _Member] = {}
        self._handover = Handover(term=term, epochs=self._epoch, requests=self._request)
        self._doomed: set[int] = set()
        self._leaving: set[int] = set()
        """Told to end, and not known to be gone: their numbers are not free."""
        self._unanswered: set[int] = set()
        self._next_epoch = first_epoch(term)
        self._requests = 0
        self._asked_s = 0.0
        self._watching_since_s = 0.0
        self._planned_s = 0.0
        self._communicating_s: float | None = None

    @property
    def assignment(self) -> dict[str, int]:
        """Who reads what, as far as it is acknowledged."""
        return {partition: consumer for partition, (consumer, _) in self.held.items()}

    @property
    def consumers(self) -> frozenset[int]:
        return frozenset(self._members)

    def begin(self, live: Collection[int], now_s: float) -> list[Action]:
        """Ask all who live what they read."""
        self.phase = Phase.SYNCHRONIZE
        self._asked_s = now_s
        self._members = {consumer: _Member(heard_s=now_s) for consumer in live}
        self._unanswered = set(live)
        self.held, self._doomed = {}, set()
        self._handover.clear()
        note = Note("synchronize", f"asking {len(self._unanswered)} consumers what they read")
        return [note, *self._questions(), *self._synchronized(now_s)]

    def measured(self, speeds: WriteSpeeds, now_s: float) -> list[Action]:
        """A new measurement of all partitions of interest."""
        self.speeds = {f"{one.topic}-{one.number}": max(0.0, one.bytes_per_s) for one in speeds.speeds}
        return self._watched(now_s)

    def heard(self, event: Event, now_s: float) -> list[Action]:
        if isinstance(event, Leads):
            return []
        member = self._members.get(event.consumer)
        if member is None:
            return self._strange(event)
        member.heard_s = now_s
        match event:
            case StateEvent():
                return self._told(event, member, now_s)
            case StopConsumingEvent():
                return self._stopped(event, now_s)
            case StartConsumingEvent():
                return self._started(event, now_s)

    def tick(self, live: Collection[int], now_s: float) -> list[Action]:
        """What is due by now: leases, commands to be said again, the end of a watch; ``live`` are all that run."""
        self._leaving &= set(live)
        actions = self._expired(now_s)
        match self.phase:
            case Phase.SYNCHRONIZE:
                if now_s - self._asked_s >= self.settings.resend_s and self._unanswered:
                    self._asked_s = now_s
                    actions += self._questions()
            case Phase.SENTINEL:
                actions += self._watched(now_s)
            case Phase.GROUP_MANAGEMENT:
                actions += self._manage(now_s)
        return actions

    def excuse(self, now_s: float) -> None:
        """Nobody could be heard until now, so all leases begin anew."""
        for member in self._members.values():
            member.heard_s = now_s

    # Synchronize

    def _questions(self) -> list[Action]:
        return [
            Send(consumer, TellState(term=self.term, request=self._request())) for consumer in sorted(self._unanswered)
        ]

    def _told(self, event: StateEvent, member: _Member, now_s: float) -> list[Action]:
        actions: list[Action] = []
        if not member.ready:
            member.ready = True
            actions.append(Note("ready", f"consumer {event.consumer} is ready", {"consumer": event.consumer}))
        elif member.incarnation not in (None, event.incarnation):
            message = f"consumer {event.consumer} has started again and goes on with {len(event.partitions)} partitions"
            actions.append(Note("restarted", message, {"consumer": event.consumer}))
        member.incarnation = event.incarnation
        actions += self._reconciled(event)
        if self.phase is Phase.SYNCHRONIZE and event.request is not None:
            self._unanswered.discard(event.consumer)
            actions += self._synchronized(now_s)
        elif self.phase is Phase.GROUP_MANAGEMENT:
            actions += self._manage(now_s)
        return actions

    def _reconciled(self, event: StateEvent) -> list[Action]:
        """Bring together what a consumer says that it reads with what it is thought to read."""
        told = {held.partition: held.epoch for held in event.partitions}
        unwanted = []
        for held in event.partitions:
            reader, epoch = self.held.get(held.partition, (event.consumer, held.epoch))
            if held.partition not in self.held and not self._handover.starts_at(held.partition, event.consumer):
                self.held[held.partition] = (event.consumer, held.epoch)
            elif reader == event.consumer:
                self.held[held.partition] = (reader, max(epoch, held.epoch))
            elif held.epoch > epoch:
                # The one that was given it later reads it; whoever had it before cannot write any more.
                self.held[held.partition] = (event.consumer, held.epoch)
            else:
                unwanted.append(held)
        for partition, (reader, _) in list(self.held.items()):
            # It has lost what it was thought to read: its volume, or the partition to a later reader.
            if reader == event.consumer and partition not in told and partition not in self._handover:
                del self.held[partition]
        if not unwanted:
            return []
        command = StopConsumingCommand(term=self.term, request=self._request(), partitions=tuple(unwanted))
        return [Send(event.consumer, command)]

    def _synchronized(self, now_s: float) -> list[Action]:
        if self._unanswered:
            return []
        count = len(self.held)
        return [
            Note("synchronized", f"{len(self._members)} consumers read {count} partitions", {"partitions": count}),
            *self._watch(now_s),
        ]

    # Sentinel

    def _watch(self, now_s: float) -> list[Action]:
        self.phase = Phase.SENTINEL
        self._watching_since_s = now_s
        return []

    def _watched(self, now_s: float) -> list[Action]:
        if self.phase is not Phase.SENTINEL or not self.speeds:
            return []
        trigger = self._trigger(now_s)
        return [] if trigger is None else [trigger, *self._reassign(now_s)]

    def _trigger(self, now_s: float) -> Note | None:
        assignment, limit = self.assignment, self.settings.consumer_capacity
        alone = [partition for partition in self.speeds if partition not in assignment]
        if alone:
            return Note("unassigned-partition", f"{len(alone)} partitions are read by nobody", {"partitions": alone})
        counts: dict[int, int] = {}
        for consumer in assignment.values():
            counts[consumer] = counts.get(consumer, 0) + 1
        for consumer, load in sorted(loads(self.speeds, assignment).items()):
            # One partition alone cannot be divided.
            if load > limit and counts[consumer] > 1:
                message = f"consumer {consumer} gets {load:.4g} bytes/s and can take {limit:.4g}"
                return Note("capacity-exceeded", message, {"consumer": consumer, "bytes_per_s": load})
        if now_s - self._watching_since_s >= self.settings.sentinel_s:
            return Note("sentinel-timeout", "watched for long enough to see whether fewer would do")
        return None

    # Reassign

    def _reassign(self, now_s: float) -> list[Action]:
        self.phase = Phase.REASSIGN
        current, settings = self.assignment, self.settings
        # A consumer that is on its way out is none to be packed onto.
        present = {partition: reader for partition, reader in current.items() if reader in self._members}
        wanted, counted = pack_within(
            self.speeds,
            present,
            capacity=settings.algorithm_capacity,
            algorithm=settings.algorithm,
            most=settings.most_consumers,
        )
        wanted = renumbered(wanted, taken=self._leaving)
        steps = difference(current, wanted, live=self.consumers)
        unread, ready = self.speeds.keys() - present.keys(), self._ready()
        rescue = settings.rescue and bool(unread and ready) and not ready.issuperset(steps.starts.values())
        if rescue:
            wanted, counted = rescued(self.speeds, present, by=ready), settings.algorithm_capacity
            steps = difference(current, wanted, live=self.consumers & frozenset(wanted.values()))
        figures = {
            "consumers": len(set(wanted.values())),
            "moved": len(moved(current, wanted)),
            "rscore": rscore(current, wanted, self.speeds, capacity=settings.algorithm_capacity),
            "bytes_per_s": sum(self.speeds.values()),
            "capacity": counted,
        }
        if not (steps.create or steps.delete or steps.starts or steps.stops):
            return [Note("unchanged", f"{len(self._members)} consumers stay as they are", figures), *self._watch(now_s)]
        actions: list[Action] = [
            Note(
                "plan",
                f"{figures['consumers']} consumers for {figures['bytes_per_s']:.4g} bytes/s, "
                f"{figures['moved']} partitions move"
                + (f"; {len(unread)} that nobody reads are read by those that are there" if rescue else ""),
                figures,
            )
        ]
        if counted > settings.algorithm_capacity:
            message = f"more than {settings.most_consumers} consumers would be needed, so lag will grow"
            actions.append(Note("too-few-consumers", message, figures))
        self.phase, self._planned_s, self._communicating_s = Phase.GROUP_MANAGEMENT, now_s, None
        self._doomed = set(steps.delete)
        self._handover.begin(steps, epochs={partition: epoch for partition, (_, epoch) in self.held.items()})
        for consumer in steps.create:
            self._members[consumer] = _Member(heard_s=now_s)
            actions.append(Create(consumer))
        return actions + self._manage(now_s)

    # Group management

    def _manage(self, now_s: float) -> list[Action]:
        """Say what can be said by now; done when there is nothing left to be acknowledged."""
        if not self._ready().issuperset(self._handover.receivers):
            return []
        actions: list[Action] = []
        if self._communicating_s is None:
            self._communicating_s = now_s
            waited_s = now_s - self._planned_s
            actions.append(
                Note("group-ready", f"all consumers are ready after {waited_s:.1f} s", {"seconds": waited_s})
            )
        actions += self._handover.commands(now_s, resend_s=self.settings.resend_s)
        return actions if self._handover else actions + self._managed(now_s)

    def _ready(self) -> frozenset[int]:
        return frozenset(consumer for consumer, member in self._members.items() if member.ready)

    def _stopped(self, event: StopConsumingEvent, now_s: float) -> list[Action]:
        for held in event.partitions:
            reader, epoch = self.held.get(held.partition, (None, 0))
            if reader == event.consumer and epoch <= held.epoch:
                del self.held[held.partition]
            self._handover.stopped(held.partition, at=event.consumer)
        return self._manage(now_s) if self.phase is Phase.GROUP_MANAGEMENT else []

    def _started(self, event: StartConsumingEvent, now_s: float) -> list[Action]:
        for held in event.partitions:
            if self._handover.started(held, at=event.consumer):
                self.held[held.partition] = (event.consumer, held.epoch)
        return self._manage(now_s) if self.phase is Phase.GROUP_MANAGEMENT else []

    def _managed(self, now_s: float) -> list[Action]:
        actions: list[Action] = []
        for consumer in sorted(self._doomed & self.consumers):
            del self._members[consumer]
            self._leaving.add(consumer)
            actions.append(Delete(consumer))
        self._doomed = set()
        began_s = self._planned_s if self._communicating_s is None else self._communicating_s
        figures = {
            "ready_s": began_s - self._planned_s,
            "handover_s": now_s - began_s,
            "seconds": now_s - self._planned_s,
            "consumers": len(self._members),
        }
        message = f"the group is as it should be after {figures['seconds']:.1f} s"
        return [*actions, Note("managed", message, figures), *self._watch(now_s)]

    # Consumers that are lost, or not ours

    def _expired(self, now_s: float) -> list[Action]:
        actions: list[Action] = []
        for consumer, member in list(self._members.items()):
            known = member.ready or self.phase is Phase.SYNCHRONIZE
            limit_s = self.settings.lease_s if known else self.settings.ready_within_s
            if now_s - member.heard_s > limit_s:
                actions += self._lost(consumer, now_s - member.heard_s)
        if actions and self.phase is Phase.SYNCHRONIZE:
            actions += self._synchronized(now_s)
        elif actions and self._waits_in_vain():
            # Nothing has been said of that plan yet, and it is for a group that is not there any more.
            self._handover.clear()
            self._doomed = set()
            actions += self._watch(now_s)
        return actions

    def _waits_in_vain(self) -> bool:
        """Whether partitions that nobody reads would have to wait for consumers that have yet to start."""
        waits = self.phase is Phase.GROUP_MANAGEMENT and self._communicating_s is None
        return waits and self.settings.rescue and not self.speeds.keys() <= self.held.keys()

    def _lost(self, consumer: int, silent_s: float) -> list[Action]:
        del self._members[consumer]
        self._leaving.add(consumer)
        self._unanswered.discard(consumer)
        self._doomed.discard(consumer)
        given_up = [partition for partition, (reader, _) in self.held.items() if reader == consumer]
        for partition in given_up:
            del self.held[partition]
        self._handover.forget(consumer)
        message = f"consumer {consumer} was silent for {silent_s:.0f} s; its {len(given_up)} partitions are given away"
        return [Note("lost", message, {"consumer": consumer, "partitions": given_up}), Delete(consumer)]

    def _strange(self, event: StateEvent | StartConsumingEvent | StopConsumingEvent) -> list[Action]:
        """A consumer that was taken for lost, or is on its way out, still reads: it shall stop."""
        if not isinstance(event, StateEvent) or not event.partitions:
            return []
        command = StopConsumingCommand(term=self.term, request=self._request(), partitions=event.partitions)
        return [Send(event.consumer, command)]

    def _request(self) -> int:
        self._requests += 1
        return self._requests

    def _epoch(self) -> int:
        self._next_epoch += 1
        return self._next_epoch
