"""Controllers that stand by for each other: on one machine by a lease in a file, on several by Kafka."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from headgate.control.leading import Leading, Term
from headgate.core.ports import Agent, Journal, Leadership
from headgate.link import lease_path
from headgate.link.lease import FileLease

if TYPE_CHECKING:
    from headgate.kafka.settings import KafkaSettings

Begin = Callable[[int, Callable[[Journal], Journal]], Term]
"""A term with its epoch, and what to make of its journal, so that others know of it."""


def standing_by(agent: Agent, begin: Begin, *, app: str, takeover_s: float, kafka: KafkaSettings | None) -> Leading:
    """A controller that leads whenever no other does."""
    if kafka is None:
        lease: Leadership = FileLease(lease_path(app), takeover_s=takeover_s)
        # On one machine they share the journal itself.
        return Leading(lease, agent=agent, begin=lambda epoch: begin(epoch, lambda journal: journal))
    from headgate.kafka.election import LOOK_AGAIN_S, KafkaLeadership
    from headgate.kafka.knowledge import KnowledgeTopic, SharedJournal

    known = KnowledgeTopic(kafka, app)
    elected = KafkaLeadership(kafka, known, app=app, takeover_s=takeover_s)
    return Leading(
        elected,
        agent=agent,
        begin=lambda epoch: begin(epoch, lambda own: SharedJournal(own, known)),
        look_again_s=LOOK_AGAIN_S,
    )
