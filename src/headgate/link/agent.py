"""An agent and a controller in two processes.

The server stands beside the agent in the driver; the ``RemoteAgent`` is that agent as seen by a
controller elsewhere. An agent's sample tells what happened since the previous one, so only the
controller that leads may collect: a second one would take batches and events away from it. (One whose
answer is lost on the way gets them with the next.) To describe is harmless, for anyone at any time.
Agents need not be safe to share between threads: calls reach them one at a time.
"""

from __future__ import annotations

import threading
from collections.abc import Callable

from headgate import codec
from headgate.core.knowledge import AppDescription
from headgate.core.ports import Agent, Order
from headgate.core.sample import Sample
from headgate.errors import Temporary
from headgate.link.client import Peer
from headgate.link.delivery import Delivery, Outbox, Receipt
from headgate.link.server import Call, JsonServer

TURN_S = 10.0
"""How long a call waits for the one before it."""


class AgentServer(JsonServer):
    def __init__(
        self, agent: Agent, *, app: str, host: str = "127.0.0.1", port: int = 0, token: str | None = None
    ) -> None:
        self._agent = agent
        self._app = app
        self._turn = threading.Lock()
        self._outbox = Outbox()
        calls: dict[str, Call] = {
            "describe": lambda _: self._in_turn(lambda: codec.to_json(agent.describe())),
            "collect": self._collect,
            "apply": self._apply,
        }
        super().__init__(calls, what=f"the agent of '{app}'", host=host, port=port, token=token)

    def _collect(self, body: bytes) -> bytes:
        receipt = codec.from_json(Receipt, body, where="collect")
        return self._in_turn(lambda: codec.to_json(self._outbox.deliver(self._agent.collect(), receipt)))

    def _apply(self, body: bytes) -> bytes:
        order = codec.from_json(Order, body, where="order")

        def obey() -> bytes:
            self._agent.apply(order)
            return b"null"

        return self._in_turn(obey)

    def _in_turn(self, call: Callable[[], bytes]) -> bytes:
        if not self._turn.acquire(timeout=TURN_S):
            raise Temporary(f"the agent of '{self._app}' is still busy with an earlier call; it is tried again")
        try:
            return call()
        finally:
            self._turn.release()


class RemoteAgent:
    """An agent in another process; implements the port ``Agent``."""

    def __init__(self, address: str, token: str, timeout_s: float = 5.0) -> None:
        self._peer = Peer(address, token, what="agent", timeout_s=timeout_s)
        self._receipt = Receipt()
        self._collecting = threading.Lock()

    def describe(self) -> AppDescription:
        return self._peer.ask(AppDescription, "describe")

    def collect(self) -> Sample:
        with self._collecting:
            delivery = self._peer.ask(Delivery, "collect", codec.to_json(self._receipt))
            self._receipt = Receipt(number=delivery.number)
            return delivery.sample

    def apply(self, order: Order) -> None:
        self._peer.call("apply", codec.to_json(order))

    def close(self) -> None:
        self._peer.close()
