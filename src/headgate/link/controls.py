"""A person's hand on a controller in another process.

The levers are idempotent, so a call that was repeated because its answer was lost does no harm.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

from headgate import codec
from headgate.core.status import Controls, Status
from headgate.errors import UserMistake
from headgate.link.client import Peer
from headgate.link.server import Call, JsonServer


class ControlServer(JsonServer):
    def __init__(
        self, controls: Controls, *, app: str, host: str = "127.0.0.1", port: int = 0, token: str | None = None
    ) -> None:
        calls: dict[str, Call] = {
            "status": lambda _: codec.to_json(controls.status()),
            "pause": partial(_pull, controls.pause),
            "resume": partial(_pull, controls.resume),
            "unpin": partial(_pull, controls.unpin),
            "pin": lambda body: _pin(controls, body),
        }
        super().__init__(calls, what=f"the controller of '{app}'", host=host, port=port, token=token)


def _pull(lever: Callable[[], None], _: bytes) -> bytes:
    lever()
    return b"null"


def _pin(controls: Controls, body: bytes) -> bytes:
    executors = codec.from_json(dict[str, int], body, where="pin").get("executors")
    if executors is None or executors < 0:
        raise UserMistake("pin: the number of executors is missing or negative; give 0 or more")
    controls.pin(executors)
    return b"null"


class ControlClient:
    """A controller in another process; implements the port ``Controls``."""

    def __init__(self, address: str, token: str, timeout_s: float = 5.0) -> None:
        self._peer = Peer(address, token, what="controller", timeout_s=timeout_s)

    def status(self) -> Status:
        return self._peer.ask(Status, "status")

    def pause(self) -> None:
        self._peer.call("pause")

    def resume(self) -> None:
        self._peer.call("resume")

    def pin(self, executors: int) -> None:
        self._peer.call("pin", codec.to_json({"executors": executors}))

    def unpin(self) -> None:
        self._peer.call("unpin")

    def close(self) -> None:
        self._peer.close()
