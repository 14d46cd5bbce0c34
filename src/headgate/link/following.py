"""An agent known by its app's name, wherever it is at present.

A driver that is started again serves its agent at another address. A controller that goes by the
name finds it there, instead of asking the dead one for ever.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeVar

from headgate.core.knowledge import AppDescription
from headgate.core.ports import Order
from headgate.core.sample import Sample
from headgate.errors import Temporary, UserMistake
from headgate.link.agent import RemoteAgent
from headgate.link.registry import Role, RunningPart, find

T = TypeVar("T")


class FollowedAgent:
    """The agent that is registered for an app; implements the port ``Agent``."""

    def __init__(self, part: RunningPart) -> None:
        self._part = part
        self._agent = RemoteAgent(part.address, part.token)

    def describe(self) -> AppDescription:
        return self._ask(lambda agent: agent.describe())

    def collect(self) -> Sample:
        return self._ask(lambda agent: agent.collect())

    def apply(self, order: Order) -> None:
        self._ask(lambda agent: agent.apply(order))

    def close(self) -> None:
        self._agent.close()

    def _ask(self, call: Callable[[RemoteAgent], T]) -> T:
        try:
            return call(self._agent)
        except Temporary:
            try:
                part = find(Role.AGENT, self._part.app)
            except UserMistake:
                raise Temporary(f"the driver of app '{self._part.app}' is gone; waiting for it to come back") from None
            if part == self._part:
                raise
            self._agent.close()
            self._part, self._agent = part, RemoteAgent(part.address, part.token)
            return call(self._agent)
